#include "cli/backfill_line.h"

#include <inttypes.h>

#include "core/base/clock.h"
#include "core/base/units.h"

static void backfill_add_rest(struct strbuf *sb, const struct backfill_sums *n,
			      const char *before, const char *behind)
{
	if (!(n->queued + n->running) || n->eta_seconds < 0)
		return;
	strbuf_addstr(sb, before);
	units_print_duration(sb,
			     (int64_t)(n->eta_seconds + 0.5) * US_PER_SECOND);
	strbuf_addstr(sb, behind);
}

void backfill_line(struct strbuf *sb, const char *pipeline,
		   const struct backfill_sums *n)
{
	strbuf_addf(sb,
		    "%s: %" PRId64 " of %" PRId64 " chunks, %" PRId64
		    " running, %" PRId64 " left",
		    pipeline, n->done, n->n, n->running, n->queued);
	if (n->failed)
		strbuf_addf(sb, ", %" PRId64 " failed", n->failed);
	if (!n->done)
		return;
	strbuf_addstr(sb, ", ");
	units_print_short(sb, n->rate);
	strbuf_addstr(sb, " rows/s");
	backfill_add_rest(sb, n, ", about ", " left");
}

void backfill_say(const char *pipeline, const struct backfill_sums *n,
		  void (*say)(const char *fmt, ...))
{
	struct strbuf rest = STRBUF_INIT;

	backfill_add_rest(&rest, n, ", done in ", "");
	say("%s: %" PRId64 " of %" PRId64 " chunks done, %" PRId64
	    " running, %" PRId64 " left, %" PRId64 " failed; %" PRId64 " of "
	    "%" PRId64 " rows, %.0f rows/s%s",
	    pipeline, n->done, n->n, n->running, n->queued, n->failed,
	    n->rows_done, n->rows, n->rate, rest.len ? rest.data : "");
	strbuf_release(&rest);
}
