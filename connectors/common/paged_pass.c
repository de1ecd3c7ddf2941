#include "connectors/common/paged_pass.h"

#include <stdlib.h>
#include <string.h>

#include "connectors/common/delivered.h"
#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/data/value.h"

/* The most bytes that a page of many batches may hold. */
#define PASS_BYTES ((double)(64 << 20))

int paged_pass_begin(struct paged_pass *p, struct connector *owner,
		     const struct paged_pages *pages,
		     const struct source_layout *layout,
		     const struct scan *scan, struct error *err)
{
	p->owner = owner;
	p->pages = pages;
	p->layout = layout;
	p->scan = scan;
	p->step = PAGED_SETTLED;
	running_mark_begin(&p->mark, scan);
	if (scan->schema->n_columns != layout->n_columns)
		return error_set(err, ERROR_BUG,
				 "scan: the schema is not that of describe");
	if (layout->mark >= (long)layout->n_columns)
		running_mark_hide(&p->mark, source_mark(layout)->type.kind);
	return 0;
}

void paged_pass_release(struct paged_pass *p)
{
	running_mark_release(&p->mark);
	strlist_release(&p->last);
	strlist_release(&p->reached);
	memset(p, 0, sizeof(*p));
}

bool paged_pass_has_lag(const struct paged_pass *p)
{
	const struct watermark_spec *mark = p->scan->mark;

	return mark->strategy == STRATEGY_TIMESTAMP ? mark->lag_us > 0
						    : mark->lag_count > 0;
}

bool paged_pass_from(const struct paged_pass *p, struct strlist *out)
{
	const struct source_layout *l = p->layout;
	const struct watermark *from = p->scan->from;

	if (!from->value || from->key.n != l->n_key)
		return false;
	for (size_t i = 0; i < l->n_order; i++) {
		const char *text = from->value;
		for (size_t k = 0; k < l->n_key; k++) {
			if (l->order[i] == l->key[k] &&
			    (long)l->order[i] != l->mark)
				text = from->key.items[k];
		}
		strlist_add(out, text);
	}
	return true;
}

size_t paged_pass_first(const struct paged_pass *p)
{
	return p->step == PAGED_NULLS ? 1 : 0;
}

const char *paged_step_purpose(enum paged_step step)
{
	switch (step) {
	case PAGED_PARTS:
		return "read a new partition";
	case PAGED_NULLS:
		return "read rows without a mark";
	case PAGED_LAG:
		return "look back";
	case PAGED_SETTLED:
		return "read";
	default:
		return "read the tail";
	}
}

bool paged_pass_applies(const struct paged_pass *p, enum paged_step step)
{
	const struct scan *scan = p->scan;

	if (scan->range)
		return step == PAGED_DONE ||
		       step == (scan->range->nulls ? PAGED_NULLS
						   : PAGED_SETTLED);
	switch (step) {
	case PAGED_PARTS:
		return p->parts;
	case PAGED_NULLS:
		return source_mark(p->layout)->nullable &&
		       scan->mark->nulls == NULLS_INCLUDE &&
		       p->layout->n_order > 1;
	case PAGED_LAG:
		return scan->from->value && paged_pass_has_lag(p);
	case PAGED_SETTLED:
		return scan->settled->value != NULL;
	case PAGED_TAIL:
	case PAGED_DONE:
		break;
	}
	return true;
}

static void pass_enter(struct paged_pass *p, enum paged_step step)
{
	while (!paged_pass_applies(p, step))
		step++;
	p->step = step;
	strlist_release(&p->last);
}

void paged_pass_start(struct paged_pass *p)
{
	struct watermark *at = &p->mark.at;

	if (!p->scan->range) {
		/* The pending part that settle() found stays until a later run
		 * has settled it. */
		json_decref(at->pending);
		at->pending =
			p->scan->settled->pending
				? json_deep_copy(p->scan->settled->pending)
				: NULL;
		delivered_begin(at, p->scan->from);
	}
	pass_enter(p, PAGED_PARTS);
}

/* As many rows as reach the byte bound about when the page ends. */
static size_t pass_page_rows(const struct paged_pass *p, const struct batch *b)
{
	size_t rows = b->max_rows ? b->max_rows : 1000000;
	double most = (double)b->max_bytes;

	if (rows < p->page_rows && p->row_bytes > 0) {
		rows = p->page_rows;
		most = most > PASS_BYTES ? most : PASS_BYTES;
	}
	if (!b->max_bytes || p->row_bytes <= 0)
		return rows;
	most = most / p->row_bytes * 1.125 + 1;
	return most < (double)rows ? (size_t)most : rows;
}

/* The step's last page has the tail's rows too. This saves a question, and a
 * table without an index on its mark is read once, not twice. Rows that are
 * held are only counted. */
static bool pass_mixes(const struct paged_pass *p)
{
	return p->mixes && p->step == PAGED_SETTLED && !p->scan->range &&
	       p->scan->mark->tail != TAIL_HOLD;
}

/* The page goes on with the tail's rows, as many as it has room for. */
static void pass_cross(struct paged_pass *p)
{
	p->limit -= p->read;
	p->read = 0;
	p->streaming = true;
}

/* One page is one statement and so one snapshot. While its last batch is
 * loaded, the source keeps no lock and no old version for us. */
static int pass_open(struct paged_pass *p, const struct batch *b,
		     struct error *err)
{
	int rc;

