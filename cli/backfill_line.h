/* How far a backfill has come, as one line: for `backfill` and `status`. */
#ifndef TIDEMARK_CLI_BACKFILL_LINE_H
#define TIDEMARK_CLI_BACKFILL_LINE_H

#include "core/sync/backfill.h"

/* `say`: output_line, log_info. */
void backfill_say(const char *pipeline, const struct backfill_sums *n,
		  void (*say)(const char *fmt, ...));

#endif
