/*
 * The pace of a run, from before its first try to the end of its look back: one
 * set of token buckets for all that is read from the source. Follows what
 * `tidemark pace` says meanwhile, and tells the ledger what holds the run.
 * All calls come from one thread.
 */
#ifndef TIDEMARK_CORE_SYNC_LEDGER_RUN_PACE_H
#define TIDEMARK_CORE_SYNC_LEDGER_RUN_PACE_H

#include "core/plugin/store.h"
#include "core/sync/ledger/lease.h"
#include "core/sync/pace/pace.h"
#include "core/sync/parts/result.h"

/* What it is asked for, by the caller; the rest is zero at first. */
struct run_pace {
	const struct pipeline_settings *p;
	bool off; /* nothing holds it */
	int64_t share; /* so many share the rates; 0: one */
	struct store *store; /* may be NULL */
	struct store *looked_at; /* where that is: asked for the pace alone */
	/* Told that r->out->paused may have changed; NULL: the ledger is. */
	void (*note)(const struct run_pace *r, void *ctx);
	void *ctx;
	struct lease_keeper *keeper;
	struct run_result *out;
	struct pace *pace; /* NULL: none */
	int64_t seen; /* pace_held()'s last change */
	char *text; /* what the store has said of it, or NULL */
	int64_t asked_us; /* when it was asked last; 0: never */
};

/* Before the settled point is asked for: wait for leave to begin. */
int run_pace_begin(struct run_pace *r, const struct pace_waiter *waiter,
		   struct error *err);
/* Is it another by now, and what does it hold? */
void run_pace_look(struct run_pace *r);
/* What a look of that thread's own reads from the source. */
struct run_pace_reading {
	struct run_pace *r;
	struct connector *source; /* its scan has an order */
	void (*tick)(void *ctx); /* called about ten times a second, waiting */
	void *ctx;
};

/* The next batch, as gently as the reader thread would read it. `b` has its
 * bounds. STOPPED by a signal. */
int run_pace_next(struct run_pace_reading *reading, struct batch *b,
		  struct error *err);
/* Nobody reads any more, for now: nothing holds it. */
void run_pace_rest(struct run_pace *r);
void run_pace_release(struct run_pace *r);

#endif
