#include "cli/backfill_line.h"

#include <inttypes.h>

#include "core/base/clock.h"
#include "core/base/units.h"

void backfill_say(const char *pipeline, const struct backfill_sums *n,
		  void (*say)(const char *fmt, ...))
{
	struct strbuf eta = STRBUF_INIT;

	if (n->queued + n->running && n->eta_seconds >= 0) {
		strbuf_addstr(&eta, ", done in ");
		units_print_duration(&eta, (int64_t)(n->eta_seconds + 0.5) *
						   US_PER_SECOND);
	}
	say("%s: %" PRId64 " of %" PRId64 " chunks done, %" PRId64
	    " running, %" PRId64 " left, %" PRId64 " failed; %" PRId64 " of "
	    "%" PRId64 " rows, %.0f rows/s%s",
	    pipeline, n->done, n->n, n->running, n->queued, n->failed,
	    n->rows_done, n->rows, n->rate, eta.len ? eta.data : "");
	strbuf_release(&eta);
}
