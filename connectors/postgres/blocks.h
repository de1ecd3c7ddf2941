/*
 * The parts of a pass by ranges of blocks (strategy xmin). blocks.c walks from
 * pass to pass and leaf to leaf, blocks_extract.c reads one range,
 * blocks_mark.c writes and reads what a pass leaves in the watermark.
 */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_BLOCKS_H
#define TIDEMARK_CONNECTORS_POSTGRES_BLOCKS_H

#include "connectors/postgres/postgres.h"
#include "connectors/postgres/query.h"

/* Begin and end the transaction of an extract; both can be asked ahead. */
void postgres_source_blocks_transaction_ahead(struct postgres *c);
void postgres_source_blocks_commit_ahead(struct postgres *c);
int postgres_source_blocks_transaction(struct postgres *c, struct error *err);
int postgres_source_blocks_commit(struct postgres *c, struct error *err);

/* blocks_extract.c */
/* Append that a row's xmin is `xid` or newer. */
void postgres_source_blocks_write_since(struct query *q, const char *alias,
					uint64_t xid);
int postgres_source_blocks_open_extract(struct postgres *c,
					const struct batch *out,
					struct error *err);
/* Rows of the extract under way, until the batch is full or it ends; then
 * `leaf` and `block` are where the next one begins. */
int postgres_source_blocks_fill(struct postgres *c, struct batch *out,
				struct error *err);

/* blocks_mark.c */
/* Leaves of earlier passes, from the mark; where a pass that was cut short
 * goes on, if its tables are still the same. */
void postgres_source_blocks_read_known(struct postgres *c);
void postgres_source_blocks_resume(struct postgres *c);
/* Decide which leaves are read whole: all, or those attached since. */
void postgres_source_blocks_mark_whole(struct postgres *c);
/* The running mark: in the middle of a pass at `block`, or at its end. */
void postgres_source_blocks_set_pending(struct postgres *c);
void postgres_source_blocks_settle_mark(struct postgres *c);
/* New reference, or NULL: nothing to tell apart. */
json_t *postgres_source_blocks_list_leaves(const struct postgres *c);

#endif
