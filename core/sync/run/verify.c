#include "core/sync/run/verify.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/stop.h"
#include "core/sync/run/run.h"
#include "core/sync/run/verify_look.h"

/* Remembered rows: together at most 16 MiB. Rows of the tail come last. */
#define RUN_VERIFY_ROWS 400000
#define RUN_VERIFY_TAIL 400000

bool run_verify_is_asked(const struct pipeline_settings *p,
			 const struct run_options *options)
{
	return options->verify ||
	       (p->verify && task_has(options->task, TASK_VERIFIES));
}

int run_verify_check(const struct pipeline_settings *p, struct error *err)
{
	if (p->strategy == STRATEGY_NONE)
		return error_set(err, ERROR_CONFIG,
				 "pipeline %s has no watermark, and so no "
				 "window for --verify; leave it out, and use "
				 "tidemark verify %s",
				 p->name, settings_call(p));
	if (p->mode != LOAD_UPDATE)
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "pipeline %s is in mode update: it fills columns of "
			 "rows that others write, so there is nothing for "
			 "--verify to compare them with; leave it out, or name "
			 "the pipelines that are to be verified",
			 p->name);
}

/* A pass by blocks that was left in its midst has no value yet. */
static bool run_verify_goes_on(const struct run *r)
{
	return r->from.value ||
	       (r->p->strategy == STRATEGY_XMIN && r->from.pending);
}

void run_verify_begin(struct run *r)
{
	struct run_verify *v = r->verify;

	/* A later try goes on where an earlier one was, unless all is to be
	 * read again. */
	if (!v || (v->begun && run_verify_goes_on(r)))
		return;
	watermark_release(&v->from);
	watermark_copy(&v->from, &r->from);
	v->begun = true;
}

/* The next run may read this batch again. Nobody can tell which rows lie within
 * lag, or are without a mark that is not delivered. */
static bool run_verify_keeps(const struct run *r, const struct batch *b)
{
	return b->n_tail || r->p->lag_us || r->p->lag_count ||
	       r->p->nulls == NULLS_INCLUDE;
}

void run_verify_loaded(struct run *r, const struct batch *b)
{
	struct run_verify *v = r->verify;
	size_t most = RUN_VERIFY_ROWS + (b->n_tail ? RUN_VERIFY_TAIL : 0);

	if (!v || !run_verify_keeps(r, b))
		return;
	v->n_tail += (int64_t)b->n_tail;
	for (size_t row = 0; row < b->n_rows; row++)
		fingerprints_add(&v->delivered,
				 digest_rows_of(&v->slots, b, row).low, most);
}

void run_verify_release(struct run_verify *v)
{
	watermark_release(&v->from);
	fingerprints_release(&v->delivered);
	digest_rows_release(&v->slots);
}

static void run_verify_add_remedy(struct strbuf *sb,
				  const struct pipeline_settings *p)
{
	if (p->mode == LOAD_REPLACE)
		strbuf_addstr(sb, "the next run loads all of the table anew");
	else
		strbuf_addf(sb,
			    "the next run reads those again that lie ahead of "
			    "the mark, or within lag; no run need read the "
			    "others: tidemark verify %s --repair mends them",
			    settings_call(p));
}

static void run_verify_add_keys(struct strbuf *sb, const struct run_verified *v)
{
	int64_t n = (int64_t)json_array_size(v->examples);

	for (int64_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(v->examples, (size_t)i);
		char *key = json_dumps(json_object_get(x, "key"), JSON_COMPACT);

		strbuf_addf(sb, "%s%s %s", i ? ", " : "", key,
			    json_string_value(json_object_get(x, "kind")));
		free(key);
	}
	if (n < differences_sum(&v->found))
		strbuf_addstr(sb, n ? ", ..." : "...");
}

static int run_verify_differs(const struct run_result *r, struct error *err)
{
	const struct run_verified *v = &r->verified;
	struct strbuf keys = STRBUF_INIT, remedy = STRBUF_INIT;

	run_verify_add_keys(&keys, v);
	run_verify_add_remedy(&remedy, r->pipeline);
	error_clear(err);
	error_set(err, ERROR_DIFFERENT,
		  "loaded, but %s%" PRId64 " of %" PRId64
		  " rows of the window are not in %s as %s has them (%" PRId64
		  " missing, %" PRId64 " different): %s. Something there "
		  "drops or changes what is loaded (a trigger, another "
		  "writer?), or rows changed at the source without a newer "
		  "mark; %s",
		  v->more ? "at least " : "", differences_sum(&v->found),
		  v->rows, r->pipeline->destination_table,
		  r->pipeline->source_table, v->found.of[DIFFERENCE_MISSING],
		  run_verified_different(v), keys.data, remedy.data);
	strbuf_release(&keys);
	strbuf_release(&remedy);
	return -ERROR_DIFFERENT;
}

static int run_verify_failed(const struct run_result *r, int rc,
			     struct error *err)
{
	if (!stop_requested() ||
	    !(error_may_pass(err->code) || rc == -ERROR_STOPPED)) {
		error_prefix(err, "loaded, but not verified");
		return rc;
	}
	error_clear(err);
	return error_set(err, ERROR_STOPPED,
			 "stopped by a signal: all is loaded, and %" PRId64
			 " rows of it were verified by then",
			 r->verified.rows);
}

static void run_verify_reset(struct run_verified *v)
{
	json_decref(v->examples);
	*v = (struct run_verified){ .asked = true, .examples = json_array() };
}

int run_verify_window(struct run_context *c, struct run_result *out,
		      struct error *err)
{
	struct tries tries = { .policy = &c->p->retry,
			       .single = c->tries.single };
	struct run_verified *v = &out->verified;
	int64_t begun = clock_monotonic_us();
	int rc = 0;

	out->verifying = true;
	do {
		error_clear(err);
		run_verify_reset(v);
		if (out->rows_read)
			rc = window_look(c, out, err);
	} while (rc && tries_again(&tries, err));
	out->verifying = false;
	run_pace_rest(&c->pacing);
	v->done = !rc;
	v->elapsed_us = clock_monotonic_us() - begun;
	/* A difference that was found is worse than a look that did not come to
	 * its end. */
	if (differences_sum(&v->found))
		return run_verify_differs(out, err);
	return rc ? run_verify_failed(out, rc, err) : 0;
}
