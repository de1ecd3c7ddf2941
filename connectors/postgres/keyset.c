#include <stdlib.h>
#include <string.h>

#include "connectors/common/delivered.h"
#include "connectors/common/trouble.h"
#include "connectors/postgres/durable.h"
#include "connectors/postgres/keyset.h"
#include "connectors/postgres/postgres.h"
#include "connectors/postgres/repeats.h"
#include "connectors/postgres/shape.h"
#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/data/value.h"

/* Has this step anything to read? */
bool postgres_source_keyset_applies(const struct postgres *c,
				    enum keyset_step step)
{
	const struct scan *scan = c->pass.scan;

	if (scan->range)
		return step == KEYSET_DONE ||
		       step == (scan->range->nulls ? KEYSET_NULLS
						   : KEYSET_SETTLED);
	switch (step) {
	case KEYSET_LEAVES:
		return postgres_source_keyset_has_leaf(c);
	case KEYSET_NULLS:
		return source_mark(&c->layout)->nullable &&
		       scan->mark->nulls == NULLS_INCLUDE &&
		       c->layout.n_order > 1;
	case KEYSET_LAG:
		return scan->from->value && postgres_source_keyset_has_lag(c);
	case KEYSET_SETTLED:
		return scan->settled->value != NULL;
	case KEYSET_TAIL:
	case KEYSET_DONE:
		break;
	}
	return true;
}

static void keyset_enter(struct postgres *c, enum keyset_step step)
{
	struct keyset *k = &c->pass.keyset;

	while (!postgres_source_keyset_applies(c, step))
		step++;
	k->step = step;
	strlist_release(&k->last);
}

int postgres_source_keyset_begin(struct postgres *c, struct error *err)
{
	struct pass *p = &c->pass;
	int rc = p->scan->range ? 0
				: postgres_source_keyset_leaves_begin(c, err);

	if (!rc)
		rc = postgres_source_keyset_check(c, err);
	if (rc)
		return rc;
	if (p->scan->range) {
		keyset_enter(c, KEYSET_LEAVES);
		return 0;
	}
	/* The pending part that settle() found stays until a later run has
	 * settled it. */
	json_decref(p->mark.at.pending);
	p->mark.at.pending = p->scan->settled->pending
				     ? json_deep_copy(p->scan->settled->pending)
				     : NULL;
	delivered_begin(&p->mark.at, p->scan->from);
	keyset_enter(c, KEYSET_LEAVES);
	postgres_source_keyset_leaves_resume(c);
	postgres_source_keyset_leaves_note(c);
	return 0;
}

/* So many rows that the byte bound is met about when the page ends. */
static size_t keyset_page_rows(const struct keyset *k, const struct batch *b)
{
	size_t rows = b->max_rows ? b->max_rows : 1000000;
	double by_bytes;

	if (!b->max_bytes || k->row_bytes <= 0)
		return rows;
	by_bytes = (double)b->max_bytes / k->row_bytes * 1.125 + 1;
	return by_bytes < (double)rows ? (size_t)by_bytes : rows;
}

/* A key that no index vouches for may repeat: then rows that tie with the last
 * one belong to the page. */
void postgres_source_keyset_write_page(struct postgres *c, struct query *q,
				       size_t rows)
{
	struct keyset *k = &c->pass.keyset;
	size_t first = k->step == KEYSET_NULLS ? 1 : 0;
	const struct leaf *leaf = postgres_source_keyset_leaf(c);
	char *limit = xstrfmt("%zu", rows);

	postgres_source_query_select(
		q, &c->layout, leaf && leaf->direct ? leaf->sql : NULL, "");
	if (leaf && !leaf->direct)
		strbuf_addf(&q->sql, "%s.tableoid = %u AND ",
			    c->layout.table.alias, leaf->oid);
	/* Only one lower bound: of two, the server may start at the wrong
	 * one and read the whole range again for each page. */
	if (k->last.n)
		postgres_source_query_compare(q, &c->layout, first, ">",
					      &k->last);
	else
		postgres_source_keyset_write_begin(c, q);
	postgres_source_keyset_write_end(c, q);
	postgres_source_query_order(q, &c->layout, first);
	strbuf_addstr(&q->sql, " FETCH FIRST (");
	postgres_source_query_value(q, "pg_catalog.int8", limit);
	strbuf_addf(&q->sql, ") ROWS %s",
		    c->layout.key_unique ? "ONLY" : "WITH TIES");
	free(limit);
}

/* One page is one statement and so one snapshot. */
static int keyset_open_page(struct postgres *c, const struct batch *b,
			    struct error *err)
{
	struct keyset *k = &c->pass.keyset;
	const struct leaf *leaf = postgres_source_keyset_leaf(c);
	struct query q;
	int rc = postgres_source_pause_check_ties(
		c, k->step == KEYSET_NULLS ? 1 : 0, err);

	if (rc)
		return rc;
	postgres_source_query_init(&q, QUERY_STREAM);
	k->limit = keyset_page_rows(k, b);
	k->read = 0;
	postgres_source_keyset_write_page(c, &q, k->limit);
	rc = postgres_source_shape_stream(c, leaf && leaf->direct ? leaf : NULL,
					  &q, 0, err);
	k->streaming = !rc;
	postgres_source_query_release(&q);
	if (!rc && !c->pass.open)
		rc = failpoint("snapshot_opened", err);
	c->pass.open = true;
	return rc;
}

