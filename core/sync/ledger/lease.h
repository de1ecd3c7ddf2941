/*
 * One writer at a time: the lease of a pipeline, from before its first try to
 * after its last. Meanwhile it is renewed (beat.h). The destination is told its
 * fence, so that a process which has slept past its lease writes nothing.
 */
#ifndef TIDEMARK_CORE_SYNC_LEDGER_LEASE_H
#define TIDEMARK_CORE_SYNC_LEDGER_LEASE_H

#include <jansson.h>
#include <stdatomic.h>

#include "core/data/digest.h"
#include "core/plugin/destination.h"
#include "core/store/leases.h"

#define LEASE_DEFAULT_US (30 * US_PER_SECOND)

struct lease_terms {
	const struct connection *state; /* to renew through; NULL: never */
	int64_t lease_us;
	int64_t wait_us; /* for another to be done; 0: not at all */
	bool runs; /* it is a run, which takes the pipeline's turn */
	const char *ends; /* the tables of a run, for people */
	/* A turn that one takes: not if a run has begun at that time of the
	 * store's clock, or later, and come to its end. 0: any number may. */
	int64_t turn_us;
};

struct lease_keeper {
	struct lease lease; /* name NULL: none is held */
	char holder[DIGEST_TEXT_SIZE]; /* the same in every request */
	struct lease_terms terms;
	/* A predecessor may still live: not told to the destination yet. */
	bool claim;
	char *predecessor; /* its session */
	/* By clock_boot_us(), on the safe side of the store's own: */
	_Atomic int64_t deadline_us;
	atomic_bool lost;
	/* The renewals', beat.c: */
	struct lease_keeper *next;
	int64_t next_us; /* monotonic */
	bool beats; /* it is renewed */
	bool warned;
};

/* Take it, waiting as the terms say; after a failure it may be asked for
 * again. STATE while another has it, who is put
 * into `*held_by` (replaced). A keeper all zero before; to be given back in
 * any case. A NULL store: nothing is held, and nothing fenced. */
int lease_keeper_take(struct lease_keeper *k, struct store *store,
		      const char *name, const struct lease_terms *terms,
		      json_t **held_by, struct error *err);
/* Fill in this process as the holder that the keeper has always been. To be
 * released. */
void lease_keeper_fill(struct lease_keeper *k, struct lease *wanted,
		       const char *name);
/* Before anything is written: the fence goes above the one `stored` at the
 * destination, and the session is written down. */
int lease_keeper_meet(struct lease_keeper *k, struct store *store,
		      int64_t stored, const char *session, struct error *err);
/* STATE once it has run out. */
int lease_keeper_check(void *keeper, struct error *err);
/* The same behind the last batch: another may have the last word by now. */
int lease_keeper_check_end(struct lease_keeper *k, struct error *err);
/* The lease's facts for the destination. Points into `k`. */
void lease_keeper_writer(struct lease_keeper *k, struct writer *out);
/* The destination knows. */
void lease_keeper_claimed(struct lease_keeper *k);
/* It is renewed no more, and free again. `broken`: a run that has not come to
 * its end, so that its turn is anybody's. */
void lease_keeper_give(struct lease_keeper *k, struct store *store,
		       bool broken);

/* {"host","pid","since","until","fence"}; new reference. */
json_t *lease_json(const struct lease *l);

#endif
