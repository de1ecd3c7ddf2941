#include "core/sync/report/propose.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/engine.h"
#include "core/base/yaml_text.h"
#include "core/data/table_name.h"
#include "core/plugin/naming.h"
#include "core/plugin/registry.h"
#include "core/plugin/store.h"
#include "core/settings/wildcard.h"
#include "core/sync/report/propose_log.h"
#include "core/sync/report/sketch.h"

void proposal_init(struct proposal *p)
{
	memset(p, 0, sizeof(*p));
	strbuf_init(&p->yaml);
}

void proposal_release(struct proposal *p)
{
	strbuf_release(&p->yaml);
	strlist_release(&p->pipelines);
	strlist_release(&p->skipped);
	strlist_release(&p->variables);
}

static void propose_connection(struct proposal *out, const char *name,
			       const char *end, const char *url)
{
	struct strbuf shown = STRBUF_INIT;

	strbuf_addf(&out->yaml, "  %s: ", name);
	if (propose_hide_password(url, end, &shown, &out->variables)) {
		char *variable = xstrfmt("%s_PASSWORD", end);

		strbuf_addstr(&out->yaml, "{ url: ");
		yaml_add_scalar(&out->yaml, shown.data);
		strbuf_addf(&out->yaml, ", password: \"${%s}\" }\n", variable);
		strlist_add(&out->variables, variable);
		free(variable);
	} else {
		yaml_add_scalar(&out->yaml, shown.data);
		strbuf_addch(&out->yaml, '\n');
	}
	strbuf_release(&shown);
}

/* The source as it is looked at, and what is made of it. */
struct propose_work {
	struct connector *source;
	struct table_list tables;
	struct strlist stores; /* schemas that hold a state store */
	bool weighs; /* the guarantee is asked for, too */
	/* Tables that have no mark are copied whole; without a key, too. */
	bool whole, keyless;
	const struct strlist *key; /* a table's, that is said; or NULL */
	const struct wish *wish; /* NULL: all tables */
	/* A config whose pipelines are not proposed again, or NULL. */
	const struct settings *config;
	const struct connection *from; /* with that: the source */
	struct sketch sketch;
};

/* One table, as the source describes it. */
struct propose_table {
	enum strategy strategy;
	char *column, *reason;
	/* The guarantee, and why it is not exact; or what may be cheaper. NULL:
	 * neither. */
	char *weakness;
	struct schema schema;
};

static void propose_find_stores(struct propose_work *w)
{
	for (size_t i = 0; i < w->tables.n; i++) {
		struct table_name name = { NULL, NULL, NULL };

		if (!table_name_parse(&name, w->tables.items[i].name, NULL) &&
		    name.schema && !strcmp(name.name, STORE_MIGRATIONS_TABLE))
			strlist_add(&w->stores, name.schema);
		table_name_release(&name);
	}
}

/* Tidemark's marks and stages, and the tables of a state store. */
static bool propose_is_own(const struct propose_work *w, const char *table)
{
	struct table_name name = { NULL, NULL, NULL };
	bool own = false;

	if (!table_name_parse(&name, table, NULL))
		own = name_is_own(name.name) ||
		      (name.schema && strlist_has(&w->stores, name.schema) &&
		       store_has_table(name.name));
	table_name_release(&name);
	return own;
}

/* Rows of a raw table are versions, which the view over it puts together. Most
 * have no key, so that only a column of ours as one tells what they are. */
static bool propose_is_raw(const struct propose_work *w, const char *table)
{
	static const char *const names[] = { NAME_OWN "seq",
					     NAME_OWN "version" };
	static const struct strlist none = STRLIST_INIT;
	bool raw = false;

	for (size_t i = 0; !raw && i < ARRAY_SIZE(names); i++) {
		struct strlist key = STRLIST_INIT;
		struct source_spec spec = { .table = table,
					    .columns = &none,
					    .key = &key };
		struct error ignored = ERROR_INIT;
		struct schema schema;

		schema_init(&schema);
		strlist_add(&key, names[i]);
		raw = !source_describe(w->source, &spec, NULL, &schema,
				       &ignored);
		schema_release(&schema);
		strlist_release(&key);
	}
	return raw;
}

