#include "connectors/postgres/columns.h"

#include <stdlib.h>
#include <string.h>

#include "connectors/common/names.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"

/* $1: the table; $2, $3: types and modifiers of the expressions, whose numbers
 * follow those of the columns. Domains are replaced by their base types.
 * attcollation 950 and 951 are "C" and "POSIX", 100 the database's own.
 * `computed` is a generated column, or a default that cuts the time off. Any
 * other default binds no writer. */
static const char columns_sql[] =
	"WITH RECURSIVE wanted(n, name, type, modifier, filled, coll) AS (\n"
	"  SELECT attnum::int, attname, atttypid, atttypmod, attnotnull,\n"
	"         attcollation\n"
	"  FROM pg_attribute\n"
	"  WHERE attrelid = $1::oid AND attnum > 0 AND NOT attisdropped\n"
	"  UNION ALL\n"
	"  SELECT 10000 + n::int, NULL, type, modifier, false, 100\n"
	"  FROM unnest($2::oid[], $3::int[])\n"
	"    WITH ORDINALITY u(type, modifier, n)),\n"
	"base(n, type, modifier, filled) AS (\n"
	"  SELECT n, type, modifier, filled FROM wanted\n"
	"  UNION ALL\n"
	"  SELECT b.n, t.typbasetype,\n"
	"         CASE WHEN b.modifier >= 0 THEN b.modifier\n"
	"              ELSE t.typtypmod END,\n"
	"         b.filled OR t.typnotnull\n"
	"  FROM base b JOIN pg_type t ON t.oid = b.type\n"
	"  WHERE t.typtype = 'd'),\n"
	"own(is_c) AS (\n"
	"  SELECT datcollate IN ('C', 'POSIX')\n"
	"     AND coalesce(to_jsonb(d)->>'datlocprovider', 'c') = 'c'\n"
	"  FROM pg_database d WHERE datname = current_database())\n"
	"SELECT w.name, format_type(w.type, w.modifier), b.type, b.modifier,\n"
	"  quote_ident(s.nspname) || '.' || quote_ident(t.typname),\n"
	"  t.typcollation <> 0 AND w.coll NOT IN (950, 951)\n"
	"    AND NOT (w.coll = 100 AND own.is_c),\n"
	"  b.filled, current_setting('server_encoding') = 'SQL_ASCII', w.n,\n"
	"  (SELECT f.text FROM pg_attrdef d JOIN pg_attribute a\n"
	"     ON a.attrelid = d.adrelid AND a.attnum = d.adnum\n"
	"   CROSS JOIN LATERAL pg_get_expr(d.adbin, d.adrelid) f(text)\n"
	"   WHERE d.adrelid = $1::oid AND d.adnum = w.n\n"
	"     AND (a.attgenerated <> '' OR f.text ~* "
	"'(date_trunc|date_bin|current_timestamp|localtimestamp) *[(]"
	"|current_date|::date|interval|to_timestamp|extract|date_part')),\n"
	"  (SELECT string_agg(quote_literal(enumlabel), ','\n"
	"                     ORDER BY enumsortorder)\n"
	"   FROM pg_enum e WHERE e.enumtypid IN (t.oid, t.typelem))\n"
	"FROM wanted w JOIN base b USING (n)\n"
	"  JOIN pg_type t ON t.oid = b.type AND t.typtype <> 'd'\n"
	"  JOIN pg_namespace s ON s.oid = t.typnamespace\n"
	"  CROSS JOIN own\n"
	"ORDER BY w.n";

void postgres_source_column_release(struct layout_column *column)
{
	free(column->name);
	free(column->expression);
	free(column->sql);
	free(column->cast);
	free(column->computed);
	free(column->type.native);
	free(column->labels);
	memset(column, 0, sizeof(*column));
}

void postgres_source_columns_release(struct column_set *set)
{
	for (size_t i = 0; i < set->n; i++)
		postgres_source_column_release(&set->items[i]);
	free(set->items);
	memset(set, 0, sizeof(*set));
}

long postgres_source_columns_find(const struct column_set *set,
				  const char *name)
{
	for (size_t i = 0; i < set->n_table; i++) {
		if (!strcmp(set->items[i].name, name))
			return (long)i;
	}
	return -1;
}

