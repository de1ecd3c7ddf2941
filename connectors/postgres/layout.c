#include "connectors/postgres/layout.h"

#include <stdlib.h>
#include <string.h>

#include "clients/pg_ahead.h"
#include "connectors/common/query.h"
#include "connectors/common/trouble.h"
#include "connectors/postgres/columns.h"
#include "connectors/postgres/computed.h"
#include "connectors/postgres/indexes.h"
#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"

static bool layout_mark_fits(const struct source_column *c,
			     enum strategy strategy)
{
	switch (postgres_source_wire(c)->wire->oid) {
	case WIRE_TIMESTAMPTZ:
	case WIRE_TIMESTAMP:
	case WIRE_DATE:
		return strategy == STRATEGY_TIMESTAMP;
	case WIRE_INT2:
	case WIRE_INT4:
	case WIRE_INT8:
	case WIRE_OID:
		return strategy == STRATEGY_SEQUENCE;
	case WIRE_NUMERIC:
		return strategy == STRATEGY_SEQUENCE && c->type.scale <= 0;
	default:
		return false;
	}
}

static const struct source_rules layout_rules = {
	.engine = "postgres",
	.title = "PostgreSQL",
	.time_types = "timestamp with time zone, timestamp or date",
	.number_types = "an integer (smallint, integer, bigint, or numeric "
			"without fraction)",
	.mark_fits = layout_mark_fits,
};

static int layout_check_xmin(const struct source_layout *l, const char *table,
			     struct error *err)
{
	enum relation_kind kind = postgres_source_relation(l)->kind;

	if (kind != RELATION_VIEW && kind != RELATION_FOREIGN)
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "strategy xmin cannot serve %s: a %s has no "
			 "xmin" ERROR_FIX "; use timestamp or sequence",
			 table,
			 kind == RELATION_VIEW ? "view" : "foreign table");
}

static int layout_try_order(struct pg *pg, const struct source_layout *l,
			    const struct source_column *c, struct error *err)
{
	struct pg_field *fields = NULL;
	size_t n = 0;
	char *sql =
		xstrfmt("SELECT 1 FROM %s AS %s WHERE (%s) > (%s) "
			"ORDER BY (%s)",
			l->table.sql, l->table.alias, c->sql, c->sql, c->sql);
	int rc = pg_describe(pg, sql, &fields, &n, err);

	pg_fields_free(fields, n);
	free(sql);
	return rc;
}

/* Can the server put the key in order? Known types can. */
static int layout_check_order(struct pg *pg, const struct source_layout *l,
			      const char *table, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < l->n_key; i++) {
		const struct source_column *c = l->columns[l->key[i]];
		if (c->type.kind != TYPE_NATIVE && c->type.kind != TYPE_JSON)
			continue;
		rc = layout_try_order(pg, l, c, err);
		if (rc && err->code == ERROR_SCHEMA) {
			error_prefix(err,
				     "key column \"%s\" of %s has type %s, "
				     "which has no order",
				     c->name, table, c->type.native);
			error_hint(err, "name other columns under `key`, or an "
					"expression that gives it as a text");
		}
	}
	return rc;
}

/* If the server accepts an expression without a table, it says nothing about a
 * row. now() as a mark would run ahead of itself for ever. */
static int layout_check_constant(struct pg *pg, const struct source_column *c,
				 const char *key, struct error *err)
{
	struct error ignored = ERROR_INIT;
	struct pg_field *fields = NULL;
	size_t n = 0;
	char *sql;
	int rc;

	if (!c->expression)
		return 0;
	sql = xstrfmt("SELECT (%s\n)", c->expression);
	rc = pg_describe(pg, sql, &fields, &n, &ignored);
	free(sql);
	pg_fields_free(fields, n);
	return rc ? 0
		  : error_set(err, ERROR_CONFIG,
			      "%s: source.expressions.%s does not depend on "
			      "the row: %s" ERROR_FIX
			      "; name a column, or an expression of the row's "
			      "columns",
			      key, c->name, c->expression);
}

static int layout_check_constants(struct pg *pg, const struct source_layout *l,
				  struct error *err)
{
	int rc = 0;

