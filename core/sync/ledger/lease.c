#include "core/sync/ledger/lease.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"
#include "core/base/process.h"
#include "core/base/seat.h"
#include "core/base/strbuf.h"
#include "core/base/units.h"
#include "core/store/leases.h"
#include "core/sync/ledger/beat.h"
#include "core/sync/ledger/ledger.h"

/* Between two looks at a lease that another has. */
#define LEASE_LOOK_US (US_PER_SECOND / 5)
/* Given back by one who has not ended its predecessor: as if run out. */
#define LEASE_UNCLEAN 1

json_t *lease_json(const struct lease *l)
{
	char since[CLOCK_TEXT_SIZE], until[CLOCK_TEXT_SIZE];

	clock_format_utc(l->since, since);
	clock_format_utc(l->until, until);
	return json_pack("{s:s, s:I, s:s, s:s, s:I}", "host", l->host, "pid",
			 (json_int_t)l->pid, "since", since, "until", until,
			 "fence", (json_int_t)l->fence);
}

static int64_t lease_least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Asked again, it is the same holder's: the store may have given the lease,
 * and only the answer been lost. */
void lease_keeper_fill(struct lease_keeper *k, struct lease *wanted,
		       const char *name)
{
	char host[256] = "";

	if (!*k->holder)
		ledger_attempt_id(k->holder);
	if (gethostname(host, sizeof(host) - 1))
		host[0] = '\0';
	lease_init(wanted);
	wanted->name = xstrdup(name);
	wanted->holder = xstrdup(k->holder);
	wanted->host = xstrdup(host);
	wanted->pid = getpid();
	wanted->process = process_mark();
}

static int lease_refuse(const struct lease *before, json_t **held_by,
			struct error *err)
{
	char since[CLOCK_TEXT_SIZE], until[CLOCK_TEXT_SIZE];

	json_decref(*held_by);
	*held_by = lease_json(before);
	clock_format_utc(before->since, since);
	clock_format_utc(before->until, until);
	return error_set(err, ERROR_STATE,
			 "process %" PRId64
			 " on %s has been running this pipeline since %s, and "
			 "its lease lasts until %s unless renewed; wait for it "
			 "(run --wait 30s), or stop it",
			 before->pid, before->host, since, until);
}

/* Once; on success the deadline counts from before the question. */
static int lease_try(struct lease_keeper *k, struct store *store,
		     const struct lease *wanted, enum lease_answer *answer,
		     struct lease *before, struct error *err)
{
	int64_t begun = clock_boot_us();
	int rc;

	lease_release(before);
	rc = store_lease_take(store, wanted, k->terms.lease_us, answer,
			      &k->lease, before, err);
	if (rc || *answer == LEASE_BUSY || *answer == LEASE_HAD)
		return rc;
	atomic_store(&k->deadline_us, begun + k->terms.lease_us);
	k->claim = *answer == LEASE_INHERITED;
	free(k->predecessor);
	k->predecessor = k->claim ? xstrdup(before->session) : NULL;
	return 0;
}

/* Two configs may name one pipeline. Each has its own target and mark, so
 * nothing is mixed; but each turn is one's alone. */
static void lease_compare_ends(const struct lease_keeper *k,
			       const struct lease *before)
{
	if (!k->terms.runs || !k->terms.ends || !before->ran_ends ||
	    !*before->ran_ends || !strcmp(before->ran_ends, k->terms.ends))
		return;
	log_warn("the run before this one was another: %s. Now it is: %s. If "
		 "the config was changed since, all is well. Else two configs "
		 "have a pipeline of this name (process %" PRId64 " on %s had "
		 "its lease last), and each gets some of its turns alone: give "
		 "each a name of its own",
		 before->ran_ends, k->terms.ends, before->pid, before->host);
}

/* `*waits`: the seat was left for it. */
static int lease_wait(struct lease_keeper *k, struct store *store,
		      const struct lease *wanted, json_t **held_by, bool *waits,
		      struct error *err)
{
	int64_t begun = clock_monotonic_us(), waited = 0;
	enum lease_answer answer = LEASE_BUSY;
	struct lease before;
	int rc;

	lease_init(&before);
	rc = lease_try(k, store, wanted, &answer, &before, err);
	*waits = !rc && answer == LEASE_BUSY && k->terms.wait_us;
	if (*waits) {
		log_info("waiting for process %" PRId64 " on %s, which runs "
			 "this pipeline",
			 before.pid, before.host);
		seat_leave(SEAT_CLOSED);
	}
	while (!rc && answer == LEASE_BUSY && waited < k->terms.wait_us) {
		if (clock_sleep_us(lease_least(LEASE_LOOK_US,
					       k->terms.wait_us - waited)))
			rc = error_set(err, ERROR_STOPPED,
				       "stopped by a signal while waiting for "
				       "another run");
		else
			rc = lease_try(k, store, wanted, &answer, &before, err);
		waited = clock_monotonic_us() - begun;
	}
	if (!rc && answer == LEASE_BUSY)
		rc = lease_refuse(&before, held_by, err);
	if (!rc && answer == LEASE_HAD)
		rc = error_set(err, ERROR_STATE,
			       "another run has taken this turn");
	if (!rc)
		lease_compare_ends(k, &before);
	lease_release(&before);
	return rc;
}

