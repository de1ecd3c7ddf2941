#include <stdlib.h>

#include "connectors/common/paged.h"

static int explain_step(struct paged_source *s, size_t rows,
			struct explanation *out, struct error *err)
{
	char *plan = NULL, *index = NULL;
	struct paged_query q;
	int rc;

	paged_query_init(&q);
	paged_write_page(s, &q, rows);
	rc = s->dialect->explain(s, &q, &plan, &index, err);
	if (!rc)
		explanation_add(out, paged_step_purpose(s->pass.step),
				q.sql.data, index, plan);
	paged_query_release(&q);
	free(plan);
	free(index);
	return rc;
}

int paged_explain(struct connector *base, size_t rows, struct explanation *out,
		  struct error *err)
{
	struct paged_source *s = (struct paged_source *)base;
	struct paged_pass *p = &s->pass;
	struct strlist last = p->last;
	enum paged_step begin = p->step;
	int rc = 0;

	if (!scan_is_ordered(p->scan))
		return 0;
	for (; !rc && p->step < PAGED_DONE; p->step++) {
		if (paged_pass_applies(p, p->step) &&
		    (p->step != PAGED_TAIL ||
		     p->scan->mark->tail == TAIL_DELIVER))
			rc = explain_step(s, rows, out, err);
		/* The position belongs to the present step alone. */
		p->last = (struct strlist)STRLIST_INIT;
	}
	p->step = begin;
	p->last = last;
	return rc;
}
