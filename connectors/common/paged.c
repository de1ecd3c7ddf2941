#include "connectors/common/paged.h"

#include <stdlib.h>
#include <string.h>

#include "connectors/common/delivered.h"
#include "connectors/common/trouble.h"
#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/data/value.h"

void paged_init(struct paged_source *s, const struct connector_ops *ops,
		const struct paged_dialect *dialect)
{
	s->base.ops = ops;
	s->dialect = dialect;
	s->layout.mark = -1;
}

void paged_end_pass(struct paged_source *s)
{
	s->dialect->page_close(s);
	running_mark_release(&s->pass.mark);
	strlist_release(&s->pass.last);
	strlist_release(&s->pass.reached);
	memset(&s->pass, 0, sizeof(s->pass));
}

void paged_release(struct paged_source *s)
{
	paged_end_pass(s);
	source_layout_release(&s->layout);
	free(s->mark_column);
	s->mark_column = NULL;
}

int paged_layout_for(struct paged_source *s, const struct source_spec *source,
		     const struct watermark_spec *mark, struct error *err)
{
	const char *column = mark && mark->column ? mark->column : "";
	/* No paged source has strategy xmin, so here it stands for "no
	 * mark". */
	enum strategy strategy = mark ? mark->strategy : STRATEGY_XMIN;
	int rc;

	if (s->described == source && s->strategy == strategy &&
	    !strcmp(s->mark_column ? s->mark_column : "", column))
		return 0;
	source_layout_release(&s->layout);
	s->described = NULL;
	rc = s->dialect->look(s, source, mark, &s->layout, err);
	if (!rc)
		rc = source_layout_choose(&s->layout, &s->dialect->rules,
					  source, mark, err);
	if (rc) {
		source_layout_release(&s->layout);
		return rc;
	}
	free(s->mark_column);
	s->mark_column = xstrdup(column);
	s->strategy = strategy;
	s->described = source;
	return 0;
}

int paged_describe(struct connector *base, const struct source_spec *source,
		   const struct watermark_spec *mark, struct schema *out,
		   struct error *err)
{
	struct paged_source *s = (struct paged_source *)base;
	int rc;

	s->described = NULL;
	paged_end_pass(s);
	rc = paged_layout_for(s, source, mark, err);
	if (!rc)
		source_layout_to_schema(&s->layout, &s->dialect->rules,
					source->table, out);
	return rc;
}

/* Has this step anything to read? */
bool paged_applies(const struct paged_source *s, enum paged_step step)
{
	const struct scan *scan = s->pass.scan;

	if (scan->range)
		return step == PAGED_DONE ||
		       step == (scan->range->nulls ? PAGED_NULLS
						   : PAGED_SETTLED);
	switch (step) {
	case PAGED_NULLS:
		return source_mark(&s->layout)->nullable &&
		       scan->mark->nulls == NULLS_INCLUDE &&
		       s->layout.n_order > 1;
	case PAGED_LAG:
		return scan->from->value && paged_has_lag(s);
	case PAGED_SETTLED:
		return scan->settled->value != NULL;
	case PAGED_TAIL:
	case PAGED_DONE:
		break;
	}
	return true;
}

static void paged_enter(struct paged_source *s, enum paged_step step)
{
	while (!paged_applies(s, step))
		step++;
	s->pass.step = step;
	strlist_release(&s->pass.last);
}

static int paged_begin(struct paged_source *s, struct error *err)
{
	struct paged_pass *p = &s->pass;
	const struct source_column *mark = source_mark(&s->layout);
	int rc;

	if (p->scan->schema->n_columns != s->layout.n_columns)
		return error_set(err, ERROR_BUG,
				 "scan: the schema is not that of describe");
	if (s->layout.mark >= (long)s->layout.n_columns)
		running_mark_hide(&p->mark, mark->type.kind);
	p->step = PAGED_SETTLED;
	if (!scan_is_ordered(p->scan))
		return 0;
	rc = paged_check(s, err);
	if (rc)
		return rc;
	if (p->scan->range) {
		paged_enter(s, PAGED_NULLS);
		return 0;
	}
	/* The pending part that settle() found stays until a later run has
	 * settled it. */
	json_decref(p->mark.at.pending);
	p->mark.at.pending = p->scan->settled->pending
				     ? json_deep_copy(p->scan->settled->pending)
				     : NULL;
	delivered_begin(&p->mark.at, p->scan->from);
	paged_enter(s, PAGED_NULLS);
	return 0;
}

/* The most bytes that a page of many batches may hold. */
#define PAGED_BYTES ((double)(64 << 20))

/* As many rows as reach the byte bound about when the page ends. */
static size_t paged_page_rows(const struct paged_source *s,
			      const struct batch *b)
{
	const struct paged_pass *p = &s->pass;
	size_t rows = b->max_rows ? b->max_rows : 1000000;
	double most = (double)b->max_bytes;

	if (rows < s->dialect->page_rows && p->row_bytes > 0) {
		rows = s->dialect->page_rows;
		most = most > PAGED_BYTES ? most : PAGED_BYTES;
	}
	if (!b->max_bytes || p->row_bytes <= 0)
		return rows;
	most = most / p->row_bytes * 1.125 + 1;
	return most < (double)rows ? (size_t)most : rows;
}

