#include "connectors/postgres/columns.h"

#include <stdlib.h>
#include <string.h>

#include "clients/pg_ahead.h"
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
	"  WHERE attrelid = " RELATION_OID "\n"
	"    AND attnum > 0 AND NOT attisdropped\n"
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
	"   WHERE d.adrelid = " RELATION_OID " AND d.adnum = w.n\n"
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

/* The user's SQL ends at a line's end: a comment in it must not swallow what
 * follows. In WHERE the server refuses what does not give one value for each
 * row: sets, aggregates, window functions. */
static void columns_write_probe(struct strbuf *sb,
				const struct source_table *table,
				const struct source_expression *expressions,
				size_t n, const char *where)
{
	strbuf_addstr(sb, "SELECT ");
	for (size_t i = 0; i < n; i++)
		strbuf_addf(sb, "%s(%s\n)", i ? ", " : "", expressions[i].sql);
	strbuf_addf(sb, "%s FROM %s AS %s", n ? "" : "1", table->sql,
		    table->alias);
	strbuf_addf(sb, " WHERE (%s\n)", where ? where : "true");
	for (size_t i = 0; i < n; i++)
		strbuf_addf(sb, " AND (%s\n) IS NULL", expressions[i].sql);
}

/* Types of the expressions; whether the server takes `where`. */
static int columns_probe(struct pg *pg, const struct source_table *table,
			 const struct source_expression *expressions, size_t n,
			 const char *where, struct pg_field **fields,
			 struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	size_t got = 0;
	int rc;

	columns_write_probe(&sql, table, expressions, n, where);
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
static int columns_blame(struct pg *pg, const struct source_table *table,
			 const struct source_spec *source,
			 const struct error *first, struct error *err)
{
	struct error why = ERROR_INIT;
	char *key = NULL;
	int rc = 0;

	for (size_t i = 0; !rc && i < source->n_expressions; i++) {
		struct pg_field *fields = NULL;
		const struct source_expression *e = &source->expressions[i];
		rc = columns_probe(pg, table, e, 1, NULL, &fields, &why);
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

static char *columns_qualified(const struct source_table *table,
			       const char *name)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "%s.", table->alias);
	sql_quote_name(&sb, name, '"');
	return strbuf_detach(&sb);
}

static void columns_fill_wire(struct wire_column *wire, struct type *type,
			      const struct pg_result *r, int row)
{
	bool unchecked = *pg_value(r, row, 7) == 't';

	wire->oid = (uint32_t)strtoul(pg_value(r, row, 2), NULL, 10);
	wire->modifier = (int32_t)strtol(pg_value(r, row, 3), NULL, 10);
	wire->collate = *pg_value(r, row, 5) == 't';
	wire->wire = postgres_source_wire_type_find(wire->oid);
	wire->decode = wire->wire->decode;
	postgres_source_wire_type_describe(wire->wire, wire->modifier, type);
	if (unchecked && wire->decode == postgres_source_decode_bytes &&
	    type->kind != TYPE_BYTES)
		wire->decode = postgres_source_decode_text_checked;
}

static void columns_fill(struct source_column *column, struct wire_column *wire,
			 const struct pg_result *r, int row,
			 const struct source_table *table,
			 const struct source_expression *expression)
{
	if (expression) {
		source_column_express(column, expression);
	} else {
		column->name = xstrdup(pg_value(r, row, 0));
		column->sql = columns_qualified(table, column->name);
		column->number = strtoll(pg_value(r, row, 8), NULL, 10);
		column->computed = xstrdup(pg_value(r, row, 9));
	}
	column->labels = xstrdup(pg_value(r, row, 10));
	columns_fill_wire(wire, &column->type, r, row);
	column->type.native = xstrdup(pg_value(r, row, 1));
	column->cast = xstrdup(pg_value(r, row, 4));
	column->nullable = *pg_value(r, row, 6) != 't';
	column->how = wire;
	/* The server itself is asked whether it can order a key. */
	column->ordered = true;
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

/* The answer has the expressions last, in the config's order. */
static void columns_take(struct source_layout *out,
			 const struct relation *relation,
			 const struct source_spec *source,
			 const struct pg_result *r)
{
	size_t n = (size_t)pg_rows(r), n_table = n - source->n_expressions;
	struct layout_facts *facts =
		xcalloc(1, sizeof(*facts) + n * sizeof(facts->columns[0]));

	facts->relation = *relation;
	out->own = facts;
	out->n_all = n;
	out->all = xcalloc(n ? n : 1, sizeof(*out->all));
	for (size_t i = 0; i < n; i++)
		columns_fill(&out->all[i], &facts->columns[i], r, (int)i,
			     &out->table,
			     i < n_table ? NULL
					 : &source->expressions[i - n_table]);
}

static int columns_look_up(struct pg *pg, const struct relation *relation,
			   const struct source_spec *source,
			   const struct pg_field *fields,
			   struct source_layout *out, struct error *err)
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
	if (!rc)
		rc = columns_check(pg, r, n, err);
	if (!rc)
		columns_take(out, relation, source, r);
	pg_result_free(r);
	strbuf_release(&types);
	strbuf_release(&modifiers);
	free(oid);
	return rc;
}

void postgres_source_columns_ahead(struct pg *pg, uint32_t oid,
				   const struct source_spec *source)
{
	char *text = xstrfmt("%u", oid);
	const char *params[] = { text, "{}", "{}" };

	if (!source->n_expressions)
		pg_ahead_add(pg, columns_sql, 3, params);
	free(text);
}

int postgres_source_columns_read(struct pg *pg, const struct relation *relation,
				 const struct source_spec *source,
				 struct source_layout *out, struct error *err)
{
	struct pg_field *fields = NULL;
	struct error why = ERROR_INIT;
	int rc = 0;

	if (source->n_expressions || source->where)
		rc = columns_probe(pg, &out->table, source->expressions,
				   source->n_expressions, source->where,
				   &fields, &why);
	if (rc)
		return columns_blame(pg, &out->table, source, &why, err);
	rc = columns_look_up(pg, relation, source, fields, out, err);
	pg_fields_free(fields, source->n_expressions);
	return rc;
}
