/*
 * The pace of a run, from before its first try to the end of its look back. It
 * has one set of token buckets for all reads from the source. It follows the
 * settings of `tidemark pace` meanwhile, and tells the ledger the run's hold.
 * All calls come from one thread.
 */
#ifndef TIDEMARK_CORE_SYNC_LEDGER_RUN_PACE_H
#define TIDEMARK_CORE_SYNC_LEDGER_RUN_PACE_H

#include "core/plugin/store.h"
#include "core/sync/ledger/lease.h"
#include "core/sync/pace/pace.h"
#include "core/sync/parts/result.h"

/* The caller sets the request; the rest is zero at first. */
struct run_pace {
	const struct pipeline_settings *p;
	bool off; /* nothing holds it */
	bool yields; /* a pause ends it: others begin the rest anew */
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
	char *text; /* the store's last answer, or NULL */
	int64_t asked_us; /* when it was asked last; 0: never */
};

/* Before the settled point is asked for: wait for leave to begin. */
int run_pace_begin(struct run_pace *r, const struct pace_waiter *waiter,
		   struct error *err);
/* Is it another by now, and what does it hold? */
void run_pace_look(struct run_pace *r);
/* A read from the source by a look in that same thread. */
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