void paged_write_page(const struct paged_source *s, struct paged_query *q,
		      size_t rows)
{
	const struct paged_pass *p = &s->pass;
	size_t first = p->step == PAGED_NULLS ? 1 : 0;

	paged_write_select(q, s, NULL);
	if (p->last.n)
		paged_write_beyond(q, s, first, true, p->last.items);
	else
		paged_write_begin(s, q);
	paged_write_end(s, q);
	paged_write_order(q, s, first);
	strbuf_addf(&q->sql, " LIMIT %zu", rows);
}

/* One page is one statement and so one snapshot. While its last batch is
 * loaded, the source keeps no lock and no old version for us. */
static int paged_open_page(struct paged_source *s, const struct batch *b,
			   struct error *err)
{
	struct paged_pass *p = &s->pass;
	struct paged_query q;
	int rc;

	paged_query_init(&q);
	p->limit = paged_page_rows(s, b);
	p->read = 0;
	paged_write_page(s, &q, p->limit);
	rc = paged_page_open(s, &q, err);
	p->streaming = !rc;
	paged_query_release(&q);
	if (!rc && !p->open)
		rc = failpoint("snapshot_opened", err);
	p->open = true;
	return rc;
}

/* Rows of a batch lie in order, so equal keys would be neighbours. */
static int paged_check_repeats(struct paged_source *s, const struct batch *b,
			       struct error *err)
{
	int rc = 0;

	for (size_t i = 1; !rc && !s->layout.key_unique && i < b->n_rows; i++)
		rc = refuse_repeat_row(s->pass.scan->source->table, b, i, err);
	return rc;
}

/* A text is told to the server as far as its first NUL. */
static bool paged_is_cut(const struct paged_source *s, const struct batch *b)
{
	const struct source_layout *l = &s->layout;

	for (size_t i = 0; i < l->n_key; i++) {
		const struct vector *v = &b->vectors[l->key[i]];
		size_t n;
		const uint8_t *text;

		if (!type_is_variable(v->kind) || v->kind == TYPE_BYTES)
			continue;
		text = vector_bytes(v, b->n_rows - 1, &n);
		if (n && memchr(text, '\0', n))
			return true;
	}
	return false;
}

static int paged_refuse_page(const struct paged_source *s,
			     const struct batch *b, struct error *err)
{
	const char *table = s->pass.scan->source->table;
	struct strbuf key = STRBUF_INIT;

	if (!paged_is_cut(s, b))
		return error_set(err, ERROR_BUG,
				 "the pages of %s do not advance", table);
	value_print_key(&key, b, b->n_rows - 1);
	error_set(err, ERROR_DATA,
		  "table %s, row %s: no page can begin behind a row whose key "
		  "has a NUL character: correct it at the source, or leave it "
		  "out by source.where",
		  table, key.data);
	strbuf_release(&key);
	return -ERROR_DATA;
}

/* Remember where the last row lies; the next page begins behind it. A page that
 * ends where it began would be read for ever: the server compares values
 * otherwise than it orders them. */
int paged_remember(struct paged_source *s, const struct batch *b,
		   struct error *err)
{
	struct paged_pass *p = &s->pass;
	const struct source_layout *l = &s->layout;
	size_t first = p->step == PAGED_NULLS ? 1 : 0;
	struct strlist last = STRLIST_INIT;
	bool moved = p->last.n != l->n_order;

	/* Take the places from the mark on, even where the mark is not
	 * compared, so that they stay the same. */
	for (size_t i = 0; i < l->n_order; i++) {
		struct strbuf text = STRBUF_INIT;
		if (i >= first)
			s->dialect->position(s, b, l->order[i], &text);
		strlist_add(&last, text.data);
		moved |= i < p->last.n &&
			 strcmp(text.data, p->last.items[i]) != 0;
		strbuf_release(&text);
	}
	strlist_release(&p->last);
	strlist_release(&p->reached);
	strlist_copy(&p->reached, &last);
	p->last = last;
	return moved ? 0 : paged_refuse_page(s, b, err);
}

static void paged_close_page(struct paged_source *s)
{
	s->dialect->page_close(s);
	s->pass.streaming = false;
}

static int paged_failpoints(const struct paged_pass *p, int64_t before,
			    struct error *err)
{
	int rc = 0;

	if (!before && p->rows)
		rc = failpoint("first_row", err);
	if (!rc && p->rows - before > 1)
		rc = failpoint("mid_page", err);
	return rc;
}

/* Read rows of the page under way until the batch is full or it ends. */
static int paged_fill(struct paged_source *s, struct batch *b,
		      struct error *err)
{
	struct paged_pass *p = &s->pass;
	int ended = s->dialect->page_read(s, b, err);
	int64_t before = p->rows;
	int rc = ended < 0 ? ended : 0;