int lease_keeper_take(struct lease_keeper *k, struct store *store,
		      const char *name, const struct lease_terms *terms,
		      json_t **held_by, struct error *err)
{
	struct lease wanted;
	bool waits = false;
	int rc;

	if (!store)
		return 0;
	beat_end(k);
	atomic_store(&k->lost, false);
	k->terms = *terms;
	k->claim = true; /* unless it is known otherwise */
	if (!k->terms.lease_us)
		k->terms.lease_us = LEASE_DEFAULT_US;
	lease_keeper_fill(k, &wanted, name);
	wanted.runs = k->terms.runs;
	wanted.turn_us = k->terms.turn_us;
	if (k->terms.ends)
		wanted.ran_ends = xstrdup(k->terms.ends);
	rc = lease_wait(k, store, &wanted, held_by, &waits, err);
	lease_release(&wanted);
	k->terms.ends = NULL;
	if (!rc && k->terms.state)
		rc = beat_begin(k, err);
	/* The lease is renewed while a seat is waited for. */
	if (waits)
		seat_back(SEAT_CLOSED, NULL, NULL);
	return rc ? rc : failpoint("lease_taken", err);
}

/* `so`: the fate of the rows, and the remedy. */
static int lease_look(struct lease_keeper *k, const char *so, struct error *err)
{
	struct strbuf lasts = STRBUF_INIT;

	if (!k->lease.name)
		return 0;
	if (!atomic_load(&k->lost) &&
	    clock_boot_us() < atomic_load(&k->deadline_us))
		return 0;
	units_print_duration(&lasts, k->terms.lease_us);
	error_set(err, ERROR_STATE,
		  "pipeline %s: the lease of this run (fencing token %" PRId64
		  ") is lost: the process was paused, or the state store did "
		  "not answer, for longer than %s. %s",
		  k->lease.name, k->lease.fence, lasts.data, so);
	strbuf_release(&lasts);
	return -ERROR_STATE;
}

int lease_keeper_check(void *keeper, struct error *err)
{
	return lease_look(keeper,
			  "Nothing of this batch was written; run again, it "
			  "goes on from the last batch",
			  err);
}

int lease_keeper_check_end(struct lease_keeper *k, struct error *err)
{
	return lease_look(k,
			  "All that it had read is written, and nothing is "
			  "missing; another run may have gone on since: "
			  "\"tidemark status\" says how far",
			  err);
}

int lease_keeper_meet(struct lease_keeper *k, struct store *store,
		      int64_t stored, const char *session, struct error *err)
{
	struct lease *l = &k->lease;
	bool raise = stored >= l->fence, held = true;
	int rc;

	if (!l->name)
		return 0;
	/* A store that was lost, or restored, or another one: whoever wrote
	 * that fence is not known here. */
	if (raise) {
		l->fence = stored + 1;
		k->claim = true;
	}
	if (!raise && !strcmp(l->session, session))
		return 0;
	free(l->session);
	l->session = xstrdup(session);
	rc = store_lease_amend(store, l, &held, err);
	if (!rc && !held)
		atomic_store(&k->lost, true);
	return rc ? rc : lease_keeper_check(k, err);
}

void lease_keeper_writer(struct lease_keeper *k, struct writer *out)
{
	memset(out, 0, sizeof(*out));
	if (!k->lease.name)
		return;
	out->fence = k->lease.fence;
	out->claim = k->claim;
	out->predecessor = k->predecessor;
	out->lease_us = k->terms.lease_us;
	out->check = lease_keeper_check;
	out->ctx = k;
}

void lease_keeper_claimed(struct lease_keeper *k)
{
	k->claim = false;
	free(k->predecessor);
	k->predecessor = NULL;
}

/* A predecessor that this run has taken over and not ended is left to its
 * successor. */
static void lease_give_back(struct lease_keeper *k, struct store *store,
			    bool broken)
{
	struct error err = ERROR_INIT;

	k->lease.ran_open = broken;
	k->lease.until = k->claim ? LEASE_UNCLEAN : 0;
	free(k->lease.session);
	k->lease.session =
		xstrdup(k->claim && k->predecessor ? k->predecessor : "");
	if (store_lease_give(store, &k->lease, &err))
		log_warn("the lease could not be given back, and ends by "
			 "itself: %s",
			 err.message);
	error_clear(&err);
	failpoint("lease_released", &err);
}

void lease_keeper_give(struct lease_keeper *k, struct store *store, bool broken)
{
	beat_end(k);
	if (k->lease.name)
		lease_give_back(k, store, broken);
	lease_release(&k->lease);
	free(k->predecessor);
	k->predecessor = NULL;
}