/* The guarantee that a run of it would have now, unless that is exact. */
static void propose_weigh(struct propose_work *w,
			  const struct source_spec *spec,
			  const struct watermark_spec *mark,
			  struct propose_table *out)
{
	struct error ignored = ERROR_INIT;
	struct watermark none;
	struct settled settled;

	watermark_init(&none);
	settled_init(&settled);
	if (!w->source->ops->settle(w->source, spec, &out->schema, mark, &none,
				    &settled, &ignored) &&
	    settled.guarantee != GUARANTEE_EXACT)
		out->weakness = xstrfmt("guarantee %s: %s",
					guarantee_name(settled.guarantee),
					settled.reason ? settled.reason : "");
	settled_release(&settled);
	watermark_release(&none);
}

/* So few rows are copied as soon as they are looked through. */
#define PROPOSE_FEW 100000

/* A mark of ids does not see a row that changes. */
static bool propose_is_lookup(const struct propose_work *w,
			      const struct propose_table *t)
{
	return w->whole && t->strategy == STRATEGY_SEQUENCE &&
	       !engine_has(w->sketch.source_engine, ENGINE_XMIN) &&
	       t->schema.row_estimate >= 0 &&
	       t->schema.row_estimate <= PROPOSE_FEW;
}

/* `why` it has no mark; cleared if it can be had without one. */
static int propose_whole(const struct propose_work *w,
			 const struct source_spec *spec,
			 struct propose_table *out, struct error *why)
{
	struct error ignored = ERROR_INIT;

	schema_release(&out->schema);
	schema_init(&out->schema);
	if (!w->whole || error_may_pass(why->code) ||
	    source_describe(w->source, spec, NULL, &out->schema, &ignored) ||
	    (!out->schema.n_key && !w->keyless))
		return -(int)why->code;
	if (!out->schema.n_key)
		out->weakness = propose_log(w->source, spec, &out->schema,
					    out->strategy, out->column);
	out->strategy = STRATEGY_NONE;
	xassign(&out->column, "");
	free(out->reason);
	out->reason =
		xstrfmt("%s: every run copies all of it",
			out->schema.n_key ? "nothing says when a row changed"
					  : "it has no key");
	error_clear(why);
	return 0;
}

static int propose_ask(struct propose_work *w, const char *table,
		       struct propose_table *out, struct error *err)
{
	static const struct strlist none = STRLIST_INIT;
	const struct connector_ops *ops = w->source->ops;
	struct source_spec spec = { .table = table,
				    .columns = &none,
				    .key = w->key ? w->key : &none };
	struct watermark_spec mark = { .time_zone = "auto", .settle = true };
	int rc = ops->suggest(w->source, table, &out->strategy, &out->column,
			      &out->reason, err);

	if (rc)
		return rc;
	mark.strategy = out->strategy;
	mark.column = *out->column ? out->column : NULL;
	rc = source_describe(w->source, &spec, &mark, &out->schema, err);
	if (!rc && (!out->schema.n_key || propose_is_lookup(w, out)))
		rc = error_set(err, ERROR_SCHEMA, "it has no key");
	if (rc)
		rc = propose_whole(w, &spec, out, err);
	if (!rc && w->weighs && out->strategy != STRATEGY_NONE)
		propose_weigh(w, &spec, &mark, out);
	return rc;
}

static int propose_add(struct propose_work *w, const struct table_info *table,
		       const struct propose_table *t, struct error *err)
{
	const struct sketch_choice choice = {
		.table = table,
		.schema = &t->schema,
		.strategy = t->strategy,
		.column = t->column,
		.reason = t->reason,
		.weakness = t->weakness,
	};

	return sketch_add(&w->sketch, &choice, err);
}

/* A table that cannot be synced is a comment; a source that is gone is not. */
static int propose_table(struct propose_work *w, const struct table_info *table,
			 struct error *err)
{
	struct propose_table t = { .column = NULL };
	struct error why = ERROR_INIT;
	int rc;

	schema_init(&t.schema);
	rc = propose_ask(w, table->name, &t, &why);
	if (rc && (error_may_pass(why.code) || why.code == ERROR_BUG))
		*err = why;
	else if (!propose_is_raw(w, table->name) &&
		 (rc || propose_add(w, table, &t, &why)))
		sketch_skip(&w->sketch, table, &why);
	schema_release(&t.schema);
	free(t.column);
	free(t.reason);
	free(t.weakness);
	return -(int)err->code;
}

