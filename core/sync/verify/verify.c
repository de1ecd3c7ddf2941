#include "core/sync/verify/verify.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stop.h"
#include "core/sync/parts/changing.h"
#include "core/sync/parts/kept.h"
#include "core/sync/parts/tries.h"
#include "core/sync/verify/examples.h"
#include "core/sync/verify/pace.h"
#include "core/sync/verify/since.h"
#include "core/sync/verify/whole.h"

struct verify {
	const struct pipeline_settings *p;
	const struct verify_terms *terms;
	struct verify_result *out;
	struct verify_pace *pace; /* the source's */
	struct driver_terms driver_terms;
	struct driver driver; /* its mark is the one when it all began */
	struct whole whole;
};

static int verify_open(struct verify *v, struct error *err)
{
	struct driver *d = &v->driver;
	struct verify_side *source = &d->sides[COMPARE_SOURCE];
	int rc = verify_side_open_source(source, v->p, err);

	source->pace = v->pace->pacing.pace;
	if (!rc)
		rc = verify_take_mark(v->p, &d->mark, err);
	v->out->marked = d->mark.identity || d->mark.value || d->mark.pending;
	if (!rc)
		rc = driver_match(d, &source->schema, err);
	for (size_t i = 0; !rc && v->out->part.since && i < COMPARE_SIDES; i++)
		rc = verify_since_begin(&d->sides[i], v->out->part.since, err);
	return rc;
}

static int verify_suspect(struct driver *d, bool *more, struct error *err)
{
	struct verify *v = d->ctx;

	return whole_suspect(&v->whole, more, err);
}

static void verify_note_hidden(struct verify *v)
{
	const char *hidden = v->driver.sides[COMPARE_SOURCE].hidden;

	if (!hidden || v->out->hidden)
		return;
	v->out->hidden = xstrdup(hidden);
	log_warn("%s: rows that it does not show count as extra", hidden);
}

static int verify_excuse(struct driver *d, struct error *err)
{
	int rc;

	/* Nothing came behind a mark. */
	if (d->p->strategy == STRATEGY_NONE)
		return 0;
	verify_progress_begin(&d->progress, "reading past the mark");
	rc = verify_mark_past(&d->sides[COMPARE_SOURCE], &d->mark, &d->compare,
			      &d->suspects, err);
	verify_note_hidden(d->ctx);
	return rc;
}

static void verify_judged(struct driver *d, const struct suspect *x)
{
	const struct verify *v = d->ctx;

	if (!x->past && v->terms->work)
		verify_work_add(v->terms->work, x, d->compare.n_key);
}

static void verify_init(struct verify *v)
{
	const struct verify_terms *terms = v->terms;
	struct driver *d = &v->driver;

	v->driver_terms = (struct driver_terms){
		.suspect = verify_suspect,
		.excuse = verify_excuse,
		.judged = verify_judged,
		.recounts = true,
		.examples = VERIFY_EXAMPLES,
		.values = terms->values,
		.extra_only = terms->extra_only,
	};
	*d = (struct driver){ .p = v->p,
			      .terms = &v->driver_terms,
			      .ctx = v,
			      .part = &v->out->part,
			      .found = &v->out->found,
			      .examples = v->out->examples,
			      .progress = { .pipeline = v->p,
					    .tell = terms->progress,
					    .ctx = terms->ctx } };
	driver_init(d);
	d->mark.strategy = v->p->strategy;
	d->mark.column = xstrdup(v->p->mark_column);
	v->whole = (struct whole){ .d = d,
				   .work = terms->work,
				   .brief = terms->brief,
				   .sums = terms->sums,
				   .rows = v->out->rows };
}

/* The work that was found goes with the comparison that found it. */
static void verify_hand_over(struct verify *v)
{
	struct verify_work *work = v->terms->work;

	if (!work)
		return;
	work->compare = v->driver.compare;
	memset(&v->driver.compare, 0, sizeof(v->driver.compare));
}

static int verify_compare(struct verify *v, struct error *err)
{
	struct verify_result *out = v->out;
	struct driver *d = &v->driver;
	int rc = verify_pace_begin(v->pace, &d->progress, err);

	if (!rc)
		rc = verify_open(v, err);
	if (!rc)
		rc = driver_run(d, err);
	whole_end(&v->whole);
	out->done = !rc;
	if (!rc) {
		verify_result_count(out);
		kept_find(&d->mark, &d->sides[COMPARE_SOURCE].schema,
			  &d->sides[COMPARE_DESTINATION].all, &out->kept);
	}
	if (rc && out->part.since &&
	    error_has_code(err, CONNECTOR_MARK_NOTATION))
		error_hint(err, "(only --since goes by the marks: --sample "
				"looks at a part without them)");
	return rc ? rc : verify_result_verdict(out, err);
}

static int verify_try(const struct pipeline_settings *p,
		      const struct verify_terms *terms,
		      struct verify_pace *pace, struct verify_result *out,
		      struct error *err)
{
	struct verify v = { .p = p, .terms = terms, .out = out, .pace = pace };
	int rc;

	verify_init(&v);
	rc = verify_compare(&v, err);
	verify_hand_over(&v);
	whole_release(&v.whole);
	driver_release(&v.driver);
	return rc;
}

static int verify_begin_try(const struct pipeline_settings *p,
			    const struct verify_terms *terms,
			    struct verify_pace *pace, struct verify_result *out,
			    struct error *err)
{
	verify_result_release(out);
	verify_result_init(out, p);
	out->part = terms->part;
	if (terms->work)
		verify_work_reset(terms->work);
	error_clear(err);
	return verify_try(p, terms, pace, out, err);
}

static int verify_check(const struct pipeline_settings *p,
			const struct verify_terms *terms, struct error *err)
{
	if (settings_fault(p, err))
		return -(int)err->code;
	if (p->mode == LOAD_UPDATE)
		return error_set(err, ERROR_CONFIG,
				 "pipeline %s is in mode update: it fills "
				 "columns of rows that others write, so its "
				 "table is not meant to equal the source; run "
				 "--dry-run says what is still to be written",
				 p->name);
	if (changing_refuse(p, err))
		return -ERROR_CONFIG;
	return terms->part.since ? verify_since_check(p, err) : 0;
}

int verify_pipeline(const struct pipeline_settings *p,
		    const struct verify_terms *terms, struct verify_result *out,
		    struct error *err)
{
	int64_t begun = clock_monotonic_us();
	struct tries tries = { .policy = &p->retry };
	struct verify_pace pace;
	int rc;

	verify_result_init(out, p);
	out->part = terms->part;
	rc = verify_check(p, terms, err);
	if (rc) {
		out->error = *err;
		return rc;
	}
	verify_pace_init(&pace, p, terms->looked_at);
	do
		rc = verify_begin_try(p, terms, &pace, out, err);
	while (rc && tries_again(&tries, err));
	verify_pace_release(&pace);
	if (rc && stop_requested() &&
	    (error_may_pass(err->code) || err->code == ERROR_STOPPED))
		rc = verify_result_stopped(out, err);
	if (rc == -ERROR_DIFFERENT && out->found.of[DIFFERENCE_EXTRA])
		verify_result_name_others(out, err);
	out->elapsed_us = clock_monotonic_us() - begun;
	if (rc)
		out->error = *err;
	return rc;
}