	p->rows += (int64_t)b->n_rows;
	if (!rc)
		rc = paged_check_repeats(s, b, err);
	if (!rc)
		rc = paged_failpoints(p, before, err);
	if (!rc && b->n_rows)
		rc = paged_remember(s, b, err);
	if (rc || (!ended && !s->dialect->page_a_batch))
		return rc;
	paged_close_page(s);
	if (ended && p->read < p->limit)
		paged_enter(s, p->step + 1);
	return failpoint("page_end", err);
}

/* The mark as a number, for progress alone. */
static double paged_number(const char *text, enum type_kind kind)
{
	int64_t us = 0;
	int32_t days = 0;

	if (kind == TYPE_DATE)
		return value_parse_date(text, &days) ? days : 0;
	if (kind == TYPE_TIMESTAMP || kind == TYPE_TIMESTAMPTZ ||
	    kind == TYPE_TEXT)
		return value_parse_timestamp(text, &us) ? (double)us : 0;
	return strtod(text, NULL);
}

/* `step`: of the rows just read. */
static double paged_progress(struct paged_source *s, enum paged_step step)
{
	struct paged_pass *p = &s->pass;
	const struct scan *scan = p->scan;
	enum type_kind kind = source_mark(&s->layout)->type.kind;
	double now, end;

	if (scan->range)
		return -1;
	if (!scan->from->value && scan->schema->row_estimate > 0) {
		now = (double)p->rows;
		end = (double)scan->schema->row_estimate;
		return now < end ? now / end : 1;
	}
	if (step != PAGED_SETTLED)
		return step == PAGED_TAIL ? 1 : -1;
	now = paged_number(p->mark.at.value, kind);
	end = paged_number(scan->settled->value, kind);
	if (!p->measured)
		p->first_mark = now;
	p->measured = true;
	return end > p->first_mark
		       ? (now - p->first_mark) / (end - p->first_mark)
		       : -1;
}

/* The mark goes to where the batch ends. */
static void paged_advance(struct paged_source *s)
{
	const struct source_layout *l = &s->layout;
	struct watermark *w = &s->pass.mark.at;

	free(w->value);
	w->value = xstrdup(s->pass.reached.items[0]);
	strlist_release(&w->key);
	for (size_t k = 0; k < l->n_key; k++) {
		size_t i = 0;
		while (l->order[i] != l->key[k])
			i++;
		strlist_add(&w->key, s->pass.reached.items[i]);
	}
	delivered_settle(w);
}

/* Only settled rows move the mark. */
static void paged_finish(struct paged_source *s, struct batch *b,
			 enum paged_step step)
{
	struct paged_pass *p = &s->pass;

	if (b->n_rows && step == PAGED_SETTLED)
		paged_advance(s);
	if (b->n_rows && step == PAGED_TAIL) {
		delivered_tail(&p->mark.at, p->reached.items[0]);
		b->n_tail = b->n_rows;
	}
	if (b->n_rows) {
		double bytes = (double)batch_bytes(b) / (double)b->n_rows;
		p->row_bytes = p->row_bytes > 0 ? (3 * p->row_bytes + bytes) / 4
						: bytes;
		b->progress = paged_progress(s, step);
	}
	running_mark_hand_over(&p->mark, b);
}

int paged_scan(struct connector *base, const struct scan *scan,
	       struct error *err)
{
	struct paged_source *s = (struct paged_source *)base;
	int rc;

	paged_end_pass(s);
	rc = paged_layout_for(s, scan->source, scan->mark, err);
	if (rc)
		return rc;
	s->pass.scan = scan;
	running_mark_begin(&s->pass.mark, scan);
	rc = paged_begin(s, err);
	return paged_judge(s, scan->source, scan->mark, rc, err);
}

static int paged_batch(struct paged_source *s, struct batch *out,
		       struct error *err)
{
	struct paged_pass *p = &s->pass;
	enum paged_step step = p->step;
	int rc = 0;

	while (!rc && !out->n_rows && p->step != PAGED_DONE) {
		step = p->step;
		if (step == PAGED_TAIL && p->scan->mark->tail == TAIL_HOLD) {
			rc = paged_count_tail(s, out, err);
			paged_enter(s, PAGED_DONE);
			break;
		}
		if (!p->streaming)
			rc = paged_open_page(s, out, err);
		if (!rc)
			rc = paged_fill(s, out, err);
	}
	if (!rc)
		paged_finish(s, out, step);
	return rc;
}

int paged_next(struct connector *base, struct batch *out, struct error *err)
{
	struct paged_source *s = (struct paged_source *)base;
	const struct scan *scan = s->pass.scan;
	int rc;

	if (!scan)
		return error_set(err, ERROR_BUG, "next without scan");
	if (scan->keys)
		rc = paged_lookup(s, out, err);
	else if (!scan_is_ordered(scan))
		rc = paged_whole(s, out, err);
	else
		rc = paged_batch(s, out, err);
	return paged_judge(s, scan->source, scan->mark, rc, err);
}
