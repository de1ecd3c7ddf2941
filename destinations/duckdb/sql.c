#include "core/base/strbuf.h"
#include "core/data/table_name.h"
#include "destinations/duckdb/internal.h"

void duckdb_sql_name(struct strbuf *sql, const struct schema *s, size_t column,
		     const char *table)
{
	if (table)
		strbuf_addf(sql, "%s.", table);
	sql_quote_name(sql, s->columns[column].name, '"');
}

void duckdb_sql_columns(struct strbuf *sql, const struct schema *s,
			const char *table)
{
	for (size_t i = 0; i < s->n_columns; i++) {
		strbuf_addstr(sql, i ? ", " : "");
		duckdb_sql_name(sql, s, i, table);
	}
}

void duckdb_sql_keys(struct strbuf *sql, const struct schema *s)
{
	for (size_t i = 0; i < s->n_key; i++) {
		strbuf_addstr(sql, i ? ", " : "");
		duckdb_sql_name(sql, s, s->key[i], NULL);
	}
}

void duckdb_sql_key_join(struct strbuf *sql, const struct schema *s)
{
	for (size_t i = 0; i < s->n_key; i++) {
		strbuf_addstr(sql, i ? " AND t." : "t.");
		duckdb_sql_name(sql, s, s->key[i], NULL);
		strbuf_addstr(sql, " = s.");
		duckdb_sql_name(sql, s, s->key[i], NULL);
	}
}

/* (a column of s differs from t's): keys are equal already. */
void duckdb_sql_different(struct strbuf *sql, const struct schema *s)
{
	const char *between = "";

	strbuf_addstr(sql, "(");
	for (size_t i = 0; i < s->n_columns; i++) {
		if (schema_is_key(s, i))
			continue;
		strbuf_addf(sql, "%st.", between);
		duckdb_sql_name(sql, s, i, NULL);
		strbuf_addstr(sql, " IS DISTINCT FROM s.");
		duckdb_sql_name(sql, s, i, NULL);
		between = " OR ";
	}
	strbuf_addstr(sql, *between ? ")" : "false)");
}

/* An older version never replaces a newer one, unless that is no newer than
 * what this pipeline has delivered itself; without a mark nothing says which
 * is older, and the source's word counts. A text that DuckDB cannot read is
 * NULL, and compares as nothing. */
void duckdb_sql_newer(struct strbuf *sql, const struct schema *s,
		      const char *delivered, const char *type)
{
	if (s->mark < 0)
		return;
	strbuf_addstr(sql, " AND (");
	duckdb_sql_name(sql, s, (size_t)s->mark, "t");
	strbuf_addstr(sql, " IS NULL OR ");
	duckdb_sql_name(sql, s, (size_t)s->mark, "s");
	strbuf_addstr(sql, " IS NULL OR ");
	duckdb_sql_name(sql, s, (size_t)s->mark, "s");
	strbuf_addstr(sql, " >= ");
	duckdb_sql_name(sql, s, (size_t)s->mark, "t");
	if (delivered) {
		strbuf_addstr(sql, " OR TRY_CAST(");
		sql_quote_literal(sql, delivered);
		strbuf_addf(sql, " AS %s) >= ", type);
		duckdb_sql_name(sql, s, (size_t)s->mark, "t");
	}
	strbuf_addstr(sql, ")");
}
