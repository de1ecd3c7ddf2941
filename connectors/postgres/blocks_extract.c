#include <inttypes.h>
#include <stdlib.h>

#include "clients/pg_ahead.h"
#include "connectors/postgres/blocks.h"
#include "connectors/postgres/query.h"
#include "connectors/postgres/shape.h"
#include "core/base/alloc.h"
#include "core/base/failpoint.h"

/* Extracts in blocks: the first of an incremental pass, the least, and the
 * most (256 MiB). */
#define BLOCKS_FIRST  2048
#define BLOCKS_FEWEST 16
#define BLOCKS_MOST   32768
/* Rows of a batch that has no bound. */
#define BLOCKS_BATCH 20000
/* Rows of a block, for a table that was never counted. */
#define BLOCKS_ROWS_GUESS 50.0
/* TID range scans; a server without them reads a leaf as a whole. */
#define BLOCKS_RANGE_VERSION 140000
/* Columns behind those of the layout: the tid, and whether the row is past the
 * ceiling. */
#define BLOCKS_EXTRA 2

/* "age(xmin) BETWEEN 0 AND age(mark)" is the distance on the circle of 32-bit
 * ids, counted from the newest. Frozen rows keep their old xmin. Rows from
 * before the last wrap get a wrong age, and at worst are read again. The mark's
 * age is asked once a statement, not once a row. */
void postgres_source_blocks_write_since(struct query *q, const char *alias,
					uint64_t xid)
{
	char *text = xstrfmt("%" PRIu32, (uint32_t)xid);

	strbuf_addf(&q->sql, "age(%s.xmin) BETWEEN 0 AND (SELECT age(", alias);
	postgres_source_query_value(q, "pg_catalog.xid", text);
	strbuf_addstr(&q->sql, "))");
	free(text);
}

static void blocks_write_query(struct postgres *c, struct query *q)
{
	struct blocks *b = &c->blocks;
	const char *alias = c->layout.table.alias;
	char *begin = xstrfmt("(%" PRId64 ",%d)", b->block, b->offset);
	char *end = xstrfmt("(%" PRId64 ",0)", b->end);
	struct query tail;

	postgres_source_query_init(&tail, QUERY_STREAM);
	strbuf_addf(&tail.sql, ", %s.ctid, ", alias);
	postgres_source_blocks_write_since(&tail, alias, b->ceiling);
	postgres_source_query_adopt(q, &tail);
	postgres_source_query_select(
		q, &c->layout, b->leaves.items[b->leaf].sql, tail.sql.data);
	strbuf_addf(&q->sql, "%s.ctid >= ", alias);
	postgres_source_query_value(q, "pg_catalog.tid", begin);
	if (b->end >= 0) {
		strbuf_addf(&q->sql, " AND %s.ctid < ", alias);
		postgres_source_query_value(q, "pg_catalog.tid", end);
	}
	if (!b->whole[b->leaf]) {
		strbuf_addstr(&q->sql, " AND ");
		postgres_source_blocks_write_since(q, alias, b->mark);
	}
	free(begin);
	free(end);
	postgres_source_query_release(&tail);
}

/* How many blocks will about fill the batch. */
static int64_t blocks_count(const struct postgres *c, size_t wanted)
{
	const struct blocks *b = &c->blocks;
	const struct leaf *leaf = &b->leaves.items[b->leaf];
	double rows = BLOCKS_ROWS_GUESS, count;

	if (b->count)
		return b->count;
	if (!b->whole[b->leaf])
		return BLOCKS_FIRST;
	if (leaf->rows > 0 && leaf->blocks > 0)
		rows = leaf->rows / (double)leaf->blocks;
	count = (double)wanted / rows + 1;
	return count < BLOCKS_FEWEST ? BLOCKS_FEWEST
	       : count > BLOCKS_MOST ? BLOCKS_MOST
				     : (int64_t)count;
}

int postgres_source_blocks_open_extract(struct postgres *c,
					const struct batch *out,
					struct error *err)
{
	struct blocks *b = &c->blocks;
	const struct leaf *leaf = &b->leaves.items[b->leaf];
	size_t wanted =
		out->max_rows ? out->max_rows - out->n_rows : BLOCKS_BATCH;
	struct query q;
	int rc = 0;

	b->end = b->block + blocks_count(c, wanted);
	/* The last range has no end: what is appended meanwhile is newer than
	 * the ceiling, and comes along. */
	if (b->end >= leaf->blocks ||
	    pg_server_version(c->pg) < BLOCKS_RANGE_VERSION)
		b->end = -1;
	b->matched = 0;
	b->last_block = b->block;
	b->last_offset = b->offset - 1;
	b->extracts++;
	if (!b->in_transaction)
		rc = postgres_source_blocks_transaction(c, err);
	if (rc)
		return rc;
	postgres_source_query_init(&q, QUERY_STREAM);
	blocks_write_query(c, &q);
	rc = postgres_source_shape_stream(c, leaf, &q, BLOCKS_EXTRA, err);
	b->streaming = !rc;
	postgres_source_query_release(&q);
	return rc;
}

