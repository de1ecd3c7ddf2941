#include "connectors/postgres/layout.h"

#include <stdlib.h>
#include <string.h>

#include "connectors/postgres/columns.h"
#include "connectors/postgres/computed.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"

/* PostgreSQL indexes at most 32. */
#define LAYOUT_MOST_KEYS 32

void postgres_source_layout_release(struct layout *l)
{
	postgres_source_relation_release(&l->relation);
	postgres_source_indexes_release(&l->indexes);
	for (size_t i = 0; l->columns && i <= l->n_columns; i++)
		postgres_source_column_release(&l->columns[i]);
	free(l->columns);
	free(l->key);
	free(l->order);
	free(l->where);
	memset(l, 0, sizeof(*l));
}

const struct layout_column *postgres_source_layout_mark(const struct layout *l)
{
	return l->mark < 0 ? NULL : &l->columns[l->mark];
}

static long layout_find(const struct layout *l, const char *name)
{
	for (size_t i = 0; i < l->n_columns; i++) {
		if (!strcmp(l->columns[i].name, name))
			return (long)i;
	}
	return -1;
}

static void layout_take(struct layout_column *dst, struct layout_column *src)
{
	*dst = *src;
	memset(src, 0, sizeof(*src));
}

/* An expression of that name, which takes the place of the column. */
static struct layout_column *layout_expression(struct column_set *set,
					       const char *name)
{
	for (size_t i = set->n_table; i < set->n; i++) {
		if (set->items[i].name && !strcmp(set->items[i].name, name))
			return &set->items[i];
	}
	return NULL;
}

/* Move the chosen columns, in the config's order or else the table's, then
 * the expressions that replace none. */
static int layout_choose(struct layout *l, struct column_set *set,
			 const struct source_spec *source, struct error *err)
{
	size_t chosen = source->columns ? source->columns->n : 0;

	l->columns = xcalloc(set->n + chosen + 1, sizeof(*l->columns));
	for (size_t i = 0; i < (chosen ? chosen : set->n_table); i++) {
		const char *name =
			chosen ? source->columns->items[i] : set->items[i].name;
		struct layout_column *e = layout_expression(set, name);
		long at = postgres_source_columns_find(set, name);
		if (!e && at < 0)
			return postgres_source_columns_missing(
				set, "source.columns", name, source->table,
				err);
		if (layout_find(l, name) >= 0)
			return error_set(err, ERROR_CONFIG,
					 "source.columns: \"%s\" is named "
					 "twice" ERROR_FIX ": leave one out",
					 name);
		layout_take(&l->columns[l->n_columns++],
			    e ? e : &set->items[at]);
		/* The slot's name is needed while later names are looked up. */
		if (!e)
			set->items[at].name =
				xstrdup(l->columns[l->n_columns - 1].name);
	}
	for (size_t i = set->n_table; i < set->n; i++) {
		if (set->items[i].name)
			layout_take(&l->columns[l->n_columns++],
				    &set->items[i]);
	}
	return 0;
}

static int layout_add_key(struct layout *l, const struct column_set *set,
			  const char *name, const char *table,
			  struct error *err)
{
	long at = layout_find(l, name);

	if (at < 0 && postgres_source_columns_find(set, name) < 0)
		return postgres_source_columns_missing(set, "key", name, table,
						       err);
	if (at < 0)
		return error_set(err, ERROR_SCHEMA,
				 "key column \"%s\" of %s is not among "
				 "source.columns" ERROR_FIX ": add it there",
				 name, table);
	for (size_t i = 0; i < l->n_key; i++) {
		if (l->key[i] == (size_t)at)
			return error_set(err, ERROR_CONFIG,
					 "key: \"%s\" is named twice" ERROR_FIX
					 ": leave one out",
					 name);
	}
	l->key[l->n_key++] = (size_t)at;
	return 0;
}

static int layout_find_key(struct layout *l, const struct column_set *set,
			   const struct source_spec *source, struct error *err)
{
	const json_t *primary = postgres_source_indexes_primary(&l->indexes);
	size_t given = source->key ? source->key->n : 0;
	size_t n = given ? given : json_array_size(primary);
	int rc = 0;

	if (n > LAYOUT_MOST_KEYS)
		return error_set(err, ERROR_CONFIG,
				 "key: more than %d columns" ERROR_FIX
				 "; name fewer",
				 LAYOUT_MOST_KEYS);
	l->key = xcalloc(n ? n : 1, sizeof(*l->key));
	for (size_t i = 0; !rc && i < n; i++) {
		const char *name =
			given ? source->key->items[i]
			      : json_string_value(json_array_get(primary, i));
		rc = layout_add_key(l, set, name, source->table, err);
	}
	return rc;
}