static int propose_tables(struct propose_work *w, struct error *err)
{
	int rc = w->source->ops->tables(w->source, &w->tables, err);

	if (!rc)
		propose_find_stores(w);
	if (!rc && w->wish)
		rc = wish_apply(w->wish, &w->tables, err);
	if (!rc && w->config)
		wish_drop_known(w->config, w->from, &w->tables);
	for (size_t i = 0; !rc && i < w->tables.n; i++)
		if (!propose_is_own(w, w->tables.items[i].name))
			rc = propose_table(w, &w->tables.items[i], err);
	if (rc || w->sketch.pipelines.n || w->config)
		return rc;
	if (!w->sketch.skipped.n)
		return error_set(err, ERROR_SCHEMA,
				 "the source has no tables%s",
				 w->tables.n ? " but Tidemark's own" : "");
	return error_set(err, ERROR_SCHEMA,
			 "no table of the source can be synced as it is; the "
			 "first: %s",
			 w->sketch.skipped.items[0]);
}

static void propose_write(struct proposal *out, const char *source_url,
			  const char *destination_url, const char *body)
{
	strbuf_addstr(&out->yaml,
		      "# yaml-language-server: $schema=" PROPOSE_SCHEMA "\n"
		      "# Written by tidemark init. Next: tidemark check, then "
		      "tidemark run.\n"
		      "# Every key: docs/config.md. The line for editors is "
		      "about a file that\n"
		      "# \"tidemark schema > " PROPOSE_SCHEMA
		      "\" brings up to date.\n"
		      "version: 1\n"
		      "# Run history and a mirror of the marks; "
		      "postgresql://... if several machines share the work.\n"
		      "state: sqlite:.tidemark/state.db\n"
		      "connections:\n");
	propose_connection(out, "source", "SOURCE", source_url);
	propose_connection(out, "destination", "DESTINATION", destination_url);
	strbuf_addf(&out->yaml, "pipelines:\n%s", body);
}

/* The URLs are parsed and expanded by the rules of `copy`; the table and the
 * mark are placeholders that nobody looks at. */
static int propose_settings(const char *source_url, const char *destination_url,
			    struct settings *out, struct error *err)
{
	struct copy_arguments args = { .source_url = source_url,
				       .destination_url = destination_url,
				       .table = "t",
				       .watermark = "sequence:id" };

	return settings_from_copy(out, &args, err);
}

static int propose_look(const struct settings *settings, struct propose_work *w,
			struct error *err)
{
	const struct pipeline_settings *p = &settings->pipelines[0];
	int rc;

	w->sketch.source_engine = p->source->url.engine;
	w->sketch.destination_engine = p->destination->url.engine;
	w->keyless = !engine_has(w->sketch.destination_engine, ENGINE_KEYED);
	w->sketch.same_place =
		!strcmp(p->source->url.text, p->destination->url.text);
	rc = registry_open_connector(p->source, &w->source, err);
	if (!rc)
		rc = propose_tables(w, err);
	if (w->source)
		w->source->ops->close(w->source);
	return rc;
}

int propose(const char *source_url, const char *destination_url,
	    const struct wish *wish, struct proposal *out, struct error *err)
{
	struct propose_work w = {
		.source = NULL, .weighs = true, .wish = wish, .whole = true
	};
	struct settings settings;
	int rc = propose_settings(source_url, destination_url, &settings, err);

	if (rc)
		return rc;
	sketch_init(&w.sketch);
	rc = propose_look(&settings, &w, err);
	if (!rc) {
		propose_write(out, source_url, destination_url,
			      w.sketch.body.data);
		strlist_copy(&out->pipelines, &w.sketch.pipelines);
		strlist_copy(&out->skipped, &w.sketch.skipped);
	}
	table_list_release(&w.tables);
	strlist_release(&w.stores);
	sketch_release(&w.sketch);
	settings_release(&settings);
	return rc;
}

static void propose_take(struct sketch *sketch, const struct settings *s,
			 const struct connection *destination)
{
	for (size_t i = 0; i < s->n_pipelines; i++) {
		const struct pipeline_settings *p = &s->pipelines[i];

		strlist_add(&sketch->taken, p->name);
		if (p->destination == destination)
			strlist_add(&sketch->targets, p->destination_table);
	}
	for (size_t i = 0; i < s->n_wildcards; i++)
		strlist_add(&sketch->taken, s->wildcards[i]->name);
}