	if (p->crossed) {
		pass_cross(p);
		return 0;
	}
	p->limit = p->whole ? SIZE_MAX : pass_page_rows(p, b);
	p->read = 0;
	p->mixed = pass_mixes(p);
	rc = p->pages->open(p->owner, err);
	p->streaming = !rc;
	if (!rc && !p->open)
		rc = failpoint("snapshot_opened", err);
	p->open = true;
	return rc;
}

/* A text is told to the server as far as its first NUL. */
static bool pass_is_cut(const struct paged_pass *p, const struct batch *b)
{
	const struct source_layout *l = p->layout;

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

static int pass_refuse_page(const struct paged_pass *p, const struct batch *b,
			    struct error *err)
{
	const char *table = p->scan->source->table;
	struct strbuf key = STRBUF_INIT;

	if (!pass_is_cut(p, b))
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

/* Where pages do not advance, the server compares values otherwise than it
 * orders them. Rows that tie may fill a batch of their own. */
int paged_pass_remember(struct paged_pass *p, const struct batch *b,
			struct error *err)
{
	const struct source_layout *l = p->layout;
	size_t first = paged_pass_first(p);
	struct strlist last = STRLIST_INIT;
	bool moved = p->ties || p->last.n != l->n_order;

	/* Take the places from the mark on, even where the mark is not
	 * compared, so that they stay the same. */
	for (size_t i = 0; i < l->n_order; i++) {
		struct strbuf text = STRBUF_INIT;
		if (i >= first)
			p->pages->position(p->owner, b, l->order[i], &text);
		strlist_add(&last, text.data);
		moved |= i < p->last.n &&
			 strcmp(text.data, p->last.items[i]) != 0;
		strbuf_release(&text);
	}
	strlist_release(&p->last);
	strlist_release(&p->reached);
	strlist_copy(&p->reached, &last);
	p->last = last;
	return moved ? 0 : pass_refuse_page(p, b, err);
}

/* A page that was not full is the last one of its part, or else of its step. A
 * mixed one that met no row of the tail has read the tail too. */
static void pass_close(struct paged_pass *p, bool ended)
{
	if (!p->crossed)
		p->pages->close(p->owner);
	p->streaming = false;
	if (!ended || p->read >= p->limit)
		return;
	if (p->step == PAGED_PARTS)
		p->pages->next_part(p->owner);
	if (p->step == PAGED_SETTLED && p->mixed && !p->crossed)
		pass_enter(p, PAGED_DONE);
	else if (p->step != PAGED_PARTS || !p->parts)
		pass_enter(p, p->step + 1);
}

/* Read rows of the page under way until the batch is full or it ends. */
static int pass_fill(struct paged_pass *p, struct batch *b, struct error *err)
{
	int ended = p->pages->read(p->owner, b, err);
	int rc = ended < 0 ? ended : 0;

	if (!rc && b->n_rows)
		rc = paged_pass_remember(p, b, err);
	if (rc || (!ended && !p->page_a_batch))
		return rc;
	pass_close(p, ended);
	return failpoint("page_end", err);
}

/* The mark as a number, for progress alone. */
static double pass_number(const char *text, enum type_kind kind)
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
static double pass_progress(struct paged_pass *p, enum paged_step step)
{
	const struct scan *scan = p->scan;
	enum type_kind kind = source_mark(p->layout)->type.kind;
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
	now = pass_number(p->mark.at.value, kind);
	end = pass_number(scan->settled->value, kind);
	if (!p->measured)
		p->first_mark = now;
	p->measured = true;
	/* While the mark stands still, nothing is known: many rows may have
	 * the one value, as after ADD COLUMN ... DEFAULT now(). */
	return now > p->first_mark && end > p->first_mark
		       ? (now - p->first_mark) / (end - p->first_mark)
		       : -1;
}

/* The mark goes to where the batch ends. */
static void pass_advance(struct paged_pass *p)
{
	const struct source_layout *l = p->layout;
	struct watermark *w = &p->mark.at;

	free(w->value);
	w->value = xstrdup(p->reached.items[0]);
	strlist_release(&w->key);
	for (size_t k = 0; k < l->n_key; k++) {
		size_t i = 0;
		while (l->order[i] != l->key[k])
			i++;
		strlist_add(&w->key, p->reached.items[i]);
	}
	delivered_settle(w);
}

/* Only settled rows move the mark. */
static void pass_finish(struct paged_pass *p, struct batch *b,
			enum paged_step step)
{
	double bytes;

	if (!b->n_rows)
		return;
	if (step == PAGED_SETTLED)
		pass_advance(p);
	if (step == PAGED_TAIL) {
		delivered_tail(&p->mark.at, p->reached.items[0]);
		b->n_tail = b->n_rows;
	}
	bytes = (double)batch_bytes(b) / (double)b->n_rows;
	p->row_bytes =
		p->row_bytes > 0 ? (3 * p->row_bytes + bytes) / 4 : bytes;
	b->progress = pass_progress(p, step);
}

int paged_pass_next(struct paged_pass *p, struct batch *out, struct error *err)
{
	enum paged_step step = p->step;
	int rc = 0;

	while (!rc && !out->n_rows && p->step != PAGED_DONE) {
		step = p->step;
		if (step == PAGED_TAIL && p->scan->mark->tail == TAIL_HOLD) {
			rc = p->pages->count_tail(p->owner, out, err);
			pass_enter(p, PAGED_DONE);
			break;
		}
		if (!p->streaming)
			rc = pass_open(p, out, err);
		if (!rc)
			rc = pass_fill(p, out, err);
	}
	if (rc)
		return rc;
	pass_finish(p, out, step);
	return p->pages->hand_over(p->owner, out, step, err);
}
