#include "cli/backfill_line.h"

#include <inttypes.h>

#include "cli/progress.h"
#include "core/base/clock.h"
#include "core/base/json_text.h"
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

static void backfill_add_held(struct strbuf *sb, const struct backfill_sums *n)
{
	if (n->held)
		strbuf_addf(sb, " (%" PRId64 " held)", n->held);
}

/* Tell the hold of the chunk that waits the longest. */
static void backfill_add_pause(struct strbuf *sb, const struct backfill_sums *n)
{
	json_t *paused = json_text_value(n->paused);

	if (n->paused)
		progress_add_pause(sb, paused);
	json_decref(paused);
}

void backfill_line(struct strbuf *sb, const char *pipeline,
		   const struct backfill_sums *n)
{
	strbuf_addf(sb,
		    "%s: %" PRId64 " of %" PRId64 " chunks, %" PRId64
		    " running",
		    pipeline, n->done, n->n, n->running);
	backfill_add_held(sb, n);
	strbuf_addf(sb, ", %" PRId64 " left", n->queued);
	if (n->failed)
		strbuf_addf(sb, ", %" PRId64 " failed", n->failed);
	if (n->done) {
		strbuf_addstr(sb, ", ");
		units_print_short(sb, n->rate);
		strbuf_addstr(sb, " rows/s");
		backfill_add_rest(sb, n, ", about ", " left");
	}
	backfill_add_pause(sb, n);
}

void backfill_say(const char *pipeline, const struct backfill_sums *n,
		  void (*say)(const char *fmt, ...))
{
	struct strbuf held = STRBUF_INIT, rest = STRBUF_INIT;

	backfill_add_held(&held, n);
	backfill_add_rest(&rest, n, ", done in ", "");
	backfill_add_pause(&rest, n);
	say("%s: %" PRId64 " of %" PRId64 " chunks done, %" PRId64
	    " running%s, %" PRId64 " left, %" PRId64 " failed; %" PRId64 " of "
	    "%" PRId64 " rows, %.0f rows/s%s",
	    pipeline, n->done, n->n, n->running, held.len ? held.data : "",
	    n->queued, n->failed, n->rows_done, n->rows, n->rate,
	    rest.len ? rest.data : "");
	strbuf_release(&held);
	strbuf_release(&rest);
}
