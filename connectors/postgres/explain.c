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

static const char *explain_purpose(enum keyset_step step)
{
	switch (step) {
	case KEYSET_LEAVES:
		return "read a new partition";
	case KEYSET_NULLS:
		return "read rows without a mark";
	case KEYSET_LAG:
		return "look back";
	case KEYSET_SETTLED:
		return "read";
	default:
		return "read the tail";
	}
}

/* Where the pass goes on in one step, the others begin at their own place. */
static int explain_keyset(struct postgres *c, size_t rows,
			  struct explanation *out, struct error *err)
{
	struct keyset *k = &c->pass.keyset;
	enum keyset_step begin = k->step;
	struct strlist last = k->last;
	bool hold = c->pass.scan->mark->tail == TAIL_HOLD;
	int rc = 0;

	for (; !rc && k->step < KEYSET_DONE; k->step++) {
		struct query q;

		if (!postgres_source_keyset_applies(c, k->step) ||
		    (k->step == KEYSET_TAIL && hold))
			continue;
		postgres_source_query_init(&q, QUERY_STREAM);
		postgres_source_keyset_write_page(c, &q, rows);
		rc = explain_query(c, explain_purpose(k->step), &q, out, err);
		k->last = (struct strlist)STRLIST_INIT;
	}
	k->step = begin;
	k->last = last;
	return rc;
}

/* Each leaf of a partitioned table is read by itself; the output names the
 * table. */
static int explain_blocks(struct postgres *c, struct explanation *out,
			  struct error *err)
{
	const struct blocks *b = &c->pass.blocks;
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
