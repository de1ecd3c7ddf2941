#include <inttypes.h>
#include <stdlib.h>

#include "clients/pg_explain.h"
#include "connectors/postgres/blocks.h"
#include "connectors/postgres/keyset.h"
#include "core/base/alloc.h"

static int explain_query(struct postgres *c, const char *purpose,
			 struct query *q, struct explanation *out,
			 struct error *err)
{
	char *shown = NULL, *plan = NULL, *index = NULL;
	int rc = pg_stream_explain(c->pg, q->sql.data, q->n,
				   (const char *const *)q->params, &shown,
				   &plan, &index, err);

	if (!rc)
		explanation_add(out, purpose, shown, index, plan);
	postgres_source_query_release(q);
	free(shown);
	free(plan);
	free(index);
	return rc;
}

/* Where the pass goes on in one step, the others begin at their own place. */
static int explain_keyset(struct postgres *c, size_t rows,
			  struct explanation *out, struct error *err)
{
	struct paged_pass *p = &c->pass;
	enum paged_step begin = p->step;
	struct strlist last = p->last;
	bool hold = c->pass.scan->mark->tail == TAIL_HOLD, mixed = p->mixed;
	int rc = 0;

	p->mixed = false;
	for (; !rc && p->step < PAGED_DONE; p->step++) {
		struct query q;

		if (!paged_pass_applies(p, p->step) ||
		    (p->step == PAGED_TAIL && hold))
			continue;
		postgres_source_query_init(&q, QUERY_STREAM);
		postgres_source_keyset_write_page(c, &q, rows);
		rc = explain_query(c, paged_step_purpose(p->step), &q, out,
				   err);
		p->last = (struct strlist)STRLIST_INIT;
	}
	p->step = begin;
	p->last = last;
	p->mixed = mixed;
	return rc;
}

/* Each leaf of a partitioned table is read by itself; the output names the
 * table. */
static int explain_blocks(struct postgres *c, struct explanation *out,
			  struct error *err)
{
	const struct blocks *b = &c->blocks;
	const char *alias = c->layout.table.alias;
	struct query q;

	postgres_source_query_init(&q, QUERY_STREAM);
	postgres_source_query_select(&q, &c->layout, NULL, "");
	strbuf_addf(&q.sql, "%s.ctid >= ", alias);
	postgres_source_query_value(&q, "pg_catalog.tid", "(0,0)");
	if (!b->everything) {
		strbuf_addstr(&q.sql, " AND ");
		postgres_source_blocks_write_since(&q, alias, b->mark);
	}
	return explain_query(c, "read", &q, out, err);
}

int postgres_explain(struct connector *base, size_t rows,
		     struct explanation *out, struct error *err)
{
	struct postgres *c = (struct postgres *)base;
	const struct scan *scan = c->pass.scan;

	if (!scan_is_ordered(scan))
		return 0;
	return scan->mark->strategy == STRATEGY_XMIN
		       ? explain_blocks(c, out, err)
		       : explain_keyset(c, rows, out, err);
}
