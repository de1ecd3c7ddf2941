#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/sync/ledger/ledger.h"
#include "core/sync/parts/foresight.h"
#include "core/sync/parts/marks.h"
#include "core/sync/parts/shape.h"
#include "core/sync/run/hooks.h"
#include "core/sync/run/keyless.h"
#include "core/sync/run/run.h"
#include "core/sync/run/target_check.h"
#include "core/sync/run/unchanged.h"

int run_recover(struct run *r, struct error *err)
{
	int rc;

	checkpoint_release(&r->checkpoint);
	checkpoint_init(&r->checkpoint);
	rc = r->destination->ops->recover(r->destination, &r->target,
					  &r->checkpoint, err);
	if (rc)
		return rc;
	/* The run remembers its delivered mark when prepare clears the mark. */
	watermark_forget(&r->from);
	r->from.strategy = r->mark.strategy;
	free(r->from.column);
	r->from.column = xstrdup(r->mark.column);
	json_decref(r->shape);
	r->shape = shape_of(r->p, &r->schema);
	if (r->target.refresh || !r->checkpoint.watermark)
		return 0;
	return run_check_mark(r, r->checkpoint.watermark, err);
}

int run_tell_ledger(struct run *r, struct error *err)
{
	char id[DIGEST_TEXT_SIZE];

	if (!r->out->located) {
		xassign(&r->out->watermark_before, r->checkpoint.watermark);
		xassign(&r->out->watermark_after, r->checkpoint.watermark);
		if (r->out->aside)
			ledger_aside_id(r->p, r->out->attempt_id, id);
		else
			ledger_run_id(r->p, r->checkpoint.watermark, id);
		xassign(&r->out->run_id, id);
		r->out->located = true;
	}
	r->out->recorded = true;
	if (!r->out->unrecorded && !r->out->dry.on)
		log_set_run(r->out->run_id, r->out->attempt_id);
	return ledger_begin(r->store, r->out, err);
}

/* A run that becomes a refresh begins at no mark. */
static int locate_keyless(struct run *r, struct error *err)
{
	bool refresh = r->target.refresh;
	int rc = run_keyless_look(r, false, err);

	return rc || refresh == r->target.refresh ? rc : run_recover(r, err);
}

/* Targets of those that begin next are asked about with ours. */
static int locate_foresee(struct run *r, struct error *err)
{
	struct foresight *f = r->options->foresight;
	const struct pipeline_settings *next[FORESIGHT_MOST];
	struct target *targets;
	const struct target *wishes[FORESIGHT_MOST];
	size_t n = 0;
	int rc;

	if (r->destination->ops->foresee)
		n = foresight_take(f, FORESIGHT_DESTINATION, r->p, next);
	if (!n)
		return 0;
	targets = xcalloc(n, sizeof(*targets));
	for (size_t i = 0; i < n; i++) {
		marks_target(next[i], &targets[i]);
		wishes[i] = &targets[i];
	}
	rc = r->destination->ops->foresee(r->destination, wishes, n, err);
	foresight_told(f, FORESIGHT_DESTINATION, next, n);
	free(targets);
	return rc;
}

/* Look at the mark before anything is written. A table that was dropped and
 * made anew, or another server at that address, then changes nothing here. */
int run_locate(struct run *r, struct error *err)
{
	int rc;

	/* A destination may look ahead, to prepare. */
	lease_keeper_writer(r->keeper, &r->target.writer);
	rc = locate_foresee(r, err);
	rc = rc ? rc : run_recover(r, err);
	rc = rc ? rc : hooks_meet(r, err);
	rc = rc ? rc : locate_keyless(r, err);
	rc = rc ? rc : target_check_run(r, err);
	if (!rc)
		rc = r->task->ops->locate(r, err);
	if (!rc)
		rc = run_look_unchanged(r, err);
	if (rc)
		return rc;
	return r->unchanged ? run_tell_ledger(r, err)
			    : r->task->ops->prepare(r, err);
}

int run_claim(struct run *r, struct error *err)
{
	const struct destination_ops *ops = r->destination->ops;
	int rc = lease_keeper_meet(r->keeper, r->store, r->checkpoint.fence,
				   ops->session(r->destination), err);

	lease_keeper_writer(r->keeper, &r->target.writer);
	return rc;
}

int run_tell_session(struct run *r, struct error *err)
{
	return lease_keeper_meet(r->keeper, r->store, -1,
				 r->destination->ops->session(r->destination),
				 err);
}

int run_prepare(struct run *r, struct error *err)
{
	int rc = run_tell_ledger(r, err);

	if (!rc && r->store)
		rc = letters_open(&r->letters, err);
	if (!rc)
		rc = r->destination->ops->prepare(r->destination, &r->target,
						  err);
	if (rc)
		return rc;
	lease_keeper_claimed(r->keeper);
	r->target.writer.claim = false;
	r->target.writer.predecessor = NULL;
	rc = run_recover(r, err);
	if (!rc)
		rc = run_keyless_look(r, true, err);
	if (!rc)
		xassign(&r->window_from, r->checkpoint.watermark);
	return rc;
}
