#include <stdlib.h>

#include "clients/pg_explain.h"
#include "connectors/common/delivered.h"
#include "connectors/postgres/keyset.h"
#include "connectors/postgres/postgres.h"
#include "connectors/postgres/query.h"
#include "connectors/postgres/shape.h"
#include "core/base/alloc.h"
#include "core/base/failpoint.h"

/* Keys of one statement. */
#define LOOKUP_KEYS 1000

static size_t lookup_left(const struct postgres *c)
{
	if (!c->pass.scan->keys)
		return c->pass.step != PAGED_DONE;
	return c->pass.scan->keys->n / c->layout.n_key - c->pass.asked;
}

/* Value `i` of `n` keys from `first` on, as an array's text. */
static char *lookup_array(const struct postgres *c, size_t first, size_t n,
			  size_t i)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addch(&sb, '{');
	for (size_t key = first; key < first + n; key++) {
		const char *text =
			c->pass.scan->keys->items[key * c->layout.n_key + i];

		strbuf_addstr(&sb, key > first ? ",\"" : "\"");
		for (; *text; text++) {
			if (*text == '"' || *text == '\\')
				strbuf_addch(&sb, '\\');
			strbuf_addch(&sb, *text);
		}
		strbuf_addch(&sb, '"');
	}
	strbuf_addch(&sb, '}');
	return strbuf_detach(&sb);
}

/* (a, b) IN (SELECT k1::type, k2::type FROM ROWS FROM (unnest(...),
 * unnest(...)) k (k1, k2)): of texts, as there are no arrays of arrays. */
static void lookup_write_keys(const struct postgres *c, struct query *q,
			      size_t n)
{
	const struct source_layout *l = &c->layout;
	struct strbuf names = STRBUF_INIT;

	strbuf_addch(&q->sql, '(');
	for (size_t i = 0; i < l->n_key; i++)
		strbuf_addf(&q->sql, "%s%s", i ? ", " : "",
			    l->columns[l->key[i]]->sql);
	strbuf_addstr(&q->sql, ") IN (SELECT ");
	for (size_t i = 0; i < l->n_key; i++) {
		strbuf_addf(&q->sql, "%sk%zu::%s", i ? ", " : "", i,
			    l->columns[l->key[i]]->cast);
		strbuf_addf(&names, "%sk%zu", i ? ", " : "", i);
	}
	strbuf_addstr(&q->sql, " FROM ROWS FROM (");
	for (size_t i = 0; i < l->n_key; i++) {
		char *array = lookup_array(c, c->pass.asked, n, i);

		strbuf_addstr(&q->sql, i ? ", pg_catalog.unnest("
					 : "pg_catalog.unnest(");
		postgres_source_query_value(q, "pg_catalog.text[]", array);
		strbuf_addch(&q->sql, ')');
		free(array);
	}
	strbuf_addf(&q->sql, ") AS k (%s))", names.data);
	strbuf_release(&names);
}

/* In the mark's order, so that the last row's is the highest. */
static void lookup_write_mark(const struct postgres *c, struct query *q)
{
	const struct source_column *mark = source_mark(&c->layout);

	if (!mark)
		return;
	if (c->pass.scan->mark->nulls != NULLS_INCLUDE)
		strbuf_addf(&q->sql, " AND %s IS NOT NULL", mark->sql);
	strbuf_addf(&q->sql, " ORDER BY %s NULLS FIRST", mark->sql);
}

/* Write the query for the next keys, the range, or everything. Returns the
 * number of keys. */
static size_t lookup_write(const struct postgres *c, const struct batch *b,
			   struct query *q)
{
	size_t n = lookup_left(c);

	postgres_source_query_select(q, &c->layout, NULL, "");
	if (!c->pass.scan->keys) {
		if (c->pass.scan->range)
			postgres_source_keyset_write_range(c, q,
							   c->pass.scan->range);
		else
			strbuf_addstr(&q->sql, "true");
		return 0;
	}
	if (n > LOOKUP_KEYS)
		n = LOOKUP_KEYS;
	if (b->max_rows && n > b->max_rows)
		n = b->max_rows;
	lookup_write_keys(c, q, n);
	lookup_write_mark(c, q);
	return n;
}

/* If a table seems small, the planner compares it with all the keys, row for
 * row. A table that only seems small is better hashed, which costs one
 * reading. */
static int lookup_hash(struct postgres *c, bool on, struct error *err)
{
	if (c->hashes == on)
		return 0;
	c->hashes = on;
	return pg_exec(c->pg,
		       on ? "SET enable_nestloop = off"
			  : "RESET enable_nestloop",
		       err);
}

static int lookup_begin(struct postgres *c, struct error *err)
{
	const struct source_table *t = &c->layout.table;
	size_t n = lookup_left(c);
	bool small = false;
	char *from;
	int rc;

	if (c->pass.asked || !c->pass.scan->keys)
		return 0;
	from = xstrfmt("%s AS %s", t->sql, t->alias);
	rc = pg_explain_seems_small(
		c->pg, from, n < LOOKUP_KEYS ? n : LOOKUP_KEYS, &small, err);
	free(from);
	return rc ? rc : lookup_hash(c, small, err);
}

static int lookup_open(struct postgres *c, const struct batch *b,
		       struct error *err)
{
	struct query q;
	size_t n;
	int rc = lookup_begin(c, err);

	if (rc)
		return rc;
	postgres_source_query_init(&q, QUERY_STREAM);
	n = lookup_write(c, b, &q);
	rc = postgres_source_shape_stream(c, NULL, &q, 0, err);
	postgres_source_query_release(&q);
	if (rc)
		return rc;
	c->pass.asked += n;
	c->pass.step = PAGED_DONE;
	c->pass.streaming = true;
	return 0;
}

static int lookup_fill(struct postgres *c, struct batch *b, struct error *err)
{
	while (!batch_is_full(b)) {
		int rc = pg_stream_next(c->pg, err);

		if (rc < 0)
			return postgres_source_rows_stream_failed(c, b, err);
		c->pass.streaming = rc > 0;
		if (!rc && !lookup_left(c))
			rc = lookup_hash(c, false, err);
		if (rc < 0)
			return rc;
		if (!rc)
			return failpoint("page_end", err);
		rc = postgres_source_rows_append(c, b, err);
		if (rc)
			return rc;
	}
	return 0;
}

int postgres_source_lookup_next(struct postgres *c, struct batch *out,
				struct error *err)
{
	const struct paged_pass *p = &c->pass;
	int rc = 0;

	while (!rc && !out->n_rows && (p->streaming || lookup_left(c))) {
		if (!p->streaming)
			rc = lookup_open(c, out, err);
		if (!rc)
			rc = lookup_fill(c, out, err);
	}
	if (rc)
		return rc;
	if (c->pass.scan->keys)
		running_mark_ahead(&c->pass.mark, out, c->layout.mark);
	running_mark_hand_over(&c->pass.mark, out);
	return 0;
}