int postgres_source_columns_missing(const struct column_set *set,
				    const char *what, const char *name,
				    const char *table, struct error *err)
{
	const char **names = xcalloc(set->n ? set->n : 1, sizeof(*names));
	size_t n = 0;
	int rc;

	for (size_t i = 0; i < set->n; i++) {
		if (set->items[i].name)
			names[n++] = set->items[i].name;
	}
	rc = column_missing(names, n, what, name, table, err);
	free(names);
	return rc;
}

/* The user's SQL ends at a line's end: a comment in it must not swallow the
 * next part. In WHERE the server refuses expressions that do not give one value
 * for each row: sets, aggregates, window functions. */
static void columns_write_probe(struct strbuf *sb,
				const struct relation *relation,
				const struct source_expression *expressions,
				size_t n, const char *where)
{
	strbuf_addstr(sb, "SELECT ");
	for (size_t i = 0; i < n; i++)
		strbuf_addf(sb, "%s(%s\n)", i ? ", " : "", expressions[i].sql);
	strbuf_addf(sb, "%s FROM %s AS %s", n ? "" : "1", relation->sql,
		    relation->alias);
	strbuf_addf(sb, " WHERE (%s\n)", where ? where : "true");
	for (size_t i = 0; i < n; i++)
		strbuf_addf(sb, " AND (%s\n) IS NULL", expressions[i].sql);
}

/* Types of the expressions; whether the server takes `where`. */
static int columns_probe(struct pg *pg, const struct relation *relation,
			 const struct source_expression *expressions, size_t n,
			 const char *where, struct pg_field **fields,
			 struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	size_t got = 0;
	int rc;

	columns_write_probe(&sql, relation, expressions, n, where);
	rc = pg_describe(pg, sql.data, fields, &got, err);
	if (!rc && got != n) {
		/* Without expressions it is the "1" of a probe of `where`. */
		pg_fields_free(*fields, got);
		*fields = NULL;
		if (n)
			rc = error_set(err, ERROR_CONFIG,
				       "an expression gives more than one "
				       "column");
	}
	strbuf_release(&sql);
	return rc;
}

/* A mistake in the SQL itself, as opposed to a lost connection or a table
 * that may not be read. */
static bool columns_is_users_fault(const struct error *err)
{
	return err->code == ERROR_SCHEMA || err->code == ERROR_BUG ||
	       err->code == ERROR_UNKNOWN || err->code == ERROR_DATA ||
	       err->code == ERROR_CONFIG;
}

/* Find the key of the config that holds the failing SQL. */
static int columns_blame(struct pg *pg, const struct relation *relation,
			 const struct source_spec *source,
			 const struct error *first, struct error *err)
{
	struct error why = ERROR_INIT;
	char *key = NULL;
	int rc = 0;

	for (size_t i = 0; !rc && i < source->n_expressions; i++) {
		struct pg_field *fields = NULL;
		const struct source_expression *e = &source->expressions[i];
		rc = columns_probe(pg, relation, e, 1, NULL, &fields, &why);
		if (rc)
			key = xstrfmt("source.expressions.%s", e->name);
		else
			pg_fields_free(fields, 1);
	}
	if (!rc) {
		why = *first;
		key = xstrdup(source->where ? "source.where"
					    : "source.expressions");
	}
	error_set(err, columns_is_users_fault(&why) ? ERROR_CONFIG : why.code,
		  "%s: %s", key, why.message);
	if (strstr(why.message, "not allowed in WHERE"))
		error_hint(err, "(it must give one value for each row)");
	else if (columns_is_users_fault(&why))
		error_hint(err, "(it runs with an empty search path: qualify "
				"the names of tables, functions and types)");
	free(key);
	return -(int)err->code;
}

/* "{1,2}": the types (or modifiers) of the expressions. */
static void columns_write_array(struct strbuf *sb,
				const struct pg_field *fields, size_t n,
				bool modifiers)
{
	strbuf_addch(sb, '{');
	for (size_t i = 0; fields && i < n; i++) {
		strbuf_addstr(sb, i ? "," : "");
		if (modifiers)
			strbuf_addf(sb, "%d", fields[i].modifier);
		else
			strbuf_addf(sb, "%u", fields[i].oid);
	}
	strbuf_addch(sb, '}');
}

