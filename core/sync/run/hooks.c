#include "core/sync/run/hooks.h"

#include <inttypes.h>

#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"
#include "core/plugin/registry.h"
#include "core/store/hooks.h"
#include "core/sync/run/run.h"

#define HOOK_BEFORE "before"
#define HOOK_AFTER  "after"

/* One of the two, in a session that does nothing else. */
struct hook {
	struct run *r;
	const char *name;
	const struct strlist *statements;
	struct destination *d;
	struct stopper stopper;
};

static const char *hook_outlook(const struct hook *h)
{
	return strcmp(h->name, HOOK_AFTER) != 0
		       ? "nothing was loaded behind it. The next run that has "
			 "rows to load begins with it again"
		       : "the rows of the run are loaded and stay. The next "
			 "run runs load.after again, from its first statement";
}

/* SQL that the server does not take is the user's to put right. */
static int hook_failed(const struct hook *h, size_t i, struct error *err)
{
	if (err->code == ERROR_BUG || err->code == ERROR_UNKNOWN)
		err->code = ERROR_CONFIG;
	if (err->code == ERROR_CONFLICT)
		err->code = ERROR_TRANSIENT;
	error_prefix(err, "load.%s, statement %zu of %zu, failed at %s",
		     h->name, i + 1, h->statements->n,
		     h->r->p->destination->name);
	if (err->code != ERROR_STATE)
		error_hint(err, "(%s)", hook_outlook(h));
	return -(int)err->code;
}

static int hook_record(const struct hook *h, size_t i, int64_t begun_us,
		       const struct error *why, struct error *err)
{
	const struct hook_record record = {
		.attempt_id = h->r->out->attempt_id,
		.hook = (char *)h->name,
		.number = (int64_t)i + 1,
		.started_at = begun_us,
		.ended_at = clock_now_us(),
		.error_message = why->code ? (char *)why->message : NULL,
	};

	if (!h->r->store || h->r->out->unrecorded)
		return 0;
	return store_hook_save(h->r->store, &record, err);
}

static void hook_log(const struct hook *h, size_t i, int64_t took_us)
{
	json_t *fields = json_pack("{s:s, s:I, s:f}", "hook", h->name,
				   "statement", (json_int_t)i + 1, "seconds",
				   (double)took_us / (double)US_PER_SECOND);

	log_event(LOG_INFO, &(struct log_event){ "hook", NULL, fields },
		  "load.%s: statement %zu of %zu is done, %.3f s", h->name,
		  i + 1, h->statements->n,
		  (double)took_us / (double)US_PER_SECOND);
	json_decref(fields);
}

/* Whoever has lost its lease runs nothing any more. */
static int hook_statement(struct hook *h, size_t i, struct error *err)
{
	int64_t begun_us = clock_now_us(), from = clock_monotonic_us();
	struct error ignored = ERROR_INIT;
	int rc = lease_keeper_check(h->r->keeper, err);

	if (!rc)
		rc = h->d->ops->execute(h->d, h->statements->items[i], err);
	if (rc) {
		rc = hook_failed(h, i, err);
		hook_record(h, i, begun_us, err, &ignored);
		return rc;
	}
	hook_log(h, i, clock_monotonic_us() - from);
	return hook_record(h, i, begun_us, err, err);
}

/* A statement may be long: a server that builds an index says nothing. */
static int hook_open(struct hook *h, struct error *err)
{
	struct connection to = h->r->to;
	int rc;

	if (to.silence_timeout_us < h->r->p->hooks.timeout_us)
		to.silence_timeout_us = h->r->p->hooks.timeout_us;
	rc = registry_open_destination(&to, &h->d, err);
	if (!rc && !h->d->ops->execute)
		rc = error_set(err, ERROR_CONFIG,
			       "load.%s: engine %s takes no SQL of the user's",
			       h->name, to.url.engine);
	return rc;
}

static int hook_run(struct run *r, const char *name,
		    const struct strlist *statements, struct error *err)
{
	struct hook h = { .r = r, .name = name, .statements = statements };
	int rc;

	if (!statements->n)
		return 0;
	rc = hook_open(&h, err);
	if (!rc) {
		stopper_start(&h.stopper, NULL);
		stopper_add(&h.stopper, h.d);
	}
	for (size_t i = 0; !rc && i < statements->n; i++)
		rc = hook_statement(&h, i, err);
	stopper_end(&h.stopper);
	if (h.d)
		h.d->ops->close(h.d);
	return rc;
}

static int hooks_owe(struct run *r, struct error *err)
{
	int rc = 0;

	if (r->p->hooks.after.n && r->store)
		rc = store_hooks_owe(r->store, r->p->name, err);
	r->hooks->owed = !rc;
	return rc ? rc : failpoint("hook_owed", err);
}

int hooks_meet(struct run *r, struct error *err)
{
	const struct lease *own = &r->keeper->lease;

	if (!task_has(r->task, TASK_WRITES) ||
	    task_has(r->task, TASK_OWN_LEASE) || !r->p->hooks.after.n ||
	    r->hooks->owed || !own->name || r->checkpoint.fence < own->fence)
		return 0;
	return hooks_owe(r, err);
}

int hooks_begin(struct run *r, struct error *err)
{
	int rc = 0;

	if (!task_has(r->task, TASK_WRITES) ||
	    !(r->p->hooks.before.n || r->p->hooks.after.n))
		return 0;
	if (!r->hooks->owed)
		rc = hooks_owe(r, err);
	if (rc || r->hooks->begun || !task_has(r->task, TASK_HOOKED))
		return rc;
	rc = hook_run(r, HOOK_BEFORE, &r->p->hooks.before, err);
	r->hooks->begun = !rc;
	return rc;
}

/* A chunk loads beside the run that pays: its last rows may come behind that.
 */
static int hooks_end_beside(struct run *r, struct error *err)
{
	return r->hooks->owed && task_has(r->task, TASK_OWN_LEASE)
		       ? hooks_owe(r, err)
		       : 0;
}

int hooks_end(struct run *r, struct error *err)
{
	const struct strlist *after = &r->p->hooks.after;
	int64_t seen = r->hooks->owed;
	int rc;

	if (!after->n || !task_has(r->task, TASK_WRITES))
		return 0;
	if (!task_has(r->task, TASK_HOOKED))
		return hooks_end_beside(r, err);
	rc = r->store ? store_hooks_owed(r->store, r->p->name, &seen, err) : 0;
	if (rc || !seen)
		return rc;
	rc = failpoint("hook_due", err);
	if (!rc)
		rc = hook_run(r, HOOK_AFTER, after, err);
	if (!rc)
		rc = failpoint("hook_done", err);
	if (!rc && r->store)
		rc = store_hooks_pay(r->store, r->p->name, seen, err);
	r->hooks->owed = rc != 0;
	return rc;
}