static bool layout_in_key(const struct layout *l, const char *name)
{
	for (size_t i = 0; name && i < l->n_key; i++) {
		const struct layout_column *c = &l->columns[l->key[i]];
		if (!c->expression && !strcmp(c->name, name))
			return true;
	}
	return false;
}

static bool layout_covers(const struct layout *l, const struct index_info *x)
{
	size_t n = json_array_size(x->columns);

	for (size_t i = 0; i < n; i++) {
		if (!layout_in_key(l, json_string_value(
					      json_array_get(x->columns, i))))
			return false;
	}
	return x->unique && n > 0;
}

/* A unique index whose columns are all in the key vouches for it. Indexes of a
 * table with heirs do not reach into the heirs. */
static void layout_vouch(struct layout *l)
{
	if (l->relation.kind == RELATION_TABLE && l->relation.has_children)
		return;
	for (size_t i = 0; i < l->indexes.n; i++)
		l->key_unique |= layout_covers(l, &l->indexes.items[i]);
}

static int layout_refuse_mark(const struct layout_column *c,
			      enum strategy strategy, const char *table,
			      struct error *err)
{
	return error_set(
		err, ERROR_CONFIG,
		"watermark.column: \"%s\" of %s is of type %s" ERROR_FIX
		"; strategy %s needs %s",
		c->name, table, c->type.native, strategy_name(strategy),
		strategy == STRATEGY_TIMESTAMP
			? "timestamp with time zone, timestamp or date"
			: "an integer (smallint, integer, bigint, or "
			  "numeric without fraction)");
}

static int layout_check_mark(const struct layout_column *c,
			     enum strategy strategy, const char *table,
			     struct error *err)
{
	bool fits;

	switch (c->wire->oid) {
	case WIRE_TIMESTAMPTZ:
	case WIRE_TIMESTAMP:
	case WIRE_DATE:
		fits = strategy == STRATEGY_TIMESTAMP;
		break;
	case WIRE_INT2:
	case WIRE_INT4:
	case WIRE_INT8:
	case WIRE_OID:
		fits = strategy == STRATEGY_SEQUENCE;
		break;
	case WIRE_NUMERIC:
		fits = strategy == STRATEGY_SEQUENCE && c->type.scale <= 0;
		break;
	default:
		fits = false;
	}
	return fits ? 0 : layout_refuse_mark(c, strategy, table, err);
}

static int layout_find_mark(struct layout *l, struct column_set *set,
			    const struct source_spec *source,
			    const struct watermark_spec *mark,
			    struct error *err)
{
	long at;

	l->mark = -1;
	if (!mark || mark->strategy == STRATEGY_XMIN)
		return 0;
	if (!mark->column)
		return error_set(err, ERROR_CONFIG,
				 "watermark.column is missing" ERROR_FIX
				 ": strategy %s needs one",
				 strategy_name(mark->strategy));
	l->mark = layout_find(l, mark->column);
	if (l->mark < 0) {
		at = postgres_source_columns_find(set, mark->column);
		if (at < 0)
			return postgres_source_columns_missing(
				set, "watermark.column", mark->column,
				source->table, err);
		/* Hidden: read, but not delivered. */
		l->mark = (long)l->n_columns;
		layout_take(&l->columns[l->n_columns], &set->items[at]);
	}
	return mark->any_type
		       ? 0
		       : layout_check_mark(postgres_source_layout_mark(l),
					   mark->strategy, source->table, err);
}

static void layout_set_order(struct layout *l)
{
	l->order = xcalloc(l->n_key + 1, sizeof(*l->order));
	if (l->mark >= 0)
		l->order[l->n_order++] = (size_t)l->mark;
	for (size_t i = 0; i < l->n_key; i++) {
		if ((long)l->key[i] != l->mark)
			l->order[l->n_order++] = l->key[i];
	}
}

static int layout_check_strategy(const struct layout *l, const char *table,
				 const struct watermark_spec *mark,
				 struct error *err)
{
	enum relation_kind kind = l->relation.kind;

