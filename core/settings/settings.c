#include "core/settings/settings.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/nearest.h"
#include "core/settings/input.h"

/* More names than these are counted. */
#define SETTINGS_NAMES 30

static int settings_no_pipeline(const struct settings *s, const char *name,
				struct error *err)
{
	const char **names = xcalloc(s->n_pipelines + 1, sizeof(*names));
	struct strbuf all = STRBUF_INIT;
	const char *near;
	int rc;

	for (size_t i = 0; i < s->n_pipelines; i++) {
		names[i] = s->pipelines[i].name;
		if (i < SETTINGS_NAMES)
			strbuf_addf(&all, "%s%s", i ? ", " : "", names[i]);
	}
	if (s->n_pipelines > SETTINGS_NAMES)
		strbuf_addf(&all, " and %zu more",
			    s->n_pipelines - SETTINGS_NAMES);
	near = nearest_name(name, names, s->n_pipelines);
	rc = error_set(err, ERROR_CONFIG,
		       "no pipeline \"%.80s\" in %s;%s%s%s there are: %s", name,
		       s->file, near ? " did you mean \"" : "",
		       near ? near : "", near ? "\"?" : "",
		       all.len ? all.data : "none");
	strbuf_release(&all);
	free(names);
	return rc;
}

/* A wildcard is many pipelines. */
static int settings_one_of(const struct settings *s, const char *name,
			   struct error *err)
{
	for (size_t i = 0; i < s->n_pipelines; i++)
		if (s->pipelines[i].wildcard &&
		    !strcmp(s->pipelines[i].wildcard->name, name))
			return error_set(err, ERROR_CONFIG,
					 "\"%.80s\" is a wildcard of %s; name "
					 "one of its pipelines, such as %s",
					 name, s->file, s->pipelines[i].word);
	return settings_no_pipeline(s, name, err);
}

const struct pipeline_settings *
settings_pipeline(const struct settings *s, const char *name, struct error *err)
{
	for (size_t i = 0; i < s->n_pipelines; i++)
		if (!strcmp(s->pipelines[i].name, name))
			return &s->pipelines[i];
	settings_one_of(s, name, err);
	return NULL;
}

void settings_source_spec(const struct pipeline_settings *p,
			  struct source_spec *out)
{
	*out = (struct source_spec){
		.table = p->source_table,
		.query = p->query,
		.columns = &p->columns,
		.expressions = p->expressions,
		.n_expressions = p->n_expressions,
		.where = p->where,
		.key = &p->key,
		.zero_dates = p->zero_dates,
		.call = settings_call(p),
		.run = settings_run(p),
		.exclude = &p->exclude,
		.exclude_at = p->exclude_at,
		.exclude_loose = p->exclude_loose,
		.renames = p->renames,
		.n_renames = p->n_renames,
		.casing = p->casing,
		.casing_at = p->casing_at,
	};
}

void settings_watermark_spec(const struct pipeline_settings *p,
			     struct watermark_spec *out)
{
	*out = (struct watermark_spec){
		.strategy = p->strategy,
		.column = p->mark_column,
		.lag_us = p->lag_us,
		.lag_count = p->lag_count,
		.time_zone = p->time_zone,
		.settle = p->settle,
		.tail = p->tail,
		.nulls = p->nulls,
		.keyless = p->mode == LOAD_APPEND,
	};
}

int settings_fault(const struct pipeline_settings *p, struct error *err)
{
	if (!p->fault)
		return 0;
	*err = *p->fault;
	return -(int)err->code;
}

const char *settings_run(const struct pipeline_settings *p)
{
	return p->call ? "copy" : "run";
}

const char *settings_call(const struct pipeline_settings *p)
{
	if (p->call)
		return p->call;
	return p->word ? p->word : p->name;
}

void settings_set_origin(struct settings *s, const char *origin)
{
	if (origin != s->origin) {
		free(s->origin);
		s->origin = xstrdup(origin);
	}
	for (size_t i = 0; i < s->n_pipelines; i++)
		s->pipelines[i].origin = s->origin;
}
