#include "core/sync/ledger/beat.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/store/leases.h"
#include "core/store/session.h"
#include "core/sync/ledger/lease.h"

/* How often a lease is renewed, and how soon a renewal is tried again. */
#define BEAT_TIMES   3
#define BEAT_RETRIES 30

static struct {
	pthread_once_t once;
	pthread_mutex_t lock; /* guards all down to `state` */
	pthread_cond_t changed;
	struct lease_keeper *keepers;
	const struct lease_keeper *at_work; /* its lease is being renewed */
	pthread_t thread;
	bool runs, ends;
	/* The thread's own: a shallow copy of the connection `of`, and its
	 * session or NULL. */
	struct connection state;
	const struct connection *of;
	struct store *store;
} beats = { .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

static void beat_init(void)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&beats.changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

static int64_t beat_least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void beat_close(void)
{
	store_close(beats.store);
	beats.store = NULL;
	beats.of = NULL;
}

/* A silent connection must not be waited for longer than the lease lasts. */
static int beat_open(const struct lease_keeper *k, struct error *err)
{
	int64_t most_us = k->terms.lease_us / BEAT_TIMES;

	if (beats.store && beats.of == k->terms.state)
		return 0;
	beat_close();
	beats.of = k->terms.state;
	beats.state = *k->terms.state;
	beats.state.connect_timeout_us =
		beat_least(beats.state.connect_timeout_us, most_us);
	beats.state.silence_timeout_us =
		beat_least(beats.state.silence_timeout_us, most_us);
	return store_open(&beats.store, &beats.state, err);
}

static void beat_failed(struct lease_keeper *k, const struct error *err)
{
	beat_close();
	if (!k->warned)
		log_warn("the lease could not be renewed, trying on until it "
			 "has run out: %s",
			 err->message);
	k->warned = true;
}

/* A lease that has run out is never renewed: the store says so by its clock,
 * this by ours. False: it is lost. */
static bool beat_renew(struct lease_keeper *k, bool *renewed)
{
	struct error err = ERROR_INIT;
	int64_t begun = clock_boot_us();
	bool held;
	int rc;

	*renewed = false;
	if (begun >= atomic_load(&k->deadline_us))
		return false;
	rc = beat_open(k, &err);
	if (!rc)
		rc = store_lease_renew(beats.store, &k->lease,
				       k->terms.lease_us, &held, &err);
	/* Whether it is held is not known then, until its time is up. */
	if (rc) {
		beat_failed(k, &err);
		return true;
	}
	if (held) {
		atomic_store(&k->deadline_us, begun + k->terms.lease_us);
		k->warned = false;
		*renewed = true;
	}
	return held;
}

static bool beat_is_kept(const struct lease_keeper *k)
{
	const struct lease_keeper *at = beats.keepers;

	while (at && at != k)
		at = at->next;
	return at;
}

/* The one whose beat is next; NULL: none. Lock held. */
static struct lease_keeper *beat_next(void)
{
	struct lease_keeper *first = NULL;

	for (struct lease_keeper *k = beats.keepers; k; k = k->next)
		if (!atomic_load(&k->lost) &&
		    (!first || k->next_us < first->next_us))
			first = k;
	return first;
}

/* Lock held, but not meanwhile. */
static void beat_work(struct lease_keeper *k)
{
	int64_t lease_us = k->terms.lease_us;
	bool renewed, held;

	beats.at_work = k;
	pthread_mutex_unlock(&beats.lock);
	log_set_pipeline(k->lease.name);
	held = beat_renew(k, &renewed);
	if (!held)
		atomic_store(&k->lost, true);
	pthread_mutex_lock(&beats.lock);
	k->next_us = clock_monotonic_us() +
		     lease_us / (renewed ? BEAT_TIMES : BEAT_RETRIES);
	beats.at_work = NULL;
	pthread_cond_broadcast(&beats.changed);
}

/* Its time has come, if nothing changes until then. Lock held. */
static bool beat_wait(const struct lease_keeper *k)
{
	struct timespec until = {
		.tv_sec = (time_t)(k->next_us / US_PER_SECOND),
		.tv_nsec = (long)(k->next_us % US_PER_SECOND) * 1000,
	};

	return pthread_cond_timedwait(&beats.changed, &beats.lock, &until) ==
		       ETIMEDOUT &&
	       beat_is_kept(k);
}

static void *beat_main(void *arg)
{
	struct lease_keeper *k;

	(void)arg;
	pthread_mutex_lock(&beats.lock);
	while (!beats.ends) {
		k = beat_next();
		if (k && beat_wait(k) && !beats.ends)
			beat_work(k);
		if (k)
			continue;
		beat_close();
		pthread_cond_wait(&beats.changed, &beats.lock);
	}
	pthread_mutex_unlock(&beats.lock);
	beat_close();
	return NULL;
}

/* Lock held. */
static int beat_start(struct error *err)
{
	while (beats.ends)
		pthread_cond_wait(&beats.changed, &beats.lock);
	if (beats.runs)
		return 0;
	if (pthread_create(&beats.thread, NULL, beat_main, NULL))
		return error_set(err, ERROR_ACCESS,
				 "cannot start the thread that renews the "
				 "lease: the system has no room for it");
	beats.runs = true;
	return 0;
}

int beat_begin(struct lease_keeper *k, struct error *err)
{
	int rc;

	pthread_once(&beats.once, beat_init);
	pthread_mutex_lock(&beats.lock);
	rc = beat_start(err);
	if (!rc) {
		k->warned = false;
		k->next_us =
			clock_monotonic_us() + k->terms.lease_us / BEAT_TIMES;
		k->next = beats.keepers;
		beats.keepers = k;
		k->beats = true;
		pthread_cond_broadcast(&beats.changed);
	}
	pthread_mutex_unlock(&beats.lock);
	return rc;
}

/* Nobody is left: the session is closed with the thread. Lock held, but not
 * meanwhile. */
static void beat_stop(void)
{
	beats.ends = true;
	pthread_cond_broadcast(&beats.changed);
	pthread_mutex_unlock(&beats.lock);
	pthread_join(beats.thread, NULL);
	pthread_mutex_lock(&beats.lock);
	beats.runs = beats.ends = false;
	pthread_cond_broadcast(&beats.changed);
}

void beat_end(struct lease_keeper *k)
{
	struct lease_keeper **at = &beats.keepers;

	if (!k->beats)
		return;
	pthread_mutex_lock(&beats.lock);
	while (*at != k)
		at = &(*at)->next;
	*at = k->next;
	k->beats = false;
	while (beats.at_work == k)
		pthread_cond_wait(&beats.changed, &beats.lock);
	if (!beats.keepers && beats.runs && !beats.ends)
		beat_stop();
	pthread_mutex_unlock(&beats.lock);
}