/* The next extract's size by what this one gave. */
static void blocks_adapt(struct blocks *b, const struct batch *out)
{
	double read = (double)(b->end - b->block), count;
	double wanted = out->max_rows ? (double)out->max_rows : BLOCKS_BATCH;

	if (b->end < 0)
		return;
	count = b->matched ? read * wanted / (double)b->matched : read * 4;
	if (count > read * 4)
		count = read * 4;
	b->count = count < BLOCKS_FEWEST ? BLOCKS_FEWEST
		   : count > BLOCKS_MOST ? BLOCKS_MOST
					 : (int64_t)count;
}

static const char blocks_file_sql[] =
	"SELECT coalesce(pg_relation_filenode($1::oid), 0),\n"
	"  EXISTS (SELECT FROM pg_class WHERE oid = $1::oid\n"
	"    AND relfilenode = pg_relation_filenode(oid))";

/* Look up the leaf's present file, and whether it was there when the snapshot
 * was taken. An ALTER TABLE may write a new file after the snapshot, and before
 * the statement has its lock. Rows of this file are invisible, and the extract
 * has read nothing. */
static int blocks_look_at_file(struct postgres *c, uint32_t *file, bool *seen,
			       struct error *err)
{
	const struct blocks *b = &c->blocks;
	char *oid = xstrfmt("%u", b->leaves.items[b->leaf].oid);
	const char *params[] = { oid };
	struct pg_result *r = NULL;
	int rc;

	pg_ahead_add(c->pg, blocks_file_sql, 1, params);
	postgres_source_blocks_commit_ahead(c);
	rc = pg_ahead_ask_kept(c->pg, err);
	if (!rc)
		rc = pg_query(c->pg, &r, blocks_file_sql, "1tt", 1, params,
			      err);
	free(oid);
	if (rc)
		return rc;
	*file = (uint32_t)strtoul(pg_value(r, 0, 0), NULL, 10);
	*seen = *pg_value(r, 0, 1) == 't';
	pg_result_free(r);
	return 0;
}

/* The extract's rows are all read. Its table may have been rewritten (VACUUM
 * FULL, CLUSTER) since the pass began on it. Rows then moved without a new
 * xmin, and the table is read from its first block again. The statement's lock
 * keeps the answer true for this extract, up to the COMMIT of its message. */
static int blocks_close_extract(struct postgres *c, struct batch *out,
				struct error *err)
{
	struct blocks *b = &c->blocks;
	struct leaf *leaf = &b->leaves.items[b->leaf];
	uint32_t file = 0;
	bool seen = false;
	int rc;

	b->streaming = false;
	rc = blocks_look_at_file(c, &file, &seen, err);
	if (!rc)
		rc = postgres_source_blocks_commit(c, err);
	if (rc)
		return rc;
	blocks_adapt(b, out);
	b->offset = 0;
	if (!seen || file != leaf->file) {
		leaf->file = file;
		b->block = 0;
	} else if (b->end < 0) {
		b->leaf++;
		b->block = 0;
	} else {
		b->block = b->end;
	}
	return failpoint("page_end", err);
}

/* Behind the columns: the row's tid, and whether it is past the ceiling. False
 * if it is held back for that: sent all the same, as counting it by itself
 * would read the table once more. */
static bool blocks_place_row(struct postgres *c, struct batch *out)
{
	const struct pg_field_bytes *f =
		pg_stream_fields(c->pg) + c->layout.n_columns;
	const uint8_t *tid = f[0].data, *tail = f[1].data;

	if (tid && f[0].n == 6) {
		c->blocks.last_block = (int64_t)tid[0] << 24 | tid[1] << 16 |
				       tid[2] << 8 | tid[3];
		c->blocks.last_offset = tid[4] << 8 | tid[5];
	}
	if (!tail || f[1].n != 1 || !*tail)
		return true;
	if (c->pass.scan->mark->tail == TAIL_HOLD) {
		c->blocks.held++;
		return false;
	}
	out->n_tail++;
	return true;
}

int postgres_source_blocks_fill(struct postgres *c, struct batch *out,
				struct error *err)
{
	struct blocks *b = &c->blocks;
	int rc = 0;

	while (!rc && !batch_is_full(out)) {
		rc = pg_stream_next(c->pg, err);
		if (rc < 0)
			return postgres_source_rows_stream_failed(c, out, err);
		if (!rc)
			break;
		b->matched++;
		rc = blocks_place_row(c, out)
			     ? postgres_source_rows_append(c, out, err)
			     : 0;
		if (!rc)
			rc = postgres_source_rows_failpoints(
				c, (size_t)b->matched, err);
	}
	if (rc || batch_is_full(out))
		return rc;
	return blocks_close_extract(c, out, err);
}