int propose_more(const struct settings *s, const struct connection *source,
		 const struct connection *destination, const struct wish *wish,
		 struct proposal *out, struct error *err)
{
	struct propose_work w = {
		.weighs = true, .wish = wish, .config = s, .from = source
	};
	int rc;

	sketch_init(&w.sketch);
	w.sketch.mute = true;
	w.sketch.source = source->name;
	w.sketch.destination = destination->name;
	w.sketch.source_engine = source->url.engine;
	w.sketch.destination_engine = destination->url.engine;
	w.sketch.same_place = !strcmp(source->url.text, destination->url.text);
	propose_take(&w.sketch, s, destination);
	rc = registry_open_connector(source, &w.source, err);
	if (!rc)
		rc = propose_tables(&w, err);
	if (w.source)
		w.source->ops->close(w.source);
	if (!rc) {
		strbuf_addstr(&out->yaml, w.sketch.body.data);
		strlist_copy(&out->pipelines, &w.sketch.pipelines);
		strlist_copy(&out->skipped, &w.sketch.skipped);
	}
	table_list_release(&w.tables);
	strlist_release(&w.stores);
	sketch_release(&w.sketch);
	return rc;
}

int propose_watermark(const struct pipeline_settings *p, const char *table,
		      char **watermark, char **reason, struct error *err)
{
	struct connector *source = NULL;
	enum strategy strategy;
	char *column = NULL;
	int rc = registry_open_connector(p->source, &source, err);

	if (rc)
		return rc;
	rc = source->ops->suggest(source, table, &strategy, &column, reason,
				  err);
	if (!rc)
		*watermark = xstrfmt("%s%s%s", strategy_name(strategy),
				     *column ? ":" : "", column);
	free(column);
	source->ops->close(source);
	return rc;
}

/* NULL: a name is not UTF-8. */
static json_t *propose_chosen(const struct propose_table *t)
{
	json_t *key = json_array();
	json_t *mark =
		json_pack("{s:s}", "strategy", strategy_name(t->strategy));

	bool fits = true;

	for (size_t i = 0; i < t->schema.n_key; i++)
		fits &= !json_array_append_new(
			key,
			json_string(t->schema.columns[t->schema.key[i]].name));
	if (*t->column)
		fits &= !json_object_set_new(mark, "column",
					     json_string(t->column));
	if (!fits) {
		json_decref(key);
		json_decref(mark);
		return NULL;
	}
	return json_pack("{s:o, s:o}", "key", key, "watermark", mark);
}

int propose_choose(struct connector *source, const char *table,
		   const struct strlist *key, json_t **out, struct error *err)
{
	struct propose_work w = { .source = source, .key = key };
	struct propose_table t = { .column = NULL };
	int rc;

	*out = NULL;
	schema_init(&t.schema);
	rc = propose_ask(&w, table, &t, err);
	if (rc && !error_may_pass(err->code) && propose_is_raw(&w, table)) {
		error_clear(err);
		rc = 0;
	} else if (!rc && !propose_is_raw(&w, table)) {
		*out = propose_chosen(&t);
		if (!*out)
			rc = error_set(err, ERROR_SCHEMA,
				       "the name of its key or mark is not "
				       "UTF-8, and a config is");
	}
	schema_release(&t.schema);
	free(t.column);
	free(t.reason);
	return rc;
}

int propose_list(struct connector *source, struct table_list *out,
		 struct error *err)
{
	struct propose_work w = { .source = source };
	int rc = source->ops->tables(source, &w.tables, err);

	if (!rc)
		propose_find_stores(&w);
	for (size_t i = 0; !rc && i < w.tables.n; i++) {
		struct table_info *table = &w.tables.items[i];

		if (propose_is_own(&w, table->name))
			continue;
		out->items = xgrow(out->items, &out->capacity, out->n + 1,
				   sizeof(*out->items));
		out->items[out->n++] = *table;
		*table = (struct table_info){ NULL, NULL, 0 };
	}
	table_list_release(&w.tables);
	strlist_release(&w.stores);
	return rc;
}
