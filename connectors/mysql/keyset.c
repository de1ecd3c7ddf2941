#include <stdlib.h>
#include <string.h>

#include "connectors/common/delivered.h"
#include "connectors/mysql/looks.h"
#include "connectors/mysql/source.h"
#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/data/value.h"

/* Has this step anything to read? */
static bool keyset_applies(const struct mysrc *c, enum mysrc_step step)
{
	const struct scan *scan = c->pass.scan;

	switch (step) {
	case STEP_NULLS:
		return mysrc_mark(&c->layout)->nullable &&
		       scan->mark->nulls == NULLS_INCLUDE &&
		       c->layout.n_order > 1;
	case STEP_LAG:
		return scan->from->value && mysrc_has_lag(c);
	case STEP_SETTLED:
		return scan->settled->value != NULL;
	case STEP_TAIL:
	case STEP_DONE:
		break;
	}
	return true;
}

static void keyset_enter(struct mysrc *c, enum mysrc_step step)
{
	while (!keyset_applies(c, step))
		step++;
	c->pass.step = step;
	strlist_release(&c->pass.last);
}

int mysrc_keyset_begin(struct mysrc *c, struct error *err)
{
	struct mysrc_pass *p = &c->pass;
	const struct mysrc_column *mark = mysrc_mark(&c->layout);
	int rc;

	if (p->scan->schema->n_columns != c->layout.n_columns)
		return error_set(err, ERROR_BUG,
				 "scan: the schema is not that of describe");
	if (c->layout.mark >= (long)c->layout.n_columns)
		running_mark_hide(&p->mark, mark->type.kind);
	rc = mysrc_check(c, err);
	if (rc)
		return rc;
	/* What settle() found is pending until a later run has settled it. */
	json_decref(p->mark.at.pending);
	p->mark.at.pending = p->scan->settled->pending
				     ? json_deep_copy(p->scan->settled->pending)
				     : NULL;
	delivered_begin(&p->mark.at, p->scan->from);
	keyset_enter(c, STEP_NULLS);
	return 0;
}

/* So many rows that the byte bound is met about when the page ends. */
static size_t keyset_page_rows(const struct mysrc_pass *p,
			       const struct batch *b)
{
	size_t rows = b->max_rows ? b->max_rows : 1000000;
	double by_bytes;

	if (!b->max_bytes || p->row_bytes <= 0)
		return rows;
	by_bytes = (double)b->max_bytes / p->row_bytes * 1.125 + 1;
	return by_bytes < (double)rows ? (size_t)by_bytes : rows;
}

/* One page is one statement and so one snapshot; the server keeps neither
 * locks nor old versions for us while a batch is loaded. */
static int keyset_open_page(struct mysrc *c, const struct batch *b,
			    struct error *err)
{
	struct mysrc_pass *p = &c->pass;
	const struct mysrc_layout *l = &c->layout;
	size_t first = p->step == STEP_NULLS ? 1 : 0;
	struct mysrc_query q;
	int rc;

	mysrc_query_init(&q);
	mysrc_query_select(&q, l, NULL);
	if (p->last.n)
		mysrc_query_beyond(&q, l, first, true, p->last.items);
	else
		mysrc_write_begin(c, &q);
	mysrc_write_end(c, &q);
	mysrc_query_order(&q, l, first);
	p->limit = keyset_page_rows(p, b);
	p->read = 0;
	strbuf_addf(&q.sql, " LIMIT %zu", p->limit);
	rc = mydb_stream_begin(
		c->db, q.sql.data, q.n, (const char *const *)q.params, l->forms,
		l->n_columns + (l->mark == (long)l->n_columns), err);
	p->streaming = !rc;
	mysrc_query_release(&q);
	if (rc)
		error_prefix(err, "table %s", p->scan->source->table);
	if (!rc && !p->open)
		rc = failpoint("snapshot_opened", err);
	p->open = true;
	return rc;
}

static bool keyset_same_key(const struct mysrc_layout *l, const struct batch *b,
			    size_t row)
{
	for (size_t i = 0; i < l->n_key; i++) {
		const struct vector *v = &b->vectors[l->key[i]];
		size_t n = v->width, m = v->width;
		const uint8_t *x = v->data + row * n;
		const uint8_t *y = v->data + (row - 1) * m;
		if (!v->width) {
			x = vector_bytes(v, row, &n);
			y = vector_bytes(v, row - 1, &m);
		}
		if (n != m || memcmp(x, y, n) != 0)
			return false;
	}
	return true;
}

static int keyset_check_repeat(struct mysrc *c, const struct batch *b,
			       struct error *err)
{
	struct strbuf key = STRBUF_INIT;

	if (c->layout.key_unique || b->n_rows < 2 ||
	    !keyset_same_key(&c->layout, b, b->n_rows - 1))
		return 0;
	value_print_key(&key, b, b->n_rows - 1);
	mysrc_refuse_repeat(c->pass.scan->source->table, key.data, err);
	strbuf_release(&key);
	return -ERROR_SCHEMA;
}

/* Remember where the last row lies; the next page begins behind it. One that
 * ends where it began would be read for ever: the server compares otherwise
 * than it orders. */
static int keyset_remember(struct mysrc *c, const struct batch *b,
			   struct error *err)
{
	struct mysrc_pass *p = &c->pass;
	const struct mysrc_layout *l = &c->layout;
	size_t first = p->step == STEP_NULLS ? 1 : 0;
	struct strlist last = STRLIST_INIT;
	bool moved = p->last.n != l->n_order;

