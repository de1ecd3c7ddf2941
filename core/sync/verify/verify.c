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
#include "core/sync/verify/suspects.h"
#include "core/sync/verify/whole_row.h"

/* Rows of unequal buckets, of both sides, collected at once: about 30 MiB. */
#define VERIFY_SUSPECTS 100000
/* A row that is looked up by its key costs as much as so many keys that are
 * read in passing. */
#define VERIFY_LOOK_UP_COST 20

struct verify {
	const struct pipeline_settings *p;
	const struct verify_terms *terms;
	struct verify_result *out;
	struct verify_pace *pace; /* of the source */
	struct verify_side sides[COMPARE_SIDES];
	struct compare compare;
	struct compare keys_compare; /* the same key without other columns */
	struct watermark from; /* the mark when it all began */
	struct verify_progress progress;
	struct tally tally;
	struct suspects suspects;
	bool sampling; /* the suspects are all keys of the part */
	bool too_many; /* for that */
};

static void verify_init(struct verify *v)
{
	for (size_t i = 0; i < COMPARE_SIDES; i++) {
		schema_init(&v->sides[i].schema);
		schema_init(&v->sides[i].keys_schema);
		v->sides[i].progress = &v->progress;
	}
	watermark_init(&v->from);
	v->from.strategy = v->p->strategy;
	v->from.column = xstrdup(v->p->mark_column);
	tally_init(&v->tally);
}

static void verify_release(struct verify *v)
{
	for (size_t i = 0; i < COMPARE_SIDES; i++)
		verify_side_close(&v->sides[i]);
	compare_release(&v->compare);
	compare_release(&v->keys_compare);
	watermark_release(&v->from);
	tally_release(&v->tally);
}

static int verify_open(struct verify *v, struct error *err)
{
	struct verify_side *source = &v->sides[COMPARE_SOURCE];
	struct verify_side *destination = &v->sides[COMPARE_DESTINATION];
	int rc = verify_side_open_source(source, v->p, err);

	source->pace = v->pace->pacing.pace;
	if (!rc)
		rc = verify_take_mark(v->p, &v->from, err);
	v->out->marked = v->from.identity || v->from.value || v->from.pending;
	if (!rc)
		rc = verify_side_open_destination(destination, v->p,
						  &source->schema, err);
	if (!rc)
		rc = compare_match(&v->compare, &source->schema,
				   &destination->schema, err);
	for (size_t i = 0; !rc && v->out->part.since && i < COMPARE_SIDES; i++)
		rc = verify_since_begin(&v->sides[i], v->out->part.since, err);
	return rc;
}

static void verify_row_collect(void *ctx, enum compare_side side,
			       const struct batch *b, size_t row,
			       const struct compare_hash *key,
			       const struct compare_hash *all)
{
	struct verify *v = ctx;
	struct suspect *x;

	if (!verify_part_has(&v->out->part, key) ||
	    (!v->sampling && !tally_wants(&v->tally, key)))
		return;
	pthread_mutex_lock(&v->suspects.lock);
	v->too_many |= v->sampling && v->suspects.n == VERIFY_SUSPECTS;
	x = v->too_many ? suspects_find(&v->suspects, key)
			: suspects_get(&v->suspects, key);
	if (x && !x->rows[side].rows)
		suspect_note_texts(x,
				   b->schema == &v->sides[side].schema
					   ? &v->compare
					   : &v->keys_compare,
				   side, b, row);
	if (x)
		suspect_count(x, side, all);
	pthread_mutex_unlock(&v->suspects.lock);
}

/* Rows that a pass over the part will bring, as far as the servers know. */
static void verify_begin_pass(struct verify *v, const char *pass)
{
	verify_progress_begin(&v->progress, pass);
	for (size_t i = 0; !v->out->part.since && i < COMPARE_SIDES; i++)
		v->progress.expected[i] = v->sides[i].schema.row_estimate;
}

static int verify_tally(struct verify *v, struct error *err)
{
	struct verify_tallied part = { &v->tally, &v->out->part };
	const struct verify_look look = verify_tallying(&v->compare, &part);
	int rc;

	verify_begin_pass(v, "comparing");
	rc = verify_read_both(v->sides, false, &look, err);
	for (size_t i = 0; i < COMPARE_SIDES; i++)
		v->out->rows[i] = tally_total(&v->tally, (enum compare_side)i);
	return rc;
}

static int verify_again(struct verify *v, enum compare_side side,
			struct error *err)
{
	return verify_count_suspects(&v->sides[side], &v->compare, &v->suspects,
				     err);
}

static void verify_sum(struct verify *v)
{
	for (size_t side = 0; side < COMPARE_SIDES; side++)
		for (size_t i = 0; i < v->suspects.n; i++)
			digest_add(&v->out->rows[side],
				   &v->suspects.items[i].rows[side]);
}

