#include <stdlib.h>

#include "connectors/common/paged.h"
#include "connectors/common/trouble.h"
#include "core/base/alloc.h"

static char *check_key_text(const struct source_layout *l,
			    const struct paged_answer *r)
{
	struct strbuf key = STRBUF_INIT;

	for (size_t i = 0; i < l->n_key; i++) {
		const char *text = paged_cell(r, 0, i);
		strbuf_addf(&key, "%s%s=%.64s", i ? ", " : "",
			    l->columns[l->key[i]]->name, text ? text : "NULL");
	}
	if (!l->n_key)
		strbuf_addstr(&key, "a row without a key");
	return strbuf_detach(&key);
}

/* The key of one row that meets the condition written to `q`, or NULL. */
static int check_sample(struct paged_source *s, struct paged_query *q,
			char **out, struct error *err)
{
	struct paged_answer r = { 0 };
	int rc;

	strbuf_addstr(&q->sql, " LIMIT 1");
	rc = paged_ask(s, q, NULL, &r, err);
	*out = !rc && r.n_rows ? check_key_text(&s->layout, &r) : NULL;
	paged_answer_release(&r);
	return rc;
}

static void check_begin(const struct paged_source *s, struct paged_query *q)
{
	struct strbuf key = STRBUF_INIT;

	paged_write_key(&key, s, false);
	paged_query_init(q);
	paged_write_select(q, s, key.data);
	strbuf_release(&key);
}

int paged_count_nulls(struct paged_source *s, int64_t *count, struct error *err)
{
	struct paged_answer r = { 0 };
	struct paged_query q;
	int rc;

	paged_query_init(&q);
	paged_write_select(&q, s, "count(*)");
	strbuf_addf(&q.sql, "%s IS NULL", source_mark(&s->layout)->sql);
	rc = paged_ask(s, &q, "1t", &r, err);
	if (!rc)
		*count = strtoll(paged_cell(&r, 0, 0), NULL, 10);
	paged_answer_release(&r);
	paged_query_release(&q);
	return rc;
}

static int check_refuse_nulls(struct paged_source *s, const char *sample,
			      struct error *err)
{
	int64_t count = 0;
	int rc = paged_count_nulls(s, &count, err);

	return rc ? rc
		  : refuse_null_marks(s->pass.scan,
				      source_mark(&s->layout)->name, count,
				      sample, err);
}

/* Look for one row first: with an index this is quick. Count only when there is
 * something to report. */
static int check_nulls(struct paged_source *s, struct error *err)
{
	const struct source_column *mark = source_mark(&s->layout);
	char *sample = NULL;
	struct paged_query q;
	int rc;

	if (!mark->nullable || s->pass.scan->mark->nulls == NULLS_INCLUDE)
		return 0;
	check_begin(s, &q);
	strbuf_addf(&q.sql, "%s IS NULL", mark->sql);
	rc = check_sample(s, &q, &sample, err);
	paged_query_release(&q);
	if (!rc && sample)
		rc = check_refuse_nulls(s, sample, err);
	free(sample);
	return rc;
}

/* "(a IS NULL OR b IS NULL)"; false if no key column can be NULL. */
static bool check_write_null_key(const struct paged_source *s,
				 struct paged_query *q)
{
	const struct source_layout *l = &s->layout;
	bool skip = s->pass.scan->mark->nulls == NULLS_SKIP;
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

/* The comparison would pass over a row whose key has a NULL. Look for one where
 * this pass is going to read. */
static int check_key(struct paged_source *s, struct error *err)
{
	char *sample = NULL;
	struct paged_query q;
	int rc = 0;

	check_begin(s, &q);
	if (check_write_null_key(s, &q)) {
		strbuf_addstr(&q.sql, " AND ");
		paged_write_reach(s, &q);
		rc = check_sample(s, &q, &sample, err);
	}
	paged_query_release(&q);
	if (!rc && sample)
		rc = refuse_null_key(s->pass.scan->source->table, sample, err);
	free(sample);
	return rc;
}

static void check_write_filled(struct paged_query *q,
			       const struct source_layout *l)
{
	strbuf_addstr(&q->sql, "true");
	for (size_t i = 0; i < l->n_key; i++) {
		if (l->columns[l->key[i]]->nullable)
			strbuf_addf(&q->sql, " AND %s IS NOT NULL",
				    l->columns[l->key[i]]->sql);
	}
}

/* Check each new row once: with a mark, only keys of rows that this pass is
 * going to read count. */
int paged_find_repeat(struct paged_source *s, char **out, struct error *err)
{
	const struct source_layout *l = &s->layout;
	const struct scan *scan = s->pass.scan;
	struct paged_answer r = { 0 };
	struct strbuf key = STRBUF_INIT;
	struct paged_query q;
	int rc;

	paged_write_key(&key, s, true);
	paged_query_init(&q);
	paged_write_select(&q, s, key.data);
	check_write_filled(&q, l);
	if (scan && scan->from->value) {
		strbuf_addf(&q.sql, " AND (%s) IN (", key.data);
		paged_write_select(&q, s, key.data);
		paged_write_reach(s, &q);
		strbuf_addch(&q.sql, ')');
	}
	strbuf_addf(&q.sql, " GROUP BY %s HAVING count(*) > 1 LIMIT 1",
		    key.data);
	rc = paged_ask(s, &q, NULL, &r, err);
	*out = !rc && r.n_rows ? check_key_text(l, &r) : NULL;
	paged_answer_release(&r);
	paged_query_release(&q);
	strbuf_release(&key);
	return rc;
}

int paged_check(struct paged_source *s, struct error *err)
{
	char *key = NULL;
	int rc;

	/* A scan of a range does not read the other rows, so it does not check
	 * them. */
	if (s->pass.scan->range)
		return check_key(s, err);
	rc = check_nulls(s, err);

	if (!rc)
		rc = check_key(s, err);
	if (!rc && s->layout.n_key && !s->layout.key_unique)
		rc = paged_find_repeat(s, &key, err);
	if (!rc && key)
		rc = refuse_repeat(s->pass.scan->source->table, key, err);
	free(key);
	return rc;
}

int paged_count_tail(struct paged_source *s, struct batch *out,
		     struct error *err)
{
	struct paged_answer r = { 0 };
	struct strbuf what = STRBUF_INIT;
	struct paged_query q;
	int rc;

	strbuf_addstr(&what, "count(*), ");
	s->dialect->newest(&what, source_mark(&s->layout));
	paged_query_init(&q);
	paged_write_select(&q, s, what.data);
	paged_write_begin(s, &q);
	rc = paged_ask(s, &q, "1t?", &r, err);
	if (!rc) {
		const char *newest = paged_cell(&r, 0, 1);
		out->n_held = strtoll(paged_cell(&r, 0, 0), NULL, 10);
		if (newest)
			out->newest_held = xstrdup(newest);
	}
	paged_answer_release(&r);
	paged_query_release(&q);
	strbuf_release(&what);
	return rc;
}
