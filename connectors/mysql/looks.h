/*
 * One look at the open transactions proves something to the next look: a time
 * before which every NOW() belongs to a transaction that is over.
 *
 * A transaction's trx_started is no bound. The server sets it after the first
 * statement has waited for a metadata lock, and takes NOW() before (seen on
 * MariaDB 10.11 and MySQL 9.7). But a transaction that begins after a look has
 * its NOW() after that look's point. So a transaction that an earlier look did
 * not show is bounded by that look. The memory travels in the watermark's
 * "pending".
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_LOOKS_H
#define TIDEMARK_CONNECTORS_MYSQL_LOOKS_H

#include "connectors/mysql/activity.h"
#include "core/data/watermark.h"

struct mysql_source_looks {
	bool any; /* point_us holds */
	int64_t point_us; /* the last look's */
	json_t *seen; /* transaction -> µs: before its first NOW() */
	bool guessed; /* one was open before the first look */
};

/* Read a watermark's pending part, which may be NULL, or hold nothing of
 * ours. */
void mysql_source_looks_read(struct mysql_source_looks *looks,
			     const json_t *pending);
/* The `pending` part of a watermark; new reference; NULL: nothing was looked
 * at. */
json_t *mysql_source_looks_json(const struct mysql_source_looks *looks);
/* Put the result of mysql_source_looks_json into a mark that moves. */
void mysql_source_looks_store(json_t *looked, struct watermark *mark);
void mysql_source_looks_release(struct mysql_source_looks *looks);
/* One more look, `margin_us` less than what it shows. */
void mysql_source_looks_add(struct mysql_source_looks *looks,
			    const struct mysql_source_activity *a,
			    int64_t margin_us);
/* The settled instant after the look `a` was added. `held`: it would be later
 * if the transactions that have written were over. */
int64_t mysql_source_looks_settled(const struct mysql_source_looks *looks,
				   const struct mysql_source_activity *a,
				   int64_t margin_us, bool *held);

#endif
