#include <stdlib.h>

#include "connectors/common/trouble.h"
#include "connectors/postgres/keyset.h"
#include "connectors/postgres/postgres.h"
#include "connectors/postgres/query.h"
#include "core/base/strbuf.h"

/* So many rows are sooner read than a request to cancel is made, which takes a
 * connection of its own. */
#define PAUSE_ROWS 1000

static int pause_stream(struct postgres *c, struct error *err)
{
	for (int i = 0; i < PAUSE_ROWS; i++) {
		int rc = pg_stream_next(c->pg, err);
		if (rc <= 0)
			return rc;
	}
	pg_stream_abort(c->pg);
	return 0;
}

static int pause_keyset(struct postgres *c, struct error *err)
{
	struct keyset *k = &c->keyset;

	if (!c->pass.streaming && !c->pass.crossed)
		return 0;
	c->pass.streaming = false;
	/* The tail begins anew behind the settled point. */
	if (c->pass.crossed) {
		c->pass.crossed = false;
		return pause_stream(c, err);
	}
	k->cut = !c->layout.key_unique;
	return pause_stream(c, err);
}

/* The next extract begins behind the last row; its table may be another by
 * then, which is found out at its end, as always. As many blocks as were
 * needed will do next time. */
static int pause_blocks(struct postgres *c, struct error *err)
{
	struct blocks *b = &c->blocks;
	int rc = 0;

	if (b->streaming) {
		rc = pause_stream(c, err);
		b->count = b->last_block - b->block + 1;
		b->block = b->last_block;
		b->offset = b->last_offset + 1;
		b->streaming = false;
	}
	if (rc || !b->in_transaction)
		return rc;
	b->in_transaction = false;
	return pg_exec(c->pg, "ROLLBACK", err);
}

int postgres_pause(struct connector *base, struct error *err)
{
	struct postgres *c = (struct postgres *)base;
	const struct scan *scan = c->pass.scan;
	struct error ignored = ERROR_INIT;
	int rc;

	if (!scan || !scan_is_ordered(scan) || scan_is_keyless(scan))
		return 0;
	rc = scan->mark->strategy == STRATEGY_XMIN ? pause_blocks(c, err)
						   : pause_keyset(c, err);
	if (rc)
		postgres_end_pass(c, &ignored);
	return rc;
}

static void pause_write_key(const struct postgres *c, struct strbuf *sb)
{
	const struct source_layout *l = &c->layout;
	const struct strlist *last = &c->pass.last;

	for (size_t k = 0; k < l->n_key; k++) {
		size_t i = 0;
		while (l->order[i] != l->key[k])
			i++;
		strbuf_addf(sb, "%s%s=%.64s", k ? ", " : "",
			    l->columns[l->key[k]]->name, last->items[i]);
	}
}

int postgres_source_pause_check_ties(struct postgres *c, size_t first,
				     struct error *err)
{
	struct keyset *k = &c->keyset;
	struct strbuf key = STRBUF_INIT;
	struct pg_result *r = NULL;
	struct query q;
	int rc;

	if (!k->cut || !c->pass.last.n)
		return 0;
	postgres_source_query_init(&q, QUERY_PARAMETERS);
	postgres_source_query_count(&q, &c->layout, "count(*)");
	postgres_source_query_compare(&q, &c->layout, first,
				      ">=", &c->pass.last);
	strbuf_addstr(&q.sql, " AND ");
	postgres_source_query_compare(&q, &c->layout, first,
				      "<=", &c->pass.last);
	rc = pg_query(c->pg, &r, q.sql.data, "1t", q.n,
		      (const char *const *)q.params, err);
	if (!rc && strtoll(pg_value(r, 0, 0), NULL, 10) > 1) {
		pause_write_key(c, &key);
		rc = refuse_repeat(c->pass.scan->source->table, key.data, err);
	}
	k->cut = false;
	pg_result_free(r);
	postgres_source_query_release(&q);
	strbuf_release(&key);
	return rc;
}
