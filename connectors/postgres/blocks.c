#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clients/pg_ahead.h"
#include "connectors/common/settle.h"
#include "connectors/postgres/blocks.h"
#include "connectors/postgres/durable.h"
#include "connectors/postgres/repeats.h"
#include "connectors/postgres/replay.h"
#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"

/* Half the circle of 32-bit ids, less what may be given out during a pass. */
#define BLOCKS_FARTHEST ((UINT64_C(1) << 31) - UINT64_C(50000000))

/* The log's end, read behind the snapshot, lies behind the end of every
 * transaction that the snapshot knows to be over. So it covers every xid below
 * its xmin. */
static const char blocks_snapshot_sql[] =
	"SELECT pg_snapshot_xmin(s)::text, pg_snapshot_xmax(s)::text\n"
	"FROM pg_current_snapshot() s";
static const char blocks_snapshot_and_log_sql[] =
	"SELECT pg_snapshot_xmin(s)::text, pg_snapshot_xmax(s)::text,\n"
	"" DURABLE_COLUMNS "\nFROM pg_current_snapshot() s";

int postgres_source_blocks_begin(struct postgres *c, struct error *err)
{
	struct blocks *b = &c->blocks;
	const struct watermark *from = c->pass.scan->from;

	(void)err;
	b->everything = !from->value;
	if (from->value)
		b->mark = strtoull(from->value, NULL, 10);
	postgres_source_blocks_read_known(c);
	return 0;
}

static const char *blocks_ask_snapshot(const struct postgres *c)
{
	return c->log_hidden ? blocks_snapshot_sql
			     : blocks_snapshot_and_log_sql;
}

static int blocks_ask_ahead(struct postgres *c, struct error *err)
{
	postgres_source_blocks_transaction_ahead(c);
	pg_ahead_add(c->pg, blocks_ask_snapshot(c), 0, NULL);
	postgres_source_leaves_ahead(c->pg,
				     postgres_source_relation(&c->layout)->oid);
	return pg_ahead_ask_kept(c->pg, err);
}

static int blocks_snapshot(struct postgres *c, uint64_t *xmin, uint64_t *xmax,
			   struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(c->pg, &r, blocks_ask_snapshot(c),
			  c->log_hidden ? "1tt" : "1tt" DURABLE_SHAPE, 0, NULL,
			  err);

	if (rc)
		return rc;
	*xmin = strtoull(pg_value(r, 0, 0), NULL, 10);
	*xmax = strtoull(pg_value(r, 0, 1), NULL, 10);
	postgres_source_durable_begin(
		c, c->log_hidden ? 0 : postgres_source_durable_target(r, 2));
	pg_result_free(r);
	return 0;
}

static int blocks_check_leaves(struct postgres *c, struct error *err)
{
	const struct leaves *leaves = &c->blocks.leaves;

	for (size_t i = 0; i < leaves->n; i++) {
		if (leaves->items[i].kind == RELATION_FOREIGN)
			return error_set(err, ERROR_CONFIG,
					 "strategy xmin cannot serve %s: its "
					 "partition %s is a foreign table, "
					 "which has no xmin" ERROR_FIX
					 "; use timestamp or sequence",
					 c->pass.scan->source->table,
					 leaves->items[i].sql);
	}
	return 0;
}

/* A mark of which half the circle of 32-bit ids lies behind says nothing
 * about ages any more. */
static int blocks_check_age(struct postgres *c, uint64_t xmax,
			    struct error *err)
{
	struct blocks *b = &c->blocks;

	if (b->everything)
		return 0;
	if (b->mark > xmax)
		return postgres_source_replay_refuse_xid(c, b->mark, xmax, err);
	if (xmax - b->mark < BLOCKS_FARTHEST)
		return 0;
	log_warn("the mark of %s is %" PRIu64 " transactions behind, more than "
		 "ids of 32 bits can tell: every row is read again",
		 c->pass.scan->source->table, xmax - b->mark);
	b->everything = true;
	return 0;
}

static bool blocks_none_whole(const struct blocks *b)
{
	for (size_t i = 0; i < b->leaves.n; i++) {
		if (b->whole[i])
			return false;
	}
	return true;
}

