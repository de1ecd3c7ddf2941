#include "core/sync/verify/side.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/plugin/naming.h"
#include "core/plugin/registry.h"
#include "core/sync/parts/marks.h"

int verify_side_open_source(struct verify_side *s,
			    const struct pipeline_settings *p,
			    struct error *err)
{
	int rc;

	s->which = COMPARE_SOURCE;
	s->p = p;
	settings_source_spec(p, &s->spec);
	rc = registry_open_connector(p->source, &s->connector, err);
	if (!rc)
		stopper_start(&s->stopper, s->connector);
	if (!rc)
		rc = source_describe(s->connector, &s->spec, NULL, &s->schema,
				     err);
	return rc;
}

static int verify_check_strategy(const struct pipeline_settings *p,
				 const struct watermark *mark,
				 struct error *err)
{
	const char *column = p->mark_column ? p->mark_column : "";
	const char *stored = mark->column ? mark->column : "";

	if (mark->strategy == p->strategy && !strcmp(stored, column))
		return 0;
	return error_set(
		err, ERROR_SCHEMA,
		"the stored mark of %s belongs to strategy %s, column "
		"\"%s\", but the config says %s, column \"%s\": verify "
		"it with the config that loaded it, or run it first "
		"(tidemark watermark reset %s)",
		p->name, strategy_name(mark->strategy), stored,
		strategy_name(p->strategy), column, settings_call(p));
}

int verify_find_mark(const struct pipeline_settings *p, struct watermark *out,
		     bool *found, struct error *err)
{
	struct mark mark;
	int rc;

	mark_init(&mark);
	rc = marks_get_destination(p, &mark, err);
	*found = !rc && mark.watermark;
	if (*found) {
		watermark_release(out);
		watermark_init(out);
		rc = watermark_from_text(out, mark.watermark, err);
	}
	mark_release(&mark);
	/* In xmin the place within a pass that was left: each row tells. */
	if (!rc && out->strategy == STRATEGY_XMIN) {
		json_decref(out->pending);
		out->pending = NULL;
	}
	return rc;
}

int verify_take_mark(const struct pipeline_settings *p, struct watermark *out,
		     struct error *err)
{
	bool found;
	int rc = verify_find_mark(p, out, &found, err);

	if (!rc && !found)
		log_warn("there is no mark at %s: it has not been run, it "
			 "found no row, or the mark was reset. Every row of "
			 "the source that differs counts as unsettled; "
			 "tidemark %s %s brings them",
			 p->destination_table, settings_run(p),
			 settings_call(p));
	return rc ? rc : verify_check_strategy(p, out, err);
}

/* As the table itself spells it. */
static void verify_choose_name(struct strlist *out, const struct schema *all,
			       const char *name)
{
	long at = schema_find_folded(all, name);

	if (at >= 0)
		strlist_add(out, all->columns[at].name);
}

const char *verify_side_soft_delete(const struct verify_side *s)
{
	const char *name = s->p->soft_delete;

	return s->which == COMPARE_DESTINATION && name && *name ? name : NULL;
}

long verify_side_mark(const struct verify_side *s)
{
	struct source_spec source;
	char *name;
	long at;

	if (!s->p->mark_column)
		return -1;
	if (s->which == COMPARE_SOURCE)
		return schema_find_source(&s->schema, s->p->mark_column);
	settings_source_spec(s->p, &source);
	name = naming_target(&source, s->p->mark_column);
	at = schema_find_folded(&s->schema, name);
	free(name);
	return at;
}

/* A column that is not there is left for compare_match() to name. */
static void verify_choose(struct verify_side *s, const struct schema *all,
			  const struct schema *source)
{
	for (size_t i = 0; i < source->n_columns; i++)
		verify_choose_name(&s->columns, all, source->columns[i].name);
	for (size_t i = 0; i < source->n_key; i++)
		verify_choose_name(&s->key, all,
				   source->columns[source->key[i]].name);
	if (verify_side_soft_delete(s))
		verify_choose_name(&s->columns, all, s->p->soft_delete);
	s->spec.columns = &s->columns;
	s->spec.key = &s->key;
}

static int verify_describe(struct verify_side *s, const struct schema *source,
			   struct error *err)
{
	struct schema all;
	int rc;

	schema_init(&all);
	rc = source_describe(s->connector, &s->spec, NULL, &all, err);
	for (size_t i = 0; !rc && i < all.n_columns; i++)
		strlist_add(&s->all, all.columns[i].name);
	if (!rc)
		verify_choose(s, &all, source);
	schema_release(&all);
	return rc ? rc
		  : source_describe(s->connector, &s->spec, NULL, &s->schema,
				    err);
}

int verify_side_open_destination(struct verify_side *s,
				 const struct pipeline_settings *p,
				 const struct schema *source, struct error *err)
{
	int rc;

	s->which = COMPARE_DESTINATION;
	s->p = p;
	s->spec.table = p->destination_table;
	s->spec.columns = &s->columns;
	s->spec.key = &s->key;
	rc = registry_open_connector(p->destination, &s->connector, err);
	if (!rc)
		stopper_start(&s->stopper, s->connector);
	if (!rc)
		rc = verify_describe(s, source, err);
	if (rc)
		error_prefix(err, "the destination, read to be compared");
	if (rc == -ERROR_SCHEMA)
		error_hint(err,
			   "(check names what is amiss; of a pipeline that "
			   "never ran, tidemark %s %s makes the table)",
			   settings_run(p), settings_call(p));
	return rc;
}

/* Keep only the expressions that make up the key. */
static void verify_keep_expressions(struct verify_side *s)
{
	struct source_expression *kept =
		xcalloc(s->spec.n_expressions + 1, sizeof(*kept));
	size_t n = 0;

	for (size_t i = 0; i < s->spec.n_expressions; i++) {
		const struct source_expression *x = &s->spec.expressions[i];
		long at = schema_find_source(&s->schema, x->name);

		if (at >= 0 && schema_is_key(&s->schema, (size_t)at))
			kept[n++] = *x;
	}
	s->keys_spec.expressions = kept;
	s->keys_spec.n_expressions = n;
}

int verify_side_describe_keys(struct verify_side *s, struct error *err)
{
	if (s->keys_columns.n)
		return 0;
	for (size_t i = 0; i < s->schema.n_key; i++)
		strlist_add(
			&s->keys_columns,
			column_source(&s->schema.columns[s->schema.key[i]]));
	if (verify_side_soft_delete(s))
		verify_choose_name(&s->keys_columns, &s->schema,
				   s->p->soft_delete);
	s->keys_spec = s->spec;
	s->keys_spec.columns = &s->keys_columns;
	verify_keep_expressions(s);
	return source_describe(s->connector, &s->keys_spec, NULL,
			       &s->keys_schema, err);
}

void verify_side_close(struct verify_side *s)
{
	stopper_end(&s->stopper);
	if (s->connector)
		s->connector->ops->close(s->connector);
	schema_release(&s->schema);
	strlist_release(&s->columns);
	strlist_release(&s->key);
	strlist_release(&s->all);
	schema_release(&s->keys_schema);
	strlist_release(&s->keys_columns);
	free((void *)s->keys_spec.expressions);
	free(s->hidden);
	free(s->since_text);
	memset(s, 0, sizeof(*s));
}