/* The source last: what it has at or below the mark then was there before the
 * destination was asked. */
static int verify_ask_again(struct verify *v, struct error *err)
{
	int rc;

	verify_progress_begin(&v->progress, "looking up");
	for (size_t i = 0; i < COMPARE_SIDES; i++)
		v->progress.expected[i] = (int64_t)v->suspects.n;
	rc = verify_again(v, COMPARE_DESTINATION, err);
	if (!rc)
		rc = verify_again(v, COMPARE_SOURCE, err);
	if (!rc && v->sampling)
		verify_sum(v);
	if (!rc)
		suspects_sieve(&v->suspects);
	return rc;
}

static void verify_note_hidden(struct verify *v)
{
	const char *hidden = v->sides[COMPARE_SOURCE].hidden;

	if (!hidden || v->out->hidden)
		return;
	v->out->hidden = xstrdup(hidden);
	log_warn("%s: rows that it does not show count as extra", hidden);
}

/* A row that changes while it is asked where it lies may have been past the
 * mark and gone, or lie past it by now. Of the others both sides are looked at
 * as they are now. */
static int verify_ask_changed(struct verify *v, struct error *err)
{
	bool changed;
	int rc = verify_mark_changed(&v->sides[COMPARE_SOURCE], &v->from,
				     &v->compare, &v->suspects, &changed, err);

	if (!rc && changed)
		rc = verify_again(v, COMPARE_DESTINATION, err);
	if (!rc)
		suspects_sieve(&v->suspects);
	return rc;
}

static int verify_ask_past(struct verify *v, struct error *err)
{
	struct verify_side *source = &v->sides[COMPARE_SOURCE];
	int rc;

	if (!v->suspects.n)
		return 0;
	verify_progress_begin(&v->progress, "reading past the mark");
	rc = verify_mark_past(source, &v->from, &v->compare, &v->suspects, err);
	verify_note_hidden(v);
	return rc ? rc : verify_ask_changed(v, err);
}

static void verify_count(struct verify *v)
{
	for (size_t i = 0; i < v->suspects.n; i++) {
		const struct suspect *x = &v->suspects.items[i];
		const char *kind = suspect_kind(x);

		if (x->past) {
			v->out->unsettled++;
			continue;
		}
		if (*kind == 'm')
			v->out->missing++;
		else if (*kind == 'e')
			v->out->extra++;
		else
			v->out->different++;
		if (v->terms->work)
			verify_work_add(v->terms->work, x, v->compare.n_key);
	}
}

static int verify_match_keys(struct verify *v, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < COMPARE_SIDES; i++)
		rc = verify_side_describe_keys(&v->sides[i], err);
	if (rc || v->keys_compare.n)
		return rc;
	return compare_match(&v->keys_compare,
			     &v->sides[COMPARE_SOURCE].keys_schema,
			     &v->sides[COMPARE_DESTINATION].keys_schema, err);
}

/* Few rows: their keys are enough, since each is looked up next. Many: their
 * rows, since most of them turn out to be equal. */
static int verify_collect(struct verify *v, struct error *err)
{
	struct verify_look look = { .compare = &v->compare,
				    .row = verify_row_collect,
				    .ctx = v };
	uint64_t rows = v->out->rows[COMPARE_SOURCE].rows +
			v->out->rows[COMPARE_DESTINATION].rows;
	bool keys =
		v->sampling || v->tally.n_wanted * VERIFY_LOOK_UP_COST < rows;
	int rc = keys ? verify_match_keys(v, err) : 0;

	verify_begin_pass(v, v->sampling ? "reading keys" : "naming");
	if (keys)
		look.compare = &v->keys_compare;
	if (!rc)
		rc = verify_read_both(v->sides, keys, &look, err);
	if (!rc && !keys)
		suspects_sieve(&v->suspects);
	if (rc)
		return rc;
	rc = suspects_refuse_cut(&v->suspects, err);
	if (!rc || !v->sampling)
		return rc;
	/* Its row may well be equal: the sums of the rows tell. */
	error_clear(err);
	v->too_many = true;
	return 0;
}

/* What has become of the suspects. */
static int verify_settle(struct verify *v, struct error *err)
{
	const struct verify_examples examples = {
		.sides = v->sides,
		.compare = &v->compare,
		.suspects = &v->suspects,
		.values = v->terms->values,
		.extra_only = v->terms->extra_only,
	};
	int rc = verify_ask_again(v, err);

	if (!rc)
		rc = verify_ask_past(v, err);
	if (rc)
		return rc;
	verify_count(v);
	return verify_examples_add(&examples, v->out->examples, err);
}

/* The keys of some unequal buckets, or of a share of all. */
static int verify_round(struct verify *v, struct error *err)
{
	int rc;

	suspects_init(&v->suspects, v->compare.n_key);
	rc = verify_collect(v, err);
	if (!rc && !v->too_many)
		rc = verify_settle(v, err);
	suspects_release(&v->suspects);
	return rc;
}

