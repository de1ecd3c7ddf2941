#include <stdlib.h>

#include "connectors/common/paged.h"
#include "core/base/failpoint.h"

static size_t lookup_left(const struct paged_source *s)
{
	return s->pass.scan->keys->n / s->layout.n_key - s->pass.asked;
}

/* Rows of the usual size for which the batch has still room: at least one. */
static size_t lookup_room(const struct paged_source *s, const struct batch *b)
{
	size_t bytes = batch_bytes(b), n = s->dialect->lookup_keys;
	double usual = s->pass.row_bytes;

	if (usual <= 0)
		return 1;
	if (b->max_rows && n > b->max_rows - b->n_rows)
		n = b->max_rows - b->n_rows;
	if (b->max_bytes && (double)n * usual > (double)(b->max_bytes - bytes))
		n = (size_t)((double)(b->max_bytes - bytes) / usual);
	return n ? n : 1;
}

/* Where a statement ends with its batch, it asks for no more rows than will
 * fit. */
static size_t lookup_keys(const struct paged_source *s, const struct batch *b)
{
	size_t n = s->dialect->lookup_keys, room;

	/* As long as each key has parameters of its own. */
	if (s->dialect->keys == paged_write_keys)
		n /= s->layout.n_key;
	if (!n)
		return 1;
	room = s->dialect->page_a_batch ? lookup_room(s, b) : b->max_rows;
	if (room && n > room)
		n = room;
	return n < lookup_left(s) ? n : lookup_left(s);
}

static void lookup_write_key(struct paged_query *q,
			     const struct paged_source *s, size_t key)
{
	const struct source_layout *l = &s->layout;

	for (size_t i = 0; i < l->n_key; i++) {
		strbuf_addstr(&q->sql, i ? " AND " : "");
		paged_write_compare(
			q, s, l->columns[l->key[i]], "=",
			s->pass.scan->keys->items[key * l->n_key + i]);
	}
}

void paged_write_keys(struct paged_query *q, const struct paged_source *s,
		      size_t first, size_t n)
{
	strbuf_addch(&q->sql, '(');
	for (size_t i = 0; i < n; i++) {
		strbuf_addstr(&q->sql, i ? " OR " : "");
		lookup_write_key(q, s, first + i);
	}
	strbuf_addch(&q->sql, ')');
}

/* Rows come in the mark's order, so that the last one has the highest mark;
 * NULL first. */
static void lookup_write_mark(struct paged_query *q,
			      const struct paged_source *s)
{
	const struct source_column *mark = source_mark(&s->layout);

	/* Without one asked for, rows of any are wanted. */
	if (!mark)
		return;
	if (s->pass.scan->mark->nulls != NULLS_INCLUDE)
		strbuf_addf(&q->sql, " AND %s IS NOT NULL", mark->sql);
	strbuf_addf(&q->sql, " ORDER BY %s IS NOT NULL, %s", mark->sql,
		    mark->sql);
}

static int lookup_open(struct paged_source *s, const struct batch *b,
		       struct error *err)
{
	struct paged_pass *p = &s->pass;
	size_t n = lookup_keys(s, b);
	struct paged_query q;
	int rc;

	paged_query_init(&q);
	paged_write_select(&q, s, NULL);
	s->dialect->keys(&q, s, p->asked, n);
	lookup_write_mark(&q, s);
	rc = paged_page_open(s, &q, err);
	paged_query_release(&q);
	if (rc)
		return rc;
	p->asked += n;
	p->streaming = true;
	return 0;
}

/* Where a statement ends with its batch, rows that do not fit after all would
 * be lost. So the batch exceeds its bounds. */
static int lookup_read(struct paged_source *s, struct batch *b,
		       struct error *err)
{
	size_t max_rows = b->max_rows, max_bytes = b->max_bytes;
	int ended;

	if (s->dialect->page_a_batch)
		b->max_rows = b->max_bytes = 0;
	ended = s->dialect->page_read(s, b, err);
	b->max_rows = max_rows;
	b->max_bytes = max_bytes;
	if (ended >= 0 && b->n_rows)
		s->pass.row_bytes = (double)batch_bytes(b) / (double)b->n_rows;
	return ended;
}

static int lookup_fill(struct paged_source *s, struct batch *b,
		       struct error *err)
{
	struct paged_pass *p = &s->pass;
	size_t before = b->n_rows;
	int ended = lookup_read(s, b, err);

	if (ended < 0)
		return ended;
	if (b->n_rows > before)
		running_mark_ahead(&p->mark, b, s->layout.mark);
	p->rows += (int64_t)(b->n_rows - before);
	if (!ended && !s->dialect->page_a_batch)
		return 0;
	s->dialect->page_close(s);
	p->streaming = false;
	return failpoint("page_end", err);
}

int paged_lookup(struct paged_source *s, struct batch *out, struct error *err)
{
	struct paged_pass *p = &s->pass;
	int rc = 0;

	while (!rc && !batch_is_full(out) && (p->streaming || lookup_left(s))) {
		if (!p->streaming)
			rc = lookup_open(s, out, err);
		if (!rc)
			rc = lookup_fill(s, out, err);
	}
	if (!rc)
		running_mark_hand_over(&p->mark, out);
	return rc;
}