/* Where the pass begins, and the mark that it will leave. */
static void blocks_aim(struct postgres *c, uint64_t xmin, uint64_t xmax)
{
	struct blocks *b = &c->blocks;

	b->leaf = 0;
	b->block = 0;
	b->offset = 0;
	b->extracts = 0;
	b->held = 0;
	b->count = 0;
	b->ceiling = b->everything || xmin > b->mark ? xmin : b->mark;
	if (!b->again)
		postgres_source_blocks_resume(c);
	postgres_source_blocks_mark_whole(c);
	/* Nothing has happened since the mark: no row can be newer. */
	if (b->mark == xmax && !b->extracts && blocks_none_whole(b))
		b->leaf = b->leaves.n;
}

/* Check the rows about to be read, or all rows of a table that is read
 * whole. */
static int blocks_check_repeats(struct postgres *c, struct error *err)
{
	struct blocks *b = &c->blocks;
	bool some = blocks_none_whole(b);
	struct query among;
	int rc;

	if (b->again || b->leaf >= b->leaves.n)
		return 0;
	postgres_source_query_init(&among, QUERY_PARAMETERS);
	if (some)
		postgres_source_blocks_write_since(
			&among, c->layout.table.alias, b->mark);
	rc = postgres_source_repeats_check(c->pg, &c->layout,
					   c->pass.scan->source->table,
					   some ? &among : NULL, false, err);
	postgres_source_query_release(&among);
	return rc;
}

/* First extract of a pass: its snapshot gives the next pass's mark before
 * any row is read. The transaction stays open for the rows. */
static int blocks_open_pass(struct postgres *c, struct error *err)
{
	struct blocks *b = &c->blocks;
	uint64_t xmin = 0, xmax = 0;
	int rc = blocks_ask_ahead(c, err);

	if (!rc)
		rc = postgres_source_blocks_transaction(c, err);
	if (!rc)
		rc = blocks_snapshot(c, &xmin, &xmax, err);
	if (!rc)
		rc = blocks_check_age(c, xmax, err);
	if (!rc)
		rc = postgres_source_leaves_find(
			c->pg, postgres_source_relation(&c->layout)->oid,
			&b->leaves, err);
	if (!rc)
		rc = blocks_check_leaves(c, err);
	if (rc)
		return rc;
	blocks_aim(c, xmin, xmax);
	rc = blocks_check_repeats(c, err);
	if (rc)
		return rc;
	rc = failpoint("ceiling_taken", err);
	if (!rc && !c->pass.open)
		rc = failpoint("snapshot_opened", err);
	c->pass.open = true;
	return rc;
}

/* A pass of more than one extract saw more than one snapshot. A row that moved
 * between them is newer than the ceiling, and a second pass finds it. */
static int blocks_close_pass(struct postgres *c, struct error *err)
{
	struct blocks *b = &c->blocks;
	int rc = b->in_transaction ? postgres_source_blocks_commit(c, err) : 0;

	postgres_source_blocks_settle_mark(c);
	b->done = b->again || b->extracts <= 1;
	b->again = true;
	json_decref(b->known);
	b->known = postgres_source_blocks_list_leaves(c);
	b->mark = b->ceiling;
	b->everything = false;
	b->ceiling = 0;
	postgres_source_leaves_release(&b->leaves);
	return rc;
}

static double blocks_progress(const struct blocks *b)
{
	double all = 0, done = 0;

	for (size_t i = 0; i < b->leaves.n; i++) {
		all += (double)b->leaves.items[i].blocks;
		if (i < b->leaf)
			done += (double)b->leaves.items[i].blocks;
	}
	done += (double)(b->streaming ? b->last_block : b->block);
	return all <= 0 ? -1 : done < all ? done / all : 1;
}

int postgres_source_blocks_next(struct postgres *c, struct batch *out,
				struct error *err)
{
	struct blocks *b = &c->blocks;
	int rc = 0;

	while (!rc && !b->done && !batch_is_full(out)) {
		if (!b->ceiling) {
			rc = blocks_open_pass(c, err);
		} else if (b->streaming) {
			rc = postgres_source_blocks_fill(c, out, err);
		} else if (b->leaf < b->leaves.n) {
			rc = postgres_source_blocks_open_extract(c, out, err);
		} else {
			rc = blocks_close_pass(c, err);
			if (out->n_rows)
				break;
		}
	}
	if (rc)
		return rc;
	if (!b->done && b->leaf < b->leaves.n)
		postgres_source_blocks_set_pending(c);
	out->n_held = b->done ? b->held : 0;
	out->progress = b->done ? 1 : blocks_progress(b);
	return postgres_source_durable_hand_over(c, out, b->streaming, err);
}
