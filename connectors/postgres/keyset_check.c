#include <stdlib.h>

#include "connectors/common/trouble.h"
#include "connectors/postgres/keyset.h"
#include "connectors/postgres/repeats.h"
#include "core/base/alloc.h"

/* A query for one row, shown by its key; a condition is to follow. */
static void keyset_sample_begin(const struct postgres *c, struct query *q)
{
	const struct source_layout *l = &c->layout;
	struct strbuf what = STRBUF_INIT;

	for (size_t i = 0; i < l->n_key; i++)
		strbuf_addf(&what, "%s%s", i ? ", " : "",
			    l->columns[l->key[i]]->sql);
	postgres_source_query_init(q, QUERY_PARAMETERS);
	postgres_source_query_count(q, l, what.data);
	strbuf_release(&what);
}

/* NULL if there is no such row. Ends the query. */
static int keyset_sample_end(struct postgres *c, struct query *q, char **out,
			     struct error *err)
{
	const struct source_layout *l = &c->layout;
	struct strbuf key = STRBUF_INIT;
	struct pg_result *r = NULL;
	int rc;

	strbuf_addstr(&q->sql, " LIMIT 1");
	rc = pg_query(c->pg, &r, q->sql.data, NULL, q->n,
		      (const char *const *)q->params, err);
	for (size_t i = 0; !rc && pg_rows(r) && i < l->n_key; i++) {
		const char *text = pg_value(r, 0, (int)i);
		strbuf_addf(&key, "%s%s=%.64s", i ? ", " : "",
			    l->columns[l->key[i]]->name, text ? text : "NULL");
	}
	if (!rc && pg_rows(r) && !l->n_key)
		strbuf_addstr(&key, "a row without a key");
	*out = key.len ? strbuf_detach(&key) : NULL;
	strbuf_release(&key);
	pg_result_free(r);
	postgres_source_query_release(q);
	return rc;
}

static int keyset_count(struct postgres *c, const char *condition,
			int64_t *count, struct error *err)
{
	struct pg_result *r = NULL;
	struct query q;
	int rc;

	postgres_source_query_init(&q, QUERY_PARAMETERS);
	postgres_source_query_count(&q, &c->layout, "count(*)");
	strbuf_addstr(&q.sql, condition);
	rc = pg_query(c->pg, &r, q.sql.data, "1t", 0, NULL, err);
	if (!rc)
		*count = strtoll(pg_value(r, 0, 0), NULL, 10);
	pg_result_free(r);
	postgres_source_query_release(&q);
	return rc;
}

static int keyset_refuse_nulls(struct postgres *c, const char *sample,
			       const char *condition, struct error *err)
{
	int64_t count = 0;
	int rc = keyset_count(c, condition, &count, err);

	return rc ? rc
		  : refuse_null_marks(c->pass.scan,
				      source_mark(&c->layout)->name, count,
				      sample, err);
}

/* One row first: with an index that is known at once; the count only when
 * there is something to report. */
static int keyset_check_nulls(struct postgres *c, struct error *err)
{
	const struct source_column *mark = source_mark(&c->layout);
	char *condition, *sample = NULL;
	struct query q;
	int rc;

	if (!mark->nullable || c->pass.scan->mark->nulls == NULLS_INCLUDE)
		return 0;
	condition = xstrfmt("%s IS NULL", mark->sql);
	keyset_sample_begin(c, &q);
	strbuf_addstr(&q.sql, condition);
	rc = keyset_sample_end(c, &q, &sample, err);
	if (!rc && sample)
		rc = keyset_refuse_nulls(c, sample, condition, err);
	free(condition);
	free(sample);
	return rc;
}

/* "(a IS NULL OR b IS NULL)"; false if no key column can be NULL. */
static bool keyset_write_null_key(const struct postgres *c, struct query *q)
{
	const struct source_layout *l = &c->layout;
	bool skip = c->pass.scan->mark->nulls == NULLS_SKIP;
	const char *before = "(";

	for (size_t i = 0; i < l->n_key; i++) {
		const struct source_column *k = l->columns[l->key[i]];
		if (!k->nullable || ((long)l->key[i] == l->mark && skip))
			continue;
		strbuf_addf(&q->sql, "%s%s IS NULL", before, k->sql);
		before = " OR ";
	}
	if (*before == '(')
		return false;
	strbuf_addch(&q->sql, ')');
	return true;
}

/* A row whose key has a NULL would be passed over by the row comparison: look
 * for one where this pass is going to read. */
static int keyset_check_key(struct postgres *c, struct error *err)
{
	char *sample = NULL;
	struct query q;
	int rc = 0;

	keyset_sample_begin(c, &q);
	if (keyset_write_null_key(c, &q)) {
		strbuf_addstr(&q.sql, " AND (");
		postgres_source_keyset_write_reach(c, &q);
		strbuf_addch(&q.sql, ')');
		rc = keyset_sample_end(c, &q, &sample, err);
	}
	postgres_source_query_release(&q);
	if (!rc && sample)
		rc = refuse_null_key(c->pass.scan->source->table, sample, err);
	free(sample);
	return rc;
}

/* Check each new row once. Without a mark, or with a leaf that is read whole,
 * all rows count. Otherwise only the keys of rows that this pass is going to
 * read count. */
static int keyset_check_repeats(struct postgres *c, struct error *err)
{
	const struct scan *scan = c->pass.scan;
	bool marked = scan->mark->nulls == NULLS_SKIP;
	bool some = scan->from->value && !c->pass.parts;
	struct query among;
	int rc;

	postgres_source_query_init(&among, QUERY_PARAMETERS);
	if (some)
		postgres_source_keyset_write_past(c, &among);
	rc = postgres_source_repeats_check(c->pg, &c->layout,
					   scan->source->table,
					   some ? &among : NULL, marked, err);
	postgres_source_query_release(&among);
	return rc;
}

int postgres_source_keyset_check(struct postgres *c, struct error *err)
{
	int rc;

	/* A scan of a range does not read the other rows, so it does not check
	 * them. */
	if (c->pass.scan->range)
		return keyset_check_key(c, err);
	rc = keyset_check_nulls(c, err);
	if (!rc)
		rc = keyset_check_key(c, err);
	return rc || !c->layout.n_key ? rc : keyset_check_repeats(c, err);
}

int postgres_source_keyset_count_tail(struct postgres *c, struct batch *out,
				      struct error *err)
{
	const struct source_column *mark = source_mark(&c->layout);
	struct pg_result *r = NULL;
	char *what = xstrfmt("count(*), max(%s)::text", mark->sql);
	struct query q;
	int rc;

	postgres_source_query_init(&q, QUERY_PARAMETERS);
	postgres_source_query_count(&q, &c->layout, what);
	postgres_source_keyset_write_begin(c, &q);
	rc = pg_query(c->pg, &r, q.sql.data, "1t?", q.n,
		      (const char *const *)q.params, err);
	if (!rc) {
		out->n_held = strtoll(pg_value(r, 0, 0), NULL, 10);
		out->newest_held = xstrdup(pg_value(r, 0, 1));
	}
	pg_result_free(r);
	postgres_source_query_release(&q);
	free(what);
	return rc;
}