	if (l->mark >= 0)
		rc = layout_check_constant(pg, source_mark(l),
					   "watermark.column", err);
	for (size_t i = 0; !rc && i < l->n_key; i++)
		rc = layout_check_constant(pg, l->columns[l->key[i]], "key",
					   err);
	return rc;
}

static int layout_query_names(void *ctx, const struct source_table *t,
			      struct strlist *names, struct error *err)
{
	struct pg *pg = ctx;
	struct pg_field *fields = NULL;
	struct error why = ERROR_INIT;
	char *sql = query_select(t);
	size_t n = 0;
	int rc = pg_describe(pg, sql, &fields, &n, &why);

	free(sql);
	for (size_t i = 0; !rc && i < n; i++)
		strlist_add(names, fields[i].name);
	pg_fields_free(fields, n);
	return rc ? refuse_sql(QUERY_KEY, &why, err) : 0;
}

static int layout_read_query(void *ctx, const struct source_spec *spec,
			     struct source_layout *out, struct error *err)
{
	const struct relation relation = { .oid = RELATION_OF_QUERY,
					   .kind = RELATION_VIEW };

	return postgres_source_columns_read(ctx, &relation, spec, out, err);
}

static const struct query_engine layout_queries = {
	.quote = '"',
	.names = layout_query_names,
	.read = layout_read_query,
};

static int layout_look(struct pg *pg, const struct source_spec *source,
		       struct source_layout *out, struct error *err)
{
	struct relation relation = { .oid = 0 };
	int rc = postgres_source_relation_find(pg, source->table, &relation,
					       &out->table, err);

	if (!rc)
		rc = failpoint("table_found", err);
	if (!rc)
		rc = postgres_source_indexes_find(pg, relation.oid, out, err);
	return rc ? rc
		  : postgres_source_columns_read(pg, &relation, source, out,
						 err);
}

/* The table as the catalog has it. If it is replaced by another of its name
 * between two questions, the first one's number has no columns any more. Only
 * a second look, with no answer from before, tells a table without columns. */
static int layout_find(struct pg *pg, const struct source_spec *source,
		       struct source_layout *out, struct error *err)
{
	int rc;

	if (source->query)
		return query_look(&layout_queries, pg, source, out, err);
	rc = layout_look(pg, source, out, err);
	if (rc || out->n_all > source->n_expressions)
		return rc;
	log_debug("%s: no columns were told; asked again", source->table);
	pg_ahead_drop(pg);
	source_layout_release(out);
	return layout_look(pg, source, out, err);
}

/* No column is the mark of strategy xmin. */
static int layout_choose(struct source_layout *l,
			 const struct source_spec *source,
			 const struct watermark_spec *mark, struct error *err)
{
	bool xmin = mark && mark->strategy == STRATEGY_XMIN;
	const struct relation *relation = postgres_source_relation(l);
	int rc = source_layout_choose(l, &layout_rules, source,
				      xmin ? NULL : mark, err);

	/* The indexes of a table with heirs do not reach into the heirs. */
	if (relation->kind == RELATION_TABLE && relation->has_children)
		l->key_unique = false;
	return !rc && xmin ? layout_check_xmin(l, source->table, err) : rc;
}

int postgres_source_layout_read(struct pg *pg, const struct source_spec *source,
				const struct watermark_spec *mark,
				struct source_layout *out, struct error *err)
{
	int rc;

	memset(out, 0, sizeof(*out));
	out->mark = -1;
	rc = layout_find(pg, source, out, err);
	if (!rc)
		rc = layout_choose(out, source, mark, err);
	if (!rc && out->mark >= 0 && mark->strategy == STRATEGY_TIMESTAMP)
		rc = postgres_source_computed_read(pg, out, err);
	if (!rc)
		rc = layout_check_constants(pg, out, err);
	if (!rc)
		rc = layout_check_order(pg, out, source->table, err);
	if (rc)
		source_layout_release(out);
	return rc;
}

void postgres_source_layout_to_schema(const struct source_layout *l,
				      const char *table, struct schema *out)
{
	source_layout_to_schema(l, &layout_rules, table, out);
}
