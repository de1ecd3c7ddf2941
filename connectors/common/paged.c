#include "connectors/common/paged.h"

#include <stdlib.h>
#include <string.h>

#include "connectors/common/trouble.h"
#include "core/base/alloc.h"
#include "core/base/failpoint.h"

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
	paged_pass_release(&s->pass);
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

void paged_write_page(const struct paged_source *s, struct paged_query *q,
		      size_t rows)
{
	const struct paged_pass *p = &s->pass;
	size_t first = paged_pass_first(p);

	paged_write_select(q, s, NULL);
	if (p->last.n)
		paged_write_beyond(q, s, first, true, p->last.items);
	else
		paged_write_begin(s, q);
	paged_write_end(s, q);
	paged_write_order(q, s, first);
	if (!p->whole)
		strbuf_addf(&q->sql, " LIMIT %zu", rows);
}

static int paged_open(struct connector *owner, struct error *err)
{
	struct paged_source *s = (struct paged_source *)owner;
	struct paged_query q;
	int rc;

	paged_query_init(&q);
	paged_write_page(s, &q, s->pass.limit);
	rc = paged_page_open(s, &q, err);
	paged_query_release(&q);
	return rc;
}

static void paged_close(struct connector *owner)
{
	struct paged_source *s = (struct paged_source *)owner;

	s->dialect->page_close(s);
}

/* Rows of a batch lie in order, so equal keys would be neighbours. */
static int paged_check_repeats(struct paged_source *s, const struct batch *b,
			       struct error *err)
{
	int rc = 0;

	if (!s->layout.n_key)
		return 0;
	for (size_t i = 1; !rc && !s->layout.key_unique && i < b->n_rows; i++)
		rc = refuse_repeat_row(s->pass.scan->source->table, b, i, err);
	return rc;
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

static int paged_read(struct connector *owner, struct batch *b,
		      struct error *err)
{
	struct paged_source *s = (struct paged_source *)owner;
	int64_t before = s->pass.rows;
	int ended = s->dialect->page_read(s, b, err);
	int rc = ended < 0 ? ended : 0;

	s->pass.rows += (int64_t)b->n_rows;
	if (!rc)
		rc = paged_check_repeats(s, b, err);
	if (!rc)
		rc = paged_failpoints(&s->pass, before, err);
	return rc ? rc : ended;
}

static void paged_place(struct connector *owner, const struct batch *b,
			size_t column, struct strbuf *out)
{
	const struct paged_source *s = (const struct paged_source *)owner;

	s->dialect->position(s, b, column, out);
}

static int paged_count(struct connector *owner, struct batch *out,
		       struct error *err)
{
	return paged_count_tail((struct paged_source *)owner, out, err);
}

static int paged_hand_over(struct connector *owner, struct batch *b,
			   enum paged_step step, struct error *err)
{
	const struct paged_source *s = (const struct paged_source *)owner;

	(void)step;
	(void)err;
	running_mark_hand_over(&s->pass.mark, b);
	return 0;
}

static const struct paged_pages paged_pages = {
	.open = paged_open,
	.read = paged_read,
	.close = paged_close,
	.position = paged_place,
	.count_tail = paged_count,
	.hand_over = paged_hand_over,
};

static int paged_begin(struct paged_source *s, const struct scan *scan,
		       struct error *err)
{
	struct paged_pass *p = &s->pass;
	int rc = paged_pass_begin(p, &s->base, &paged_pages, &s->layout, scan,
				  err);

	p->ties = p->whole = scan_is_keyless(scan);
	p->page_a_batch = s->dialect->page_a_batch && !p->whole;
	p->page_rows = s->dialect->page_rows;
	if (rc || !scan_is_ordered(scan))
		return rc;
	rc = paged_check(s, err);
	if (!rc)
		paged_pass_start(p);
	return rc;
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
	rc = paged_begin(s, scan, err);
	return paged_judge(s, scan->source, scan->mark, rc, err);
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
		rc = paged_pass_next(&s->pass, out, err);
	return paged_judge(s, scan->source, scan->mark, rc, err);
}
