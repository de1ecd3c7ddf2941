/*
 * The leases in the state store: who may write a pipeline, or work on a chunk,
 * and until when. The store's clock decides, never ours.
 */
#ifndef TIDEMARK_CORE_STORE_LEASES_H
#define TIDEMARK_CORE_STORE_LEASES_H

#include "core/plugin/store.h"

/* The process that may write a pipeline, and until when. All times are µs by
 * the store's clock, whose "now" comes with each answer. Owned texts. */
struct lease {
	char *name; /* the pipeline */
	char *holder; /* no two holdings have the same */
	char *host;
	int64_t pid;
	char *process; /* process_mark() of the holder */
	char *session; /* at the destination, as its session() said; "" */
	int64_t since, until; /* until 0: given back */
	int64_t fence; /* only grows */
	int64_t now;
	/* Wanted by a run of the pipeline, not for something else done to it;
	 * and for a turn of that time, or 0. */
	bool runs;
	int64_t turn_us;
	/* The newest run by anybody: when it began, 0: never; and whether it
	 * has not come to its end. One that is killed never does. */
	int64_t ran_at;
	bool ran_open;
	char *ran_ends; /* its tables, for people; "": not known */
};
void lease_init(struct lease *l);
void lease_release(struct lease *l);

enum lease_answer {
	LEASE_BUSY, /* `before` has it */
	LEASE_HAD, /* a run has begun since the turn, and come to its end */
	LEASE_TAKEN, /* from nobody: `before` was given back */
	LEASE_INHERITED, /* `before` may not know that it is over; or nothing
			  * is known of who was before (host "") */
};

/* Take the lease `wanted` names (name, holder, host, pid, process, runs,
 * turn_us, ran_ends) for `lease_us`. It must be free, have run out, or its
 * holder must be surely gone. Its fence is one more than any before. Runs of
 * the pipeline that have no end on record are closed with it. `*before` has the
 * former holder; `now` is set in any case. CONFIG when the store is a file and
 * another machine has a lease in it. */
int store_lease_take(struct store *s, const struct lease *wanted,
		     int64_t lease_us, enum lease_answer *answer,
		     struct lease *out, struct lease *before,
		     struct error *err);
/* The same in a transaction of the caller, whose end frees the lease's row. */
int store_lease_take_locked(struct store *s, const struct lease *wanted,
			    int64_t lease_us, enum lease_answer *answer,
			    struct lease *out, struct lease *before,
			    struct error *err);
/* `lease_us` from now on; `*held` false once it has run out or is another's: it
 * never comes back. */
int store_lease_renew(struct store *s, const struct lease *l, int64_t lease_us,
		      bool *held, struct error *err);
/* Write down a higher fence, and the session; `*held` as above. */
int store_lease_amend(struct store *s, const struct lease *l, bool *held,
		      struct error *err);
/* Give it back with `until` and `session` as in `l`. They are 0 and "", or 1
 * and the former holder's session when that one may still live. With `ran_open`
 * its run has not come to its end. Harmless if another process has the lease by
 * now. */
int store_lease_give(struct store *s, const struct lease *l, struct error *err);
/* Tell of each name when its newest run began. `broken`: it has not come to its
 * end, and nobody has the lease. One that began in the future is left out: the
 * clock was set back. */
int store_lease_starts(struct store *s,
		       void (*each)(void *ctx, const char *name, int64_t at,
				    bool broken),
		       void *ctx, struct error *err);
/* The store's clock. */
int store_clock(struct store *s, int64_t *now_us, struct error *err);
/* Read the holder: `*held` is false if there is none, or no longer. */
int store_lease_get(struct store *s, const char *name, bool *held,
		    struct lease *out, struct error *err);

#endif
