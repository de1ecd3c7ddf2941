#include "core/sync/pipeline.h"

#include <inttypes.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stop.h"
#include "core/base/units.h"
#include "core/sync/ledger.h"
#include "core/sync/try.h"

/* Bounds of what a batch adapts to: rows, and times the configured ones. */
#define PIPELINE_FEWEST_ROWS 200
#define PIPELINE_MOST_TIMES  8

/* Is another try worth it? Sleeps before it; a stop ends the waiting. */
static bool pipeline_again(const struct pipeline_settings *p, int64_t attempt,
			   const struct error *err)
{
	int64_t wait;
	struct strbuf sb = STRBUF_INIT;

	if (err->code != ERROR_TRANSIENT || attempt >= p->retry.attempts ||
	    stop_requested())
		return false;
	wait = retry_delay_us(&p->retry, attempt, retry_random());
	units_print_duration(&sb, wait / 1000 * 1000);
	log_warn("try %" PRId64 " of %" PRId64 " failed, next in %s: %s",
		 attempt, p->retry.attempts, sb.data, err->message);
	strbuf_release(&sb);
	return !clock_sleep_us(wait);
}

/* A table that is built anew begins at its first row again: the batches of a
 * failed try were for nothing. */
static bool pipeline_got_on(const struct pipeline_settings *p,
			    const struct run_options *options,
			    int64_t batches_before,
			    const struct run_result *out)
{
	return p->mode != LOAD_REPLACE && !options->full_refresh &&
	       out->batches > batches_before;
}

/* Tries until one ends well, or badly for good. Progress starts the count of
 * tries anew. */
static int pipeline_tries(const struct pipeline_settings *p,
			  struct store *store,
			  const struct run_options *options,
			  struct run_result *out, struct error *err)
{
	int64_t attempt = 0, batches;
	int rc;

	do {
		error_clear(err);
		batches = out->batches;
		rc = pipeline_try(p, store, options, out, err);
		attempt = pipeline_got_on(p, options, batches, out)
				  ? 1
				  : attempt + 1;
	} while (rc && pipeline_again(p, attempt, err));
	if (rc && stop_requested() && err->code == ERROR_TRANSIENT) {
		error_clear(err);
		rc = error_set(err, ERROR_STOPPED, "stopped by a signal");
	}
	return rc;
}

static void pipeline_outcome(struct run_result *out, const struct error *err)
{
	if (!err->code)
		return;
	out->error = *err;
	out->outcome = err->code == ERROR_STOPPED ? OUTCOME_STOPPED
		       : err->code == ERROR_STATE ? OUTCOME_BUSY
						  : OUTCOME_FAILED;
}

int pipeline_run(const struct pipeline_settings *p, struct store *store,
		 const struct run_options *options, struct run_result *out,
		 struct error *err)
{
	char id[DIGEST_TEXT_SIZE];
	int rc;

	run_result_init(out, p);
	out->started_us = clock_now_us();
	out->begun_us = clock_monotonic_us();
	ledger_attempt_id(id);
	out->attempt_id = xstrdup(id);
	ledger_run_id(p, NULL, id);
	out->run_id = xstrdup(id);
	log_set_pipeline(p->name);
	rc = ledger_check_busy(store, out, err);
	if (!rc)
		rc = pipeline_tries(p, store, options, out, err);
	pipeline_outcome(out, err);
	out->elapsed_us = clock_monotonic_us() - out->begun_us;
	if (ledger_end(store, out, rc ? NULL : err) && !rc) {
		rc = -(int)err->code;
		pipeline_outcome(out, err);
	}
	log_set_pipeline("");
	return rc;
}

/* Rows of the next batch: towards the target latency, at most halving or
 * doubling, within the configured bounds. A batch that was not full says
 * nothing. */
size_t pipeline_adapt_rows(size_t rows, size_t loaded, int64_t load_us,
			   int64_t target_us, size_t configured, size_t piece)
{
	size_t fewest = configured < PIPELINE_FEWEST_ROWS
				? configured
				: PIPELINE_FEWEST_ROWS;
	size_t most = configured * PIPELINE_MOST_TIMES;
	double factor;

	if (loaded < rows || load_us <= 0)
		return rows;
	factor = (double)target_us / (double)load_us;
	factor = factor > 2 ? 2 : factor < 0.5 ? 0.5 : factor;
	rows = (size_t)((double)rows * factor);
	rows = rows < fewest ? fewest : rows > most ? most : rows;
	return piece && rows > piece ? rows - rows % piece : rows;
}

size_t pipeline_first_rows(size_t configured, size_t piece)
{
	bool fits = piece && configured < piece &&
		    piece <= configured * PIPELINE_MOST_TIMES;

	return fits ? piece : configured;
}