static char *columns_qualified(const struct relation *relation,
			       const char *name)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "%s.", relation->alias);
	sql_quote_name(&sb, name, '"');
	return strbuf_detach(&sb);
}

static void column_fill(struct layout_column *column, const struct pg_result *r,
			int row, const struct relation *relation,
			const struct source_expression *expression)
{
	uint32_t oid = (uint32_t)strtoul(pg_value(r, row, 2), NULL, 10);
	int32_t modifier = (int32_t)strtol(pg_value(r, row, 3), NULL, 10);
	bool unchecked = *pg_value(r, row, 7) == 't';

	if (expression) {
		column->name = xstrdup(expression->name);
		column->expression = xstrdup(expression->sql);
		column->sql = xstrfmt("(%s\n)", expression->sql);
	} else {
		column->name = xstrdup(pg_value(r, row, 0));
		column->sql = columns_qualified(relation, column->name);
		column->number = strtoll(pg_value(r, row, 8), NULL, 10);
		column->computed = xstrdup(pg_value(r, row, 9));
	}
	column->oid = oid;
	column->modifier = modifier;
	column->labels = xstrdup(pg_value(r, row, 10));
	column->wire = postgres_source_wire_type_find(oid);
	column->decode = column->wire->decode;
	postgres_source_wire_type_describe(column->wire, modifier,
					   &column->type);
	if (unchecked && column->decode == postgres_source_decode_bytes &&
	    column->type.kind != TYPE_BYTES)
		column->decode = postgres_source_decode_text_checked;
	column->type.native = xstrdup(pg_value(r, row, 1));
	column->cast = xstrdup(pg_value(r, row, 4));
	column->collate = *pg_value(r, row, 5) == 't';
	column->nullable = *pg_value(r, row, 6) != 't';
}

/* The last `n` rows are those of expressions; a column has a name. */
static int columns_check(struct pg *pg, const struct pg_result *r, size_t n,
			 struct error *err)
{
	size_t rows = (size_t)pg_rows(r);

	for (size_t i = 0; rows >= n && i < rows - n; i++)
		if (!pg_value(r, (int)i, 0))
			return pg_refuse_answer(pg, "a column's name", err);
	return rows >= n ? 0 : pg_refuse_answer(pg, "columns", err);
}

static int columns_look_up(struct pg *pg, const struct relation *relation,
			   const struct source_spec *source,
			   const struct pg_field *fields,
			   struct column_set *out, struct error *err)
{
	struct strbuf types = STRBUF_INIT, modifiers = STRBUF_INIT;
	size_t n = source->n_expressions;
	char *oid = xstrfmt("%u", relation->oid);
	struct pg_result *r = NULL;
	const char *params[3];
	int rc;

	columns_write_array(&types, fields, n, false);
	columns_write_array(&modifiers, fields, n, true);
	params[0] = oid;
	params[1] = types.data;
	params[2] = modifiers.data;
	rc = pg_query(pg, &r, columns_sql, "?tttttttt??", 3, params, err);
	if (rc)
		goto out;
	rc = columns_check(pg, r, n, err);
	if (rc)
		goto out;
	out->n = (size_t)pg_rows(r);
	out->n_table = out->n - n;
	out->items = xcalloc(out->n ? out->n : 1, sizeof(*out->items));
	for (size_t i = 0; i < out->n; i++)
		column_fill(&out->items[i], r, (int)i, relation,
			    i < out->n_table
				    ? NULL
				    : &source->expressions[i - out->n_table]);
out:
	pg_result_free(r);
	strbuf_release(&types);
	strbuf_release(&modifiers);
	free(oid);
	return rc;
}

int postgres_source_columns_read(struct pg *pg, const struct relation *relation,
				 const struct source_spec *source,
				 struct column_set *out, struct error *err)
{
	struct pg_field *fields = NULL;
	struct error why = ERROR_INIT;
	int rc = 0;

	if (source->n_expressions || source->where)
		rc = columns_probe(pg, relation, source->expressions,
				   source->n_expressions, source->where,
				   &fields, &why);
	if (rc)
		return columns_blame(pg, relation, source, &why, err);
	rc = columns_look_up(pg, relation, source, fields, out, err);
	pg_fields_free(fields, source->n_expressions);
	return rc;
}
