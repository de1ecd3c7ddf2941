#include "core/sync/report/propose_log.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/plugin/naming.h"

static bool log_is_exact(struct connector *source,
			 const struct source_spec *spec,
			 const struct watermark_spec *mark,
			 const struct schema *schema)
{
	struct error ignored = ERROR_INIT;
	struct watermark none;
	struct settled settled;
	bool exact;

	if (schema->n_key || schema->mark < 0 ||
	    schema->columns[schema->mark].nullable)
		return false;
	watermark_init(&none);
	settled_init(&settled);
	exact = !source->ops->settle(source, spec, schema, mark, &none,
				     &settled, &ignored) &&
		settled.guarantee == GUARANTEE_EXACT;
	settled_release(&settled);
	watermark_release(&none);
	return exact;
}

static char *log_by(struct connector *source, const struct source_spec *spec,
		    enum strategy strategy, const char *column)
{
	const struct watermark_spec mark = { .time_zone = "auto",
					     .settle = true,
					     .keyless = true,
					     .strategy = strategy,
					     .column = column };
	struct error ignored = ERROR_INIT;
	struct schema schema;
	char *advice = NULL;

	schema_init(&schema);
	if (!source_describe(source, spec, &mark, &schema, &ignored) &&
	    log_is_exact(source, spec, &mark, &schema))
		advice = xstrfmt(
			"if rows are only ever added, watermark: { strategy: "
			"%s, column: %s } and load: { mode: append } read no "
			"more than the new ones",
			strategy_name(strategy), column);
	schema_release(&schema);
	return advice;
}

/* A column whose name says that rows change is suggested by the source. */
static bool log_may_be(const struct column *c, const char *changes)
{
	return !c->nullable &&
	       (c->type.kind == TYPE_TIMESTAMP ||
		c->type.kind == TYPE_TIMESTAMPTZ) &&
	       strcmp(c->name, changes) != 0;
}

char *propose_log(struct connector *source, const struct source_spec *spec,
		  const struct schema *schema, enum strategy strategy,
		  const char *column)
{
	const char *changes = strategy == STRATEGY_TIMESTAMP ? column : "";
	char *advice = strategy == STRATEGY_SEQUENCE
			       ? log_by(source, spec, strategy, column)
			       : NULL;

	for (size_t i = 0; !advice && i < schema->n_columns; i++)
		if (log_may_be(&schema->columns[i], changes))
			advice = log_by(source, spec, STRATEGY_TIMESTAMP,
					schema->columns[i].name);
	return advice;
}