/* A small share of the keys: only those are read of the whole, and then the
 * rows of the share, unless there are too many to have them at once. */
static int verify_sample(struct verify *v, struct error *err)
{
	int64_t share = v->out->part.share;
	int64_t rows = v->sides[COMPARE_SOURCE].schema.row_estimate;
	int rc;

	v->sampling = share && share * VERIFY_LOOK_UP_COST < VERIFY_PART_ALL &&
		      rows / VERIFY_PART_ALL * share < VERIFY_SUSPECTS;
	if (!v->sampling)
		return 0;
	rc = verify_round(v, err);
	v->sampling = !v->too_many;
	v->too_many = false;
	return rc;
}

static void verify_warn_empty(const struct verify_result *r)
{
	if (!verify_part_is_whole(&r->part) && !r->rows[COMPARE_SOURCE].rows &&
	    !r->rows[COMPARE_DESTINATION].rows)
		log_warn("no rows were looked at: neither side has any in the "
			 "part that was asked for");
}

static int verify_verdict(struct verify *v, struct error *err)
{
	const struct verify_result *r = v->out;
	struct strbuf part = STRBUF_INIT;
	int rc;

	if (verify_result_equal(r)) {
		verify_warn_empty(r);
		return 0;
	}
	if (verify_result_is_blind(r) && r->marked)
		return error_set(err, ERROR_DIFFERENT,
				 "no row could be compared: all %" PRId64
				 " rows that differ lie past the mark, so "
				 "nothing says whether %s is what %s is; run "
				 "it first (tidemark %s %s)",
				 r->unsettled, v->p->destination_table,
				 v->p->source_table, settings_run(v->p),
				 settings_call(v->p));
	if (!r->marked && !(r->missing || r->extra || r->different))
		return error_set(err, ERROR_DIFFERENT,
				 "%s has no mark: nothing says how far it was "
				 "loaded, and %" PRId64 " rows are not what %s "
				 "has; run it first (tidemark %s %s)",
				 v->p->destination_table, r->unsettled,
				 v->p->source_table, settings_run(v->p),
				 settings_call(v->p));
	if (!verify_part_is_whole(&r->part)) {
		strbuf_addstr(&part, " (looked at: ");
		verify_part_print(&part, &r->part, v->p);
		strbuf_addstr(&part, ")");
	}
	rc = error_set(err, ERROR_DIFFERENT,
		       "%s is not what %s is: %" PRId64 " missing, %" PRId64
		       " extra, %" PRId64 " different%s",
		       v->p->destination_table, v->p->source_table, r->missing,
		       r->extra, r->different, part.data);
	strbuf_release(&part);
	return rc;
}

/* The work that was found goes with the comparison that found it. */
static void verify_hand_over(struct verify *v)
{
	struct verify_work *work = v->terms->work;

	if (!work)
		return;
	work->compare = v->compare;
	memset(&v->compare, 0, sizeof(v->compare));
}

static bool verify_goes_on(const struct verify *v)
{
	const struct verify_work *work = v->terms->work;

	return !v->terms->brief || !work || !work->more;
}

static int verify_try(const struct pipeline_settings *p,
		      const struct verify_terms *terms,
		      struct verify_pace *pace, struct verify_result *out,
		      struct error *err)
{
	struct verify v = { .p = p,
			    .terms = terms,
			    .out = out,
			    .pace = pace,
			    .progress = { .pipeline = p,
					  .tell = terms->progress,
					  .ctx = terms->ctx } };
	int rc;

	verify_init(&v);
	rc = verify_pace_begin(pace, &v.progress, err);
	if (!rc)
		rc = verify_open(&v, err);
	if (!rc)
		rc = verify_sample(&v, err);
	if (!rc && !v.sampling)
		rc = verify_tally(&v, err);
	while (!rc && !v.sampling && verify_goes_on(&v) &&
	       tally_choose(&v.tally, VERIFY_SUSPECTS))
		rc = verify_round(&v, err);
	out->done = !rc;
	if (!rc) {
		verify_result_count(out);
		kept_find(&v.from, &v.sides[COMPARE_SOURCE].schema,
			  &v.sides[COMPARE_DESTINATION].all, &out->kept);
	}
	if (rc && out->part.since &&
	    error_has_code(err, CONNECTOR_MARK_NOTATION))
		error_hint(err, "(only --since goes by the marks: --sample "
				"looks at a part without them)");
	if (!rc)
		rc = verify_verdict(&v, err);
	verify_hand_over(&v);
	verify_release(&v);
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
	if (rc == -ERROR_DIFFERENT && out->extra)
		verify_result_name_others(out, err);
	out->elapsed_us = clock_monotonic_us() - begun;
	if (rc)
		out->error = *err;
	return rc;
}
