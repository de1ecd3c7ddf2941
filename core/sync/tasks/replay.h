/*
 * A window that was loaded before, once more: its rows are read as they are
 * now and loaded under the identities their batches had; what is right at the
 * destination stays as it is, and so does the mark. Called by runner.c (which
 * run), try.c and load_pass.c (on the way).
 */
#ifndef TIDEMARK_CORE_SYNC_TASKS_REPLAY_H
#define TIDEMARK_CORE_SYNC_TASKS_REPLAY_H

#include "core/plugin/store.h"
#include "core/settings/settings.h"

struct run;

struct replay {
	struct run_list runs; /* the one */
	struct batch_list batches;
	const struct pipeline_settings *pipeline;
};

/* Find the run in the store of `s` and the pipeline that it was of. CONFIG:
 * there is no such run, it loaded nothing, its pipeline has another config by
 * now, or is one that is loaded whole every time. To be released in any case.
 */
int replay_find(struct replay *out, const struct settings *s,
		const char *run_id, struct error *err);
void replay_release(struct replay *p);

/* With the lease: how far the run came by the end of whoever had it. */
int replay_find_again(struct replay *p, struct store *store, struct error *err);

/* Once the destination is located: read from the window's start ... */
int replay_locate(struct run *r, struct error *err);
/* ... and once the source has said what is settled: to its end, where the
 * strategy reads in the mark's order (xmin does not: to the end of all). */
int replay_bound(struct run *r, struct error *err);
/* The identity of the batch that once had this window, or NULL. */
const char *replay_batch_id(const struct replay *p, const char *from,
			    const char *to);

#endif
