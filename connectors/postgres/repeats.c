#include "connectors/postgres/repeats.h"

#include <stdlib.h>

#include "connectors/common/trouble.h"
#include "core/base/strbuf.h"

/* As the destination tells keys apart: a type it takes as text, by that text.
 */
static char *repeats_key(const struct source_layout *l)
{
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < l->n_key; i++) {
		const struct source_column *k = l->columns[l->key[i]];
		strbuf_addf(&sb, "%s%s%s%s", i ? ", " : "", k->sql,
			    postgres_source_wire(k)->wire->as_text
				    ? "::pg_catalog.text"
				    : "",
			    postgres_source_wire(k)->collate ? " COLLATE \"C\""
							     : "");
	}
	return strbuf_detach(&sb);
}

/* A NULL in the key has an error of its own. */
static void repeats_write_where(struct query *q, const struct source_layout *l,
				bool marked)
{
	const struct source_column *mark = source_mark(l);

	strbuf_addstr(&q->sql, "true");
	for (size_t i = 0; i < l->n_key; i++) {
		const struct source_column *k = l->columns[l->key[i]];
		if (k->nullable)
			strbuf_addf(&q->sql, " AND %s IS NOT NULL", k->sql);
	}
	if (marked && mark && mark->nullable)
		strbuf_addf(&q->sql, " AND %s IS NOT NULL", mark->sql);
}

static void repeats_write(struct query *q, const struct source_layout *l,
			  struct query *among, bool marked, const char *key)
{
	postgres_source_query_init(q, QUERY_PARAMETERS);
	if (among)
		postgres_source_query_adopt(q, among);
	postgres_source_query_count(q, l, key);
	repeats_write_where(q, l, marked);
	if (among) {
		strbuf_addf(&q->sql, " AND (%s) IN (", key);
		postgres_source_query_count(q, l, key);
		strbuf_addf(&q->sql, "(%s))", among->sql.data);
	}
	/* By number: an expression may be a constant. */
	strbuf_addstr(&q->sql, " GROUP BY ");
	for (size_t i = 0; i < l->n_key; i++)
		strbuf_addf(&q->sql, "%s%zu", i ? ", " : "", i + 1);
	strbuf_addstr(&q->sql, " HAVING count(*) > 1 LIMIT 1");
}

int postgres_source_repeats_find(struct pg *pg, const struct source_layout *l,
				 struct query *among, bool marked, char **out,
				 struct error *err)
{
	struct strbuf key = STRBUF_INIT;
	struct pg_result *r = NULL;
	char *columns = repeats_key(l);
	struct query q;
	int rc;

	repeats_write(&q, l, among, marked, columns);
	rc = pg_query(pg, &r, q.sql.data, NULL, q.n,
		      (const char *const *)q.params, err);
	for (size_t i = 0; !rc && pg_rows(r) && i < l->n_key; i++) {
		const char *text = pg_value(r, 0, (int)i);
		strbuf_addf(&key, "%s%s=%.64s", i ? ", " : "",
			    l->columns[l->key[i]]->name, text ? text : "NULL");
	}
	*out = key.len ? strbuf_detach(&key) : NULL;
	strbuf_release(&key);
	pg_result_free(r);
	postgres_source_query_release(&q);
	free(columns);
	return rc;
}

int postgres_source_repeats_check(struct pg *pg, const struct source_layout *l,
				  const char *table, struct query *among,
				  bool marked, struct error *err)
{
	char *key = NULL;
	int rc;

	if (l->key_unique || !l->n_key)
		return 0;
	rc = postgres_source_repeats_find(pg, l, among, marked, &key, err);
	if (!rc && key)
		rc = refuse_repeat(table, key, err);
	free(key);
	return rc;
}
