#include "core/base/strbuf.h"
#include "core/data/table_name.h"
#include "destinations/common/names.h"
#include "destinations/duckdb/load.h"

void duckdb_target_sql_name(struct strbuf *sql, const struct schema *s,
			    size_t column, const char *table)
{
	if (table)
		strbuf_addf(sql, "%s.", table);
	sql_quote_name(sql, s->columns[column].name, '"');
}

void duckdb_target_sql_columns(struct strbuf *sql, const struct schema *s,
			       const char *table)
{
	for (size_t i = 0; i < s->n_columns; i++) {
		strbuf_addstr(sql, i ? ", " : "");
		duckdb_target_sql_name(sql, s, i, table);
	}
}

void duckdb_target_sql_keys(struct strbuf *sql, const struct schema *s)
{
	for (size_t i = 0; i < s->n_key; i++) {
		strbuf_addstr(sql, i ? ", " : "");
		duckdb_target_sql_name(sql, s, s->key[i], NULL);
	}
}

void duckdb_target_sql_key_join(struct strbuf *sql, const struct schema *s)
{
	for (size_t i = 0; i < s->n_key; i++) {
		strbuf_addstr(sql, i ? " AND t." : "t.");
		duckdb_target_sql_name(sql, s, s->key[i], NULL);
		strbuf_addstr(sql, " = s.");
		duckdb_target_sql_name(sql, s, s->key[i], NULL);
	}
}

static void sql_distinct(struct strbuf *sql, const struct schema *s,
			 size_t column, const char *behind)
{
	duckdb_target_sql_name(sql, s, column, "t");
	strbuf_addf(sql, "%s IS DISTINCT FROM ", behind);
	duckdb_target_sql_name(sql, s, column, "s");
	strbuf_addstr(sql, behind);
}

/* Is it another value, and not only an unequal one? Floats are told apart by =:
 * DuckDB's storage keeps only one of 0.0 and -0.0 where a column has no other
 * value. */
static void sql_different_column(struct strbuf *sql,
				 const struct duckdb_target_destination *d,
				 size_t column)
{
	const struct schema *s = d->target->schema;

	switch (d->types[column].compare) {
	case COMPARE_BYTES:
		sql_distinct(sql, s, column, " COLLATE C");
		break;
	case COMPARE_TEXT:
		sql_distinct(sql, s, column, "::VARCHAR");
		break;
	case COMPARE_EQUAL:
		sql_distinct(sql, s, column, "");
		break;
	}
}

/* (a column of s differs from t's): keys are equal already. */
void duckdb_target_sql_different(struct strbuf *sql,
				 const struct duckdb_target_destination *d,
				 bool but_mark)
{
	const struct schema *s = d->target->schema;
	const char *between = "";

	strbuf_addstr(sql, "(");
	for (size_t i = 0; i < schema_compared(s); i++) {
		if (schema_is_key(s, i) || (but_mark && (long)i == s->mark))
			continue;
		strbuf_addstr(sql, between);
		sql_different_column(sql, d, i);
		between = " OR ";
	}
	strbuf_addstr(sql, *between ? ")" : "false)");
}

/* Is version `a` as new as `b`, or newer? `type` is the type as which `a` is
 * read where the column's own type compares; NULL: it has that type. A text
 * that cannot be read is NULL. */
static void sql_not_older(struct strbuf *sql,
			  const struct duckdb_target_destination *d,
			  const char *a, const char *type, const char *b)
{
	static const struct mark_order_sql numbers = {
		.match = { "regexp_matches(", ", ", ")" },
		.strip = { "regexp_replace(", ", ", ", '', 'g')" },
		.text = "VARCHAR",
	};

	switch (d->mark_order) {
	case MARK_ORDER_NUMBER:
		mark_order_not_less(sql, &numbers, a, b);
		break;
	case MARK_ORDER_TIME:
		strbuf_addf(sql,
			    "TRY_CAST(%s AS TIMESTAMP WITH TIME ZONE) >= "
			    "TRY_CAST(%s AS TIMESTAMP WITH TIME ZONE)",
			    a, b);
		break;
	case MARK_ORDER_PLAIN:
		if (type)
			strbuf_addf(sql, "TRY_CAST(%s AS %s) >= %s", a, type,
				    b);
		else
			strbuf_addf(sql, "%s >= %s", a, b);
		break;
	}
}

/* An older version never replaces a newer one, unless that is no newer than the
 * last one that this pipeline has delivered itself. Without a mark that can be
 * read nothing says which is older, and the source's word counts. */
