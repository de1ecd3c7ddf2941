#include <inttypes.h>
#include <stdlib.h>

#include "connectors/mysql/source.h"
#include "core/base/alloc.h"
#include "core/base/log.h"

static int check_run(struct mysrc *c, struct mysrc_query *q,
		     struct mydb_result **out, struct error *err)
{
	return mydb_query(c->db, out, q->sql.data, q->n,
			  (const char *const *)q->params, err);
}

/* The key's columns, as text. */
static char *check_key_columns(const struct mysrc_layout *l, bool ordered)
{
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < l->n_key; i++) {
		const struct mysrc_column *k = l->columns[l->key[i]];
		strbuf_addstr(&sb, i ? ", " : "");
		if (ordered)
			mysrc_query_ordered(&sb, l, k);
		else
			strbuf_addstr(&sb, k->sql);
	}
	return strbuf_detach(&sb);
}

static char *check_key_text(const struct mysrc_layout *l,
			    const struct mydb_result *r)
{
	struct strbuf key = STRBUF_INIT;

	for (size_t i = 0; i < l->n_key; i++) {
		const char *text = mydb_value(r, 0, i);
		strbuf_addf(&key, "%s%s=%.64s", i ? ", " : "",
			    l->columns[l->key[i]]->name, text ? text : "NULL");
	}
	return strbuf_detach(&key);
}

/* The key of one row that meets the condition written to `q`, or NULL. */
static int check_sample(struct mysrc *c, struct mysrc_query *q, char **out,
			struct error *err)
{
	struct mydb_result *r = NULL;
	int rc;

	strbuf_addstr(&q->sql, " LIMIT 1");
	rc = check_run(c, q, &r, err);
	*out = !rc && mydb_rows(r) ? check_key_text(&c->layout, r) : NULL;
	mydb_result_free(r);
	return rc;
}

static void check_begin(const struct mysrc *c, struct mysrc_query *q)
{
	char *key = check_key_columns(&c->layout, false);

	mysrc_query_init(q);
	mysrc_query_select(q, &c->layout, key);
	free(key);
}

int mysrc_count_nulls(struct mysrc *c, int64_t *count, struct error *err)
{
	struct mydb_result *r = NULL;
	struct mysrc_query q;
	int rc;

	mysrc_query_init(&q);
	mysrc_query_select(&q, &c->layout, "count(*)");
	strbuf_addf(&q.sql, "%s IS NULL", mysrc_mark(&c->layout)->sql);
	rc = check_run(c, &q, &r, err);
	if (!rc)
		*count = strtoll(mydb_value(r, 0, 0), NULL, 10);
	mydb_result_free(r);
	mysrc_query_release(&q);
	return rc;
}

static int check_refuse_nulls(struct mysrc *c, const char *sample,
			      struct error *err)
{
	const struct mysrc_column *mark = mysrc_mark(&c->layout);
	const struct scan *scan = c->pass.scan;
	int64_t count = 0;
	int rc = mysrc_count_nulls(c, &count, err);

	if (rc)
		return rc;
	if (scan->mark->nulls == NULLS_ERROR)
		return error_set(err, ERROR_DATA,
				 "%" PRId64 " rows of %s have NULL in the mark "
				 "column \"%s\" (one of them: %s); "
				 "watermark.nulls: include reads such rows on "
				 "every run, skip leaves them out",
				 count, scan->source->table, mark->name,
				 sample);
	log_warn("%" PRId64 " rows of %s have NULL in \"%s\" and are left out "
		 "(watermark.nulls: skip)",
		 count, scan->source->table, mark->name);
	return 0;
}

/* One row first: with an index that is known at once; the count only when
 * there is something to report. */
static int check_nulls(struct mysrc *c, struct error *err)
{
	const struct mysrc_column *mark = mysrc_mark(&c->layout);
	char *sample = NULL;
	struct mysrc_query q;
	int rc;

	if (!mark->nullable || c->pass.scan->mark->nulls == NULLS_INCLUDE)
		return 0;
	check_begin(c, &q);
	strbuf_addf(&q.sql, "%s IS NULL", mark->sql);
	rc = check_sample(c, &q, &sample, err);
	mysrc_query_release(&q);
	if (!rc && sample)
		rc = check_refuse_nulls(c, sample, err);
	free(sample);
	return rc;
}

