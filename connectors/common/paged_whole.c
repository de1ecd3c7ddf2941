#include "connectors/common/paged.h"

/* Rows of a range without an index would be sorted anew for each page. So they
 * are ordered by the key alone. */
static size_t whole_order(const struct paged_source *s)
{
	const struct source_column *mark = source_mark(&s->layout);

	return mark && s->layout.n_order > 1 &&
	       !source_index_begins_with(&s->layout, mark->name);
}

/* Give the ordered columns only one lower bound. With two, the server may start
 * at the wrong one. */
static void whole_write_rows(const struct paged_source *s,
			     struct paged_query *q, size_t first)
{
	const struct paged_pass *p = &s->pass;
	struct range left = { NULL, NULL, false };

	if (p->last.n)
		paged_write_beyond(q, s, first, true, p->last.items);
	else
		strbuf_addstr(&q->sql, "1 = 1");
	if (!p->scan->range)
		return;
	left = *p->scan->range;
	if (p->last.n && !first)
		left.from = NULL;
	strbuf_addstr(&q->sql, " AND ");
	paged_write_range(q, s, &left);
}

/* Pages are used only where a statement ends with its batch and rows lie in the
 * order of an index. Otherwise one statement, and so one snapshot, gives all
 * rows. If keys can repeat, a page that ends with the first of two equal keys
 * would lose the second. And the server would compute a view anew for each
 * page. */
static bool whole_in_pages(const struct paged_source *s, const struct batch *b)
{
	return s->dialect->page_a_batch && s->layout.key_unique &&
	       s->layout.n_order && b->max_rows;
}

static int whole_open(struct paged_source *s, const struct batch *b,
		      struct error *err)
{
	struct paged_pass *p = &s->pass;
	size_t first = whole_order(s);
	struct paged_query q;
	int rc;

	paged_query_init(&q);
	paged_write_select(&q, s, NULL);
	whole_write_rows(s, &q, first);
	p->limit = SIZE_MAX;
	p->read = 0;
	if (whole_in_pages(s, b)) {
		p->limit = b->max_rows;
		paged_write_order(&q, s, first);
		strbuf_addf(&q.sql, " LIMIT %zu", p->limit);
	}
	rc = paged_page_open(s, &q, err);
	p->streaming = !rc;
	paged_query_release(&q);
	return rc;
}

static int whole_fill(struct paged_source *s, struct batch *b,
		      struct error *err)
{
	struct paged_pass *p = &s->pass;
	int ended = s->dialect->page_read(s, b, err);
	int rc = ended < 0 ? ended : 0;
	bool pages = p->limit != SIZE_MAX;

	p->rows += (int64_t)b->n_rows;
	if (!rc && b->n_rows && pages)
		rc = paged_pass_remember(p, b, err);
	if (rc || (!ended && !pages))
		return rc;
	s->dialect->page_close(s);
	p->streaming = false;
	if (ended && p->read < p->limit)
		p->step = PAGED_DONE;
	return 0;
}

int paged_whole(struct paged_source *s, struct batch *out, struct error *err)
{
	struct paged_pass *p = &s->pass;
	int rc = 0;

	while (!rc && !out->n_rows && p->step != PAGED_DONE) {
		if (!p->streaming)
			rc = whole_open(s, out, err);
		if (!rc)
			rc = whole_fill(s, out, err);
	}
	if (!rc && p->scan->mark)
		running_mark_hand_over(&p->mark, out);
	return rc;
}