static void sql_newer_mark(struct strbuf *sql,
			   const struct duckdb_target_destination *d,
			   const char *delivered)
{
	const struct schema *schema = d->target->schema;
	size_t mark = (size_t)schema->mark;
	struct strbuf t = STRBUF_INIT, s = STRBUF_INIT, text = STRBUF_INIT;

	duckdb_target_sql_name(&t, schema, mark, "t");
	duckdb_target_sql_name(&s, schema, mark, "s");
	strbuf_addstr(sql, " AND (coalesce(");
	sql_not_older(sql, d, s.data, NULL, t.data);
	strbuf_addstr(sql, ", true)");
	if (delivered) {
		sql_quote_literal(&text, delivered);
		strbuf_addstr(sql, " OR ");
		sql_not_older(sql, d, text.data, d->types[mark].text, t.data);
	}
	strbuf_addch(sql, ')');
	strbuf_release(&t);
	strbuf_release(&s);
	strbuf_release(&text);
}

static void sql_newer(struct strbuf *sql,
		      const struct duckdb_target_destination *d,
		      const char *delivered)
{
	const struct schema *s = d->target->schema;

	if (d->target->in_place) {
		strbuf_addstr(sql, " AND ");
		duckdb_target_sql_name(sql, s, (size_t)s->mark, "t");
		strbuf_addstr(sql, " IS NOT DISTINCT FROM ");
		duckdb_target_sql_name(sql, s, (size_t)s->mark, "s");
		return;
	}
	/* Rows that mode update has written have marks of others. */
	if (d->target->mode == LOAD_UPDATE)
		delivered = NULL;
	if (s->mark >= 0 && !d->target->overwrite)
		sql_newer_mark(sql, d, delivered);
}

/* A row that comes again loses its mark. */
static void sql_changed(struct strbuf *sql,
			const struct duckdb_target_destination *d)
{
	strbuf_addch(sql, '(');
	duckdb_target_sql_different(sql, d, d->target->mode == LOAD_UPDATE);
	if (d->mark.soft_delete != SOFT_DELETE_NONE) {
		strbuf_addstr(sql, " OR t.");
		sql_quote_name(sql, d->target->soft_delete, '"');
		strbuf_addstr(sql, soft_delete_is(d->mark.soft_delete));
	}
	strbuf_addch(sql, ')');
}

/* Extra columns keep their values, and keys and indexes see no delete. Nothing
 * is written of a table that is nothing but a key. */
void duckdb_target_sql_update(struct strbuf *sql,
			      const struct duckdb_target_destination *d,
			      const char *delivered)
{
	const struct schema *s = d->target->schema;
	const char *between = " SET ";

	if (!target_writes_some(d->target) &&
	    d->mark.soft_delete == SOFT_DELETE_NONE)
		return;
	strbuf_addf(sql, "UPDATE %s AS t", d->into);
	for (size_t i = 0; i < s->n_columns; i++) {
		if (!target_writes(d->target, i))
			continue;
		strbuf_addstr(sql, between);
		duckdb_target_sql_name(sql, s, i, NULL);
		strbuf_addstr(sql, " = ");
		duckdb_target_sql_name(sql, s, i, "s");
		between = ", ";
	}
	if (d->mark.soft_delete != SOFT_DELETE_NONE) {
		strbuf_addstr(sql, between);
		sql_quote_name(sql, d->target->soft_delete, '"');
		strbuf_addstr(sql, soft_delete_clears(d->mark.soft_delete));
	}
	strbuf_addstr(sql, " FROM " STAGE_ROWS
			   " s WHERE t.rowid = s." STAGE_MATCHED " AND ");
	sql_changed(sql, d);
	sql_newer(sql, d, delivered);
}

void duckdb_target_sql_changed(struct strbuf *sql,
			       const struct duckdb_target_destination *d,
			       const char *delivered)
{
	strbuf_addf(sql,
		    "INSERT INTO " STAGE_CHANGED " SELECT s." STAGE_MATCHED
		    " FROM %s t JOIN " STAGE_ROWS
		    " s ON t.rowid = s." STAGE_MATCHED " WHERE ",
		    d->into);
	sql_changed(sql, d);
	sql_newer(sql, d, delivered);
}

/* A pipeline appends in the order it reads, so a key's newest row is its last.
 * One like it is not appended again. */
void duckdb_target_sql_appended(struct strbuf *sql,
				const struct duckdb_target_destination *d)
{
	const struct schema *s = d->target->schema;

	strbuf_addf(sql,
		    "SELECT s." STAGE_MATCHED " FROM " STAGE_ROWS
		    " s WHERE NOT EXISTS (SELECT 1 FROM (SELECT * FROM %s t "
		    "SEMI JOIN " STAGE_ROWS " s ON ",
		    d->into);
	duckdb_target_sql_key_join(sql, s);
	strbuf_addstr(sql, " QUALIFY row_number() OVER (PARTITION BY ");
	duckdb_target_sql_keys(sql, s);
	strbuf_addstr(sql, " ORDER BY " NAME_RAW_SEQ " DESC) = 1) t WHERE ");
	duckdb_target_sql_key_join(sql, s);
	strbuf_addstr(sql, " AND NOT ");
	duckdb_target_sql_different(sql, d, false);
	strbuf_addstr(sql, ")");
}