	if (!mark)
		return 0;
	if (mark->strategy == STRATEGY_XMIN &&
	    (kind == RELATION_VIEW || kind == RELATION_FOREIGN))
		return error_set(err, ERROR_CONFIG,
				 "strategy xmin cannot serve %s: a %s has no "
				 "xmin" ERROR_FIX "; use timestamp or sequence",
				 table,
				 kind == RELATION_VIEW ? "view"
						       : "foreign table");
	if (mark->strategy != STRATEGY_XMIN && !l->n_key)
		return error_set(err, ERROR_SCHEMA,
				 "%s has no primary key" ERROR_FIX
				 ": name the columns that tell its rows apart, "
				 "as in `key: [id]`",
				 table);
	return 0;
}

static int layout_try_order(struct pg *pg, const struct layout *l,
			    const struct layout_column *c, struct error *err)
{
	struct pg_field *fields = NULL;
	size_t n = 0;
	char *sql = xstrfmt("SELECT 1 FROM %s AS %s WHERE (%s) > (%s) "
			    "ORDER BY (%s)",
			    l->relation.sql, l->relation.alias, c->sql, c->sql,
			    c->sql);
	int rc = pg_describe(pg, sql, &fields, &n, err);

	pg_fields_free(fields, n);
	free(sql);
	return rc;
}

/* Can the server put the key in order? Known types can. */
static int layout_check_order(struct pg *pg, const struct layout *l,
			      const char *table, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < l->n_key; i++) {
		const struct layout_column *c = &l->columns[l->key[i]];
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
static int layout_check_constant(struct pg *pg, const struct layout_column *c,
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

static int layout_check_constants(struct pg *pg, const struct layout *l,
				  struct error *err)
{
	int rc = 0;

	if (l->mark >= 0)
		rc = layout_check_constant(pg, postgres_source_layout_mark(l),
					   "watermark.column", err);
	for (size_t i = 0; !rc && i < l->n_key; i++)
		rc = layout_check_constant(pg, &l->columns[l->key[i]], "key",
					   err);
	return rc;
}

int postgres_source_layout_read(struct pg *pg, const struct source_spec *source,
				const struct watermark_spec *mark,
				struct layout *out, struct error *err)
{
	struct column_set set = { NULL, 0, 0 };
	int rc;

	memset(out, 0, sizeof(*out));
	out->mark = -1;
	rc = postgres_source_relation_find(pg, source->table, &out->relation,
					   err);
	if (!rc)
		rc = postgres_source_indexes_find(pg, out->relation.oid,
						  &out->indexes, err);
	if (!rc)
		rc = postgres_source_columns_read(pg, &out->relation, source,
						  &set, err);
	if (!rc)
		rc = layout_choose(out, &set, source, err);
	if (!rc)
		rc = layout_find_key(out, &set, source, err);
	if (!rc)
		rc = layout_check_strategy(out, source->table, mark, err);
	if (!rc)
		rc = layout_find_mark(out, &set, source, mark, err);
	if (!rc && out->mark >= 0 && mark->strategy == STRATEGY_TIMESTAMP)
		rc = postgres_source_computed_read(
			pg, &out->relation, &out->columns[out->mark], err);
	if (!rc)
		rc = layout_check_constants(pg, out, err);
	if (!rc)
		rc = layout_check_order(pg, out, source->table, err);
	postgres_source_columns_release(&set);
	if (rc) {
		postgres_source_layout_release(out);
		return rc;
	}
	layout_vouch(out);
	layout_set_order(out);
	out->where = xstrdup(source->where);
	return 0;
}

void postgres_source_layout_to_schema(const struct layout *l, const char *table,
				      struct schema *out)
{
	for (size_t i = 0; i < l->n_columns; i++) {
		const struct layout_column *c = &l->columns[i];
		struct column *column =
			schema_add(out, c->name, &c->type, c->nullable);
		column->expression = xstrdup(c->expression);
		column->labels = xstrdup(c->labels);
		column->number = c->number;
	}
	schema_set_key(out, l->key, l->n_key);
	out->mark = l->mark < (long)l->n_columns ? l->mark : -1;
	out->definition = xstrdup(l->relation.definition);
	out->engine = xstrdup("postgres");
	out->table = xstrdup(table);
}