	/* From the mark on even where it is not compared: same places. */
	for (size_t i = 0; i < l->n_order; i++) {
		char *text = i < first ? xstrdup("")
				       : running_mark_text(&p->mark, b,
							   b->n_rows - 1,
							   l->order[i]);
		strlist_add(&last, text);
		moved |= i < p->last.n && strcmp(text, p->last.items[i]) != 0;
		free(text);
	}
	strlist_release(&p->last);
	p->last = last;
	return moved ? 0
		     : error_set(err, ERROR_BUG,
				 "the pages of %s do not advance",
				 p->scan->source->table);
}

static int keyset_close_page(struct mysrc *c, struct error *err)
{
	struct mysrc_pass *p = &c->pass;

	p->streaming = false;
	if (p->read < p->limit)
		keyset_enter(c, p->step + 1);
	return failpoint("page_end", err);
}

static int keyset_failpoints(struct mysrc *c, struct error *err)
{
	int rc = 0;

	if (c->pass.rows == 1)
		rc = failpoint("first_row", err);
	if (!rc && c->pass.read == 2)
		rc = failpoint("mid_page", err);
	return rc;
}

/* Read rows of the page under way until the batch is full or it ends. */
static int keyset_fill(struct mysrc *c, struct batch *b, struct error *err)
{
	struct mysrc_pass *p = &c->pass;
	int rc = 0;

	while (!rc && !batch_is_full(b)) {
		rc = mydb_stream_next(c->db, err);
		if (rc < 0)
			error_prefix(err, "table %s, after row %lld of a page",
				     p->scan->source->table,
				     (long long)p->read);
		if (rc <= 0)
			break;
		rc = mysrc_append(c, b, err);
		if (!rc)
			rc = keyset_check_repeat(c, b, err);
		p->read++;
		if (!rc)
			rc = keyset_failpoints(c, err);
	}
	if (!rc && b->n_rows)
		rc = keyset_remember(c, b, err);
	/* Full exactly at the page's end: let the statement end too. */
	if (!rc && batch_is_full(b) && p->read >= p->limit)
		rc = mydb_stream_next(c->db, err);
	else if (!rc && batch_is_full(b))
		return 0;
	return rc ? rc : keyset_close_page(c, err);
}

/* The mark as a number, for progress alone. */
static double keyset_number(const char *text, enum type_kind kind)
{
	int64_t us = 0;
	int32_t days = 0;

	if (kind == TYPE_DATE)
		return value_parse_date(text, &days) ? days : 0;
	if (kind == TYPE_TIMESTAMP || kind == TYPE_TIMESTAMPTZ)
		return value_parse_timestamp(text, &us) ? (double)us : 0;
	return strtod(text, NULL);
}

/* `step`: of the rows just read. */
static double keyset_progress(struct mysrc *c, enum mysrc_step step)
{
	struct mysrc_pass *p = &c->pass;
	const struct scan *scan = p->scan;
	enum type_kind kind = mysrc_mark(&c->layout)->type.kind;
	double now, end;

	if (!scan->from->value && scan->schema->row_estimate > 0) {
		now = (double)p->rows;
		end = (double)scan->schema->row_estimate;
		return now < end ? now / end : 1;
	}
	if (step != STEP_SETTLED)
		return step == STEP_TAIL ? 1 : -1;
	now = keyset_number(p->mark.at.value, kind);
	end = keyset_number(scan->settled->value, kind);
	if (!p->measured)
		p->first_mark = now;
	p->measured = true;
	return end > p->first_mark
		       ? (now - p->first_mark) / (end - p->first_mark)
		       : -1;
}

/* Only settled rows move the mark. */
static void keyset_finish(struct mysrc *c, struct batch *b,
			  enum mysrc_step step)
{
	struct mysrc_pass *p = &c->pass;
	size_t last = b->n_rows - 1, mark = (size_t)c->layout.mark;

	if (b->n_rows && step == STEP_SETTLED) {
		running_mark_advance(&p->mark, b, last, mark);
		delivered_settle(&p->mark.at);
	}
	if (b->n_rows && step == STEP_TAIL) {
		char *text = running_mark_text(&p->mark, b, last, mark);
		delivered_tail(&p->mark.at, text);
		free(text);
		b->n_tail = b->n_rows;
	}
	/* A run that reads nothing leaves the mark as it is. */
	if (b->n_rows && c->looked)
		mysrc_looks_store(c->looked, &p->mark.at);
	if (b->n_rows) {
		double bytes = (double)batch_bytes(b) / (double)b->n_rows;
		p->row_bytes = p->row_bytes > 0 ? (3 * p->row_bytes + bytes) / 4
						: bytes;
		b->progress = keyset_progress(c, step);
	}
	running_mark_hand_over(&p->mark, b);
}

int mysrc_keyset_next(struct mysrc *c, struct batch *out, struct error *err)
{
	struct mysrc_pass *p = &c->pass;
	enum mysrc_step step = p->step;
	int rc = 0;

	while (!rc && !out->n_rows && p->step != STEP_DONE) {
		step = p->step;
		if (step == STEP_TAIL && p->scan->mark->tail == TAIL_HOLD) {
			rc = mysrc_count_tail(c, out, err);
			keyset_enter(c, STEP_DONE);
			break;
		}
		if (!p->streaming)
			rc = keyset_open_page(c, out, err);
		if (!rc)
			rc = keyset_fill(c, out, err);
	}
	if (!rc)
		keyset_finish(c, out, step);
	return rc;
}
