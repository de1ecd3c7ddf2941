#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/engine.h"
#include "core/data/table_name.h"
#include "core/settings/input.h"

static int settings_check_name_of(struct option_context *ctx,
				  const struct settings *s, size_t n)
{
	const struct pipeline_settings *p = &s->pipelines[n];

	for (size_t i = 0; i < n; i++) {
		const struct pipeline_settings *other = &s->pipelines[i];
		const struct wildcard *w = p->wildcard;

		if (strcmp(p->name, other->name) != 0)
			continue;
		if (!w)
			w = other->wildcard;
		return config_fail(
			ctx->file, (struct config_place){ NULL, p->line, 1 },
			ctx->err,
			"two pipelines have the name \"%.80s\": this one and "
			"that of %s:%d%s%s",
			p->name, s->file, other->line,
			w ? "; rename one of them, or exclude the table of "
			  : "",
			w ? w->name : "");
	}
	return 0;
}

int settings_check_names(struct option_context *ctx, const struct settings *s)
{
	int rc = 0;

	for (size_t i = 0; !rc && s->n_wildcards && i < s->n_pipelines; i++)
		rc = settings_check_name_of(ctx, s, i);
	for (size_t i = 0; !rc && i < s->n_wildcards; i++)
		for (size_t k = 0; !rc && k < s->n_pipelines; k++)
			if (!s->pipelines[k].wildcard &&
			    !strcmp(s->wildcards[i]->name,
				    s->pipelines[k].name))
				rc = config_fail(
					ctx->file, s->wildcards[i]->at,
					ctx->err,
					"the wildcard \"%.80s\" has the name "
					"of the pipeline at %s:%d; rename one "
					"of them",
					s->wildcards[i]->name, s->file,
					s->pipelines[k].line);
	return rc;
}

static bool settings_same_server(const struct connection *a,
				 const struct connection *b)
{
	return a == b || !strcmp(a->url.text, b->url.text);
}

static bool settings_same_part(const char *a, const char *b, bool folded)
{
	a = a ? a : "";
	b = b ? b : "";
	return folded ? !strcasecmp(a, b) : !strcmp(a, b);
}

/* However it is quoted. */
static bool settings_same_table(const struct table_name *a,
				const struct table_name *b, bool folded)
{
	return settings_same_part(a->name, b->name, folded) &&
	       settings_same_part(a->schema, b->schema, folded) &&
	       settings_same_part(a->catalog, b->catalog, folded);
}

/* The names of a pipeline's tables, which have been parsed before. */
struct settings_tables {
	struct table_name source, target;
};

static bool settings_same_target(const struct pipeline_settings *p,
				 const struct settings_tables *tables,
				 const struct pipeline_settings *other,
				 const struct settings_tables *others)
{
	/* Names that nobody wrote side by side may differ in case alone. */
	bool folded =
		(p->wildcard || other->wildcard) &&
		engine_has(p->destination->url.engine, ENGINE_FOLDS_NAMES);

	/* Columns of rows that the other one brings. */
	if (p->mode == LOAD_UPDATE || other->mode == LOAD_UPDATE)
		return false;
	return !p->fault && !other->fault &&
	       settings_same_table(&tables->target, &others->target, folded) &&
	       settings_same_server(p->destination, other->destination);
}

static int settings_refuse_target(struct option_context *ctx,
				  const struct settings *s,
				  const struct pipeline_settings *p,
				  const struct pipeline_settings *other,
				  const struct config_node *node)
{
	return settings_fail(ctx, node, "destination.table",
			     "pipeline \"%.80s\" writes to this table already "
			     "(%s:%d)%s",
			     other->name, s->file, other->line,
			     p->wildcard || other->wildcard
				     ? "; exclude the table from one of them, "
				       "or give it another destination.table "
				       "in overrides"
				     : "");
}

/* A table that comes to a wildcard is no reason to stop those that have been
 * there for long. */
static int settings_clash(struct option_context *ctx, const struct settings *s,
			  size_t a, size_t b, struct config_node *const *nodes)
{
	struct pipeline_settings *p = &s->pipelines[a], *q = &s->pipelines[b];
	struct error why = ERROR_INIT, *err = ctx->err;
	struct pipeline_settings *last = p;

	if (p->known && q->wildcard && !q->known)
		last = q;
	if (!last->wildcard || last->known || !(p->known || q->known))
		return settings_refuse_target(ctx, s, p, q, nodes[a]);
	ctx->err = &why;
	settings_refuse_target(ctx, s, last, last == p ? q : p,
			       nodes[last == p ? a : b]);
	ctx->err = err;
	last->fault = xmalloc(sizeof(*last->fault));
	*last->fault = why;
	return 0;
}

static int settings_check_target(struct option_context *ctx,
				 const struct settings *s, size_t n,
				 struct config_node *const *nodes,
				 const struct settings_tables *tables)
{
	const struct pipeline_settings *p = &s->pipelines[n];
	int rc = 0;

	if (p->mode != LOAD_UPDATE && !p->fault &&
	    settings_same_server(p->source, p->destination) &&
	    settings_same_table(&tables[n].source, &tables[n].target, false))
		return settings_fail(ctx, nodes[n], "destination.table",
				     "source and destination are the same "
				     "table");
	for (size_t i = 0; !rc && i < n; i++)
		if (settings_same_target(p, &tables[n], &s->pipelines[i],
					 &tables[i]))
			rc = settings_clash(ctx, s, n, i, nodes);
	return rc;
}

int settings_check_targets(struct option_context *ctx, const struct settings *s,
			   struct config_node *const *nodes)
{
	struct settings_tables *tables =
		xcalloc(s->n_pipelines + 1, sizeof(*tables));
	struct error ignored = ERROR_INIT;
	int rc = 0;

	for (size_t i = 0; i < s->n_pipelines; i++) {
		const struct pipeline_settings *p = &s->pipelines[i];

		table_name_parse(&tables[i].source, p->source_table, &ignored);
		table_name_parse(&tables[i].target, p->destination_table,
				 &ignored);
	}
	for (size_t i = 0; !rc && i < s->n_pipelines; i++) {
		size_t length = option_path_push(ctx, s->pipelines[i].name);

		rc = settings_check_target(ctx, s, i, nodes, tables);
		option_path_pop(ctx, length);
	}
	for (size_t i = 0; i < s->n_pipelines; i++) {
		table_name_release(&tables[i].source);
		table_name_release(&tables[i].target);
	}
	free(tables);
	return rc;
}