/* "(a IS NULL OR b IS NULL)"; false if no key column can be NULL. */
static bool check_write_null_key(const struct mysrc *c, struct mysrc_query *q)
{
	const struct mysrc_layout *l = &c->layout;
	bool skip = c->pass.scan->mark->nulls == NULLS_SKIP;
	const char *before = "(";

	for (size_t i = 0; i < l->n_key; i++) {
		const struct mysrc_column *k = l->columns[l->key[i]];
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

/* A row whose key has a NULL would be passed over by the comparison: look for
 * one where this pass is going to read. */
static int check_key(struct mysrc *c, struct error *err)
{
	char *sample = NULL;
	struct mysrc_query q;
	int rc = 0;

	check_begin(c, &q);
	if (check_write_null_key(c, &q)) {
		strbuf_addstr(&q.sql, " AND ");
		mysrc_write_reach(c, &q);
		rc = check_sample(c, &q, &sample, err);
	}
	mysrc_query_release(&q);
	if (!rc && sample)
		rc = error_set(err, ERROR_DATA,
			       "NULL in a key column of %s (%s): choose key "
			       "columns that are always filled, or leave such "
			       "rows out with `where`",
			       c->pass.scan->source->table, sample);
	free(sample);
	return rc;
}

static void check_write_filled(struct mysrc_query *q,
			       const struct mysrc_layout *l)
{
	strbuf_addstr(&q->sql, "true");
	for (size_t i = 0; i < l->n_key; i++) {
		if (l->columns[l->key[i]]->nullable)
			strbuf_addf(&q->sql, " AND %s IS NOT NULL",
				    l->columns[l->key[i]]->sql);
	}
}

/* Once per row that is new: only keys of rows that this pass is going to read
 * count, if it has a mark. */
int mysrc_find_repeat(struct mysrc *c, char **out, struct error *err)
{
	const struct mysrc_layout *l = &c->layout;
	const struct scan *scan = c->pass.scan;
	struct mydb_result *r = NULL;
	char *key = check_key_columns(l, true);
	struct mysrc_query q;
	int rc;

	mysrc_query_init(&q);
	mysrc_query_select(&q, l, key);
	check_write_filled(&q, l);
	if (scan && scan->from->value) {
		strbuf_addf(&q.sql, " AND (%s) IN (", key);
		mysrc_query_select(&q, l, key);
		mysrc_write_reach(c, &q);
		strbuf_addch(&q.sql, ')');
	}
	strbuf_addf(&q.sql, " GROUP BY %s HAVING count(*) > 1 LIMIT 1", key);
	rc = check_run(c, &q, &r, err);
	*out = !rc && mydb_rows(r) ? check_key_text(l, r) : NULL;
	mydb_result_free(r);
	mysrc_query_release(&q);
	free(key);
	return rc;
}

int mysrc_refuse_repeat(const char *table, const char *key, struct error *err)
{
	return error_set(err, ERROR_SCHEMA,
			 "the key of %s repeats: more than one row has %s; "
			 "name columns in `key` that tell the rows apart, or "
			 "leave rows out with `where`",
			 table, key);
}

int mysrc_check(struct mysrc *c, struct error *err)
{
	char *key = NULL;
	int rc = check_nulls(c, err);

	if (!rc)
		rc = check_key(c, err);
	if (!rc && !c->layout.key_unique)
		rc = mysrc_find_repeat(c, &key, err);
	if (!rc && key)
		rc = mysrc_refuse_repeat(c->pass.scan->source->table, key, err);
	free(key);
	return rc;
}

int mysrc_count_tail(struct mysrc *c, struct batch *out, struct error *err)
{
	const struct mysrc_column *mark = mysrc_mark(&c->layout);
	struct mydb_result *r = NULL;
	char *what = xstrfmt("count(*), max(%s)", mark->sql);
	struct mysrc_query q;
	int rc;

	mysrc_query_init(&q);
	mysrc_query_select(&q, &c->layout, what);
	mysrc_write_begin(c, &q);
	rc = check_run(c, &q, &r, err);
	if (!rc) {
		const char *newest = mydb_value(r, 0, 1);
		out->n_held = strtoll(mydb_value(r, 0, 0), NULL, 10);
		if (newest)
			out->newest_held = xstrfmt(
				"%s%s", newest,
				mark->type.kind == TYPE_TIMESTAMPTZ ? "+00"
								    : "");
	}
	mydb_result_free(r);
	mysrc_query_release(&q);
	free(what);
	return rc;
}
