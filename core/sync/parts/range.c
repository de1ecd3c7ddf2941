#include "core/sync/parts/range.h"

#include "core/base/alloc.h"
#include "core/plugin/naming.h"

/* In xmin nothing in the row says which version it is; its key puts it in
 * order all the same. */
static int range_order_by_key(struct connector *source,
			      const struct source_spec *spec,
			      struct watermark_spec *mark, char **column,
			      struct error *err)
{
	struct schema s;
	int rc;

	schema_init(&s);
	rc = source_describe(source, spec, mark, &s, err);
	if (!rc && !s.n_key)
		rc = error_set(err, ERROR_SCHEMA,
			       "%s has no key: a backfill of strategy xmin "
			       "goes by the first key column; name it under "
			       "key",
			       spec->table);
	if (!rc)
		*column = xstrdup(column_source(&s.columns[s.key[0]]));
	schema_release(&s);
	mark->strategy = STRATEGY_SEQUENCE;
	mark->any_type = true;
	mark->column = *column;
	return rc;
}

int range_describe(struct connector *source, const struct pipeline_settings *p,
		   const struct source_spec *spec, struct watermark_spec *mark,
		   char **column, struct schema *schema, struct error *err)
{
	int rc = 0;

	settings_watermark_spec(p, mark);
	mark->lag_us = mark->lag_count = 0;
	mark->tail = TAIL_HOLD;
	mark->nulls = NULLS_INCLUDE;
	*column = NULL;
	if (p->strategy == STRATEGY_XMIN)
		rc = range_order_by_key(source, spec, mark, column, err);
	if (!rc)
		rc = source_describe(source, spec, mark, schema, err);
	return rc;
}

int range_settle(struct connector *source, const struct source_spec *spec,
		 const struct watermark_spec *mark, const struct schema *schema,
		 struct error *err)
{
	struct watermark none;
	struct settled settled;
	int rc;

	if (mark->any_type)
		return 0;
	watermark_init(&none);
	settled_init(&settled);
	none.strategy = mark->strategy;
	none.column = xstrdup(mark->column);
	rc = source->ops->settle(source, spec, schema, mark, &none, &settled,
				 err);
	settled_release(&settled);
	watermark_release(&none);
	return rc;
}
