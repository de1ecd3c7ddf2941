#include <stdlib.h>

#include "core/base/alloc.h"
#include "destinations/bigquery/internal.h"

void bigquery_sql_columns(struct strbuf *sql, const struct schema *s,
			  const char *table)
{
	for (size_t i = 0; i < s->n_columns; i++) {
		strbuf_addstr(sql, i ? ", " : "");
		strbuf_addf(sql, "%s`%s`", table, s->columns[i].name);
	}
}

void bigquery_sql_keys(struct strbuf *sql, const struct schema *s,
		       const char *table)
{
	for (size_t i = 0; i < s->n_key; i++) {
		strbuf_addstr(sql, i ? ", " : "");
		strbuf_addf(sql, "%s`%s`", table, s->columns[s->key[i]].name);
	}
}

static bool sql_is_float(const struct schema *s, size_t column)
{
	return s->columns[column].type.kind == TYPE_FLOAT32 ||
	       s->columns[column].type.kind == TYPE_FLOAT64;
}

/* Floats cannot be partitioned by. */
void bigquery_sql_partition(struct strbuf *sql, const struct schema *s)
{
	for (size_t i = 0; i < s->n_key; i++)
		strbuf_addf(sql,
			    sql_is_float(s, s->key[i])
				    ? "%sCAST(`%s` AS STRING)"
				    : "%s`%s`",
			    i ? ", " : "", s->columns[s->key[i]].name);
}

/* NaN = NaN is false, but they have one text, as 0 and -0 have; and a MERGE
 * wants a plain equation. */
void bigquery_sql_key_join(struct strbuf *sql, const struct schema *s)
{
	for (size_t i = 0; i < s->n_key; i++) {
		const char *name = s->columns[s->key[i]].name;

		strbuf_addstr(sql, i ? " AND " : "");
		strbuf_addf(sql,
			    sql_is_float(s, s->key[i])
				    ? "CAST(_tidemark_t.`%s` AS STRING) = "
				      "CAST(_tidemark_s.`%s` AS STRING)"
				    : "_tidemark_t.`%s` = _tidemark_s.`%s`",
			    name, name);
	}
}

/* The stage's key, by the same columns. */
static void sql_stage_key(struct strbuf *sql,
			  const struct bigquery_destination *d)
{
	const struct schema *s = d->target->schema;

	for (size_t i = 0; i < s->n_key; i++) {
		bool is_float = d->types[s->key[i]].carrier == CARRIER_FLOAT;

		strbuf_addf(sql, is_float ? "%sCAST(c%zu AS STRING)" : "%sc%zu",
			    i ? ", " : "", s->key[i]);
	}
}

void bigquery_sql_staged(struct strbuf *sql,
			 const struct bigquery_destination *d)
{
	const struct schema *s = d->target->schema;

	strbuf_addstr(sql, "(SELECT ");
	for (size_t i = 0; i < s->n_columns; i++) {
		char *name = xstrfmt("c%zu", i);

		bigquery_type_value(sql, &d->types[i], name);
		strbuf_addf(sql, " AS `%s`, ", s->columns[i].name);
		free(name);
	}
	strbuf_addf(sql,
		    "r AS _tidemark_row FROM %s WHERE TRUE QUALIFY "
		    "ROW_NUMBER() OVER (PARTITION BY ",
		    d->quoted_stage);
	sql_stage_key(sql, d);
	strbuf_addstr(sql, " ORDER BY r DESC) = 1)");
}
