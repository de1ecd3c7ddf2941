/*
 * Does a mark outlive a crash of the source? Every rollback is visible before
 * the log is flushed, and so is a commit that did not wait for the log
 * (synchronous_commit = off). A crash then takes it back, and the server gives
 * the same transaction ids and sequence values out again. A mark that had
 * passed them would hide the new rows. So the mark is handed over only once the
 * log is flushed past what the settled point saw. Rows do not wait for that.
 */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_DURABLE_H
#define TIDEMARK_CONNECTORS_POSTGRES_DURABLE_H

#include "connectors/postgres/postgres.h"

/* Columns for a statement: where the log ends, how far it is flushed, and the
 * sizes of its pages and segments. The first two are NULL on a standby, which
 * has only the flushed log of its primary. */
#define DURABLE_COLUMNS                                                        \
	"CASE WHEN NOT pg_is_in_recovery()\n"                                  \
	"  THEN pg_current_wal_insert_lsn() END,\n"                            \
	"CASE WHEN NOT pg_is_in_recovery()\n"                                  \
	"  THEN pg_current_wal_flush_lsn() END,\n"                             \
	"current_setting('wal_block_size'),\n"                                 \
	"pg_size_bytes(current_setting('wal_segment_size'))"
#define DURABLE_N_COLUMNS 4
/* Their shape, as pg_query() takes it. */
#define DURABLE_SHAPE "??tt"

/* Read these columns, of which the first has number `first`. Returns how far
 * the log must be flushed before every transaction that ended before the
 * statement is durable. 0: it is flushed as far as that. */
uint64_t postgres_source_durable_target(const struct pg_result *r, int first);
/* The same for whoever waits by itself: log_end and log_flushed. */
void postgres_source_durable_tell(const struct pg_result *r, int first,
				  struct settled *out);
/* Did a statement with these columns fail because this role, or this server,
 * does not have the functions? */
bool postgres_source_durable_is_hidden(const struct error *err);
/* Why a mark may be ahead of the durable log, and what to grant. */
void postgres_source_durable_explain(const char *role, struct strbuf *reason);

/* From now on the running mark waits for `target`; 0: for nothing. */
void postgres_source_durable_begin(struct postgres *c, uint64_t target);
/* Set the batch's watermark: the running mark or, until it is durable, the last
 * durable one. At the end of a pass wait a moment. `busy`: a statement is under
 * way, and nothing else can be asked. */
int postgres_source_durable_hand_over(struct postgres *c, struct batch *out,
				      bool busy, struct error *err);

#endif
