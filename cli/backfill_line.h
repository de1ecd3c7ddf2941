/* How far a backfill has come, as one line: for `backfill` and `status`. */
#ifndef TIDEMARK_CLI_BACKFILL_LINE_H
#define TIDEMARK_CLI_BACKFILL_LINE_H

#include "core/base/strbuf.h"
#include "core/sync/backfill/backfill.h"

/* For a terminal's width: "orders: 3 of 40 chunks, 4 running (1 held), 33
 * left, 12.3k rows/s, about 5m left, held by ..." is appended. */
void backfill_line(struct strbuf *sb, const char *pipeline,
		   const struct backfill_sums *n);
/* `say`: output_line, log_info. */
void backfill_say(const char *pipeline, const struct backfill_sums *n,
		  void (*say)(const char *fmt, ...));

#endif