/* Remember where the last row lies; the next page begins behind it. */
static void keyset_remember(struct postgres *c, const struct batch *b)
{
	struct keyset *k = &c->pass.keyset;
	const struct source_layout *l = &c->layout;
	size_t first = k->step == KEYSET_NULLS ? 1 : 0;

	strlist_release(&k->last);
	/* From the mark on even where it is not compared: same places. */
	for (size_t i = 0; i < l->n_order; i++) {
		char *text = i < first ? xstrdup("")
				       : running_mark_text(&c->pass.mark, b,
							   b->n_rows - 1,
							   l->order[i]);
		strlist_add(&k->last, text);
		free(text);
	}
}

/* The page is over: the next one, or the next leaf or step if it was not
 * full. */
static int keyset_close_page(struct postgres *c, struct error *err)
{
	struct keyset *k = &c->pass.keyset;

	bool over = k->read < k->limit;

	k->streaming = false;
	if (over && k->step == KEYSET_LEAVES)
		postgres_source_keyset_leaves_next(c);
	if (over && !postgres_source_keyset_leaf(c))
		keyset_enter(c, k->step + 1);
	return failpoint("page_end", err);
}

/* Read rows of the page under way until the batch is full or it ends. */
static int keyset_fill(struct postgres *c, struct batch *b, struct error *err)
{
	struct keyset *k = &c->pass.keyset;
	int rc = 0;

	while (!rc && !batch_is_full(b)) {
		rc = pg_stream_next(c->pg, err);
		if (rc < 0)
			return postgres_source_rows_stream_failed(c, b, err);
		if (!rc)
			break;
		rc = postgres_source_rows_append(c, b, err);
		if (!rc && !c->layout.key_unique)
			rc = refuse_repeat_row(c->pass.scan->source->table, b,
					       b->n_rows - 1, err);
		k->read++;
		if (!rc)
			rc = postgres_source_rows_failpoints(c, k->read, err);
	}
	if (!rc && b->n_rows)
		keyset_remember(c, b);
	/* Full exactly at the page's end: let the statement end too, so that
	 * no transaction waits while the batch is loaded. */
	if (!rc && batch_is_full(b) && c->layout.key_unique &&
	    k->read >= k->limit)
		rc = pg_stream_next(c->pg, err);
	else if (!rc && batch_is_full(b))
		return 0;
	return rc ? rc : keyset_close_page(c, err);
}

/* The mark as a number, for progress alone. */
static double keyset_number(const char *text, uint32_t oid)
{
	int64_t us = 0;
	int32_t days = 0;

	if (oid == WIRE_DATE)
		return value_parse_date(text, &days) ? days : 0;
	if (oid == WIRE_TIMESTAMP || oid == WIRE_TIMESTAMPTZ)
		return value_parse_timestamp(text, &us) ? (double)us : 0;
	return strtod(text, NULL);
}

/* `step`: of the rows just read. */
static double keyset_progress(struct postgres *c, enum keyset_step step)
{
	struct keyset *k = &c->pass.keyset;
	const struct scan *scan = c->pass.scan;
	uint32_t oid = postgres_source_wire(source_mark(&c->layout))->wire->oid;
	double now, end;

	if (scan->range)
		return -1;
	if (!scan->from->value && scan->schema->row_estimate > 0) {
		now = (double)c->pass.rows;
		end = (double)scan->schema->row_estimate;
		return now < end ? now / end : 1;
	}
	if (step != KEYSET_SETTLED)
		return step == KEYSET_TAIL ? 1 : -1;
	now = keyset_number(c->pass.mark.at.value, oid);
	end = keyset_number(scan->settled->value, oid);
	if (!k->measured)
		k->first_mark = now;
	k->measured = true;
	return end > k->first_mark
		       ? (now - k->first_mark) / (end - k->first_mark)
		       : -1;
}

/* Only settled rows move the mark. */
static int keyset_finish(struct postgres *c, struct batch *b,
			 enum keyset_step step, struct error *err)
{
	struct keyset *k = &c->pass.keyset;

	if (b->n_rows && step == KEYSET_SETTLED) {
		running_mark_advance(&c->pass.mark, b, b->n_rows - 1,
				     (size_t)c->layout.mark);
		delivered_settle(&c->pass.mark.at);
	}
	if (step == KEYSET_TAIL && b->n_rows) {
		char *last = running_mark_text(&c->pass.mark, b, b->n_rows - 1,
					       (size_t)c->layout.mark);
		delivered_tail(&c->pass.mark.at, last);
		free(last);
	}
	if (step == KEYSET_LEAVES)
		postgres_source_keyset_leaves_note(c);
	if (b->n_rows) {
		double bytes = (double)batch_bytes(b) / (double)b->n_rows;
		k->row_bytes = k->row_bytes > 0 ? (3 * k->row_bytes + bytes) / 4
						: bytes;
		b->progress = keyset_progress(c, step);
	}
	if (step == KEYSET_TAIL)
		b->n_tail = b->n_rows;
	return postgres_source_durable_hand_over(c, b, k->streaming, err);
}

int postgres_source_keyset_next(struct postgres *c, struct batch *out,
				struct error *err)
{
	struct keyset *k = &c->pass.keyset;
	enum keyset_step step = k->step;
	int rc = 0;

	while (!rc && !out->n_rows && k->step != KEYSET_DONE) {
		step = k->step;
		if (step == KEYSET_TAIL &&
		    c->pass.scan->mark->tail == TAIL_HOLD) {
			rc = postgres_source_keyset_count_tail(c, out, err);
			keyset_enter(c, KEYSET_DONE);
			break;
		}
		if (!k->streaming)
			rc = keyset_open_page(c, out, err);
		if (!rc)
			rc = keyset_fill(c, out, err);
	}
	return rc ? rc : keyset_finish(c, out, step, err);
}
