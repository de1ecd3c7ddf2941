#include "core/sync/run/pre_check.h"

#include "core/base/alloc.h"

/* SQL that no server takes is the user's, and nothing that passes. */
static int pre_check_failed(struct error *err)
{
	if (err->code == ERROR_BUG || err->code == ERROR_UNKNOWN)
		err->code = ERROR_CONFIG;
	error_prefix(err, "source.pre_check");
	return -(int)err->code;
}

int pre_check_ask(struct run *r, struct error *err)
{
	const struct pressure_question q = { .query = r->p->pre_check,
					     .truth = true };
	struct pressure seen = { 0 };
	bool goes_on;
	int rc;

	xassign(&r->out->waiting, NULL);
	if (!q.query || !task_has(r->task, TASK_PRE_CHECKED))
		return 0;
	rc = r->source->ops->pressure(r->source, &q, &seen, err);
	goes_on = seen.number < 0 || seen.number > 0;
	pressure_release(&seen);
	if (rc)
		return pre_check_failed(err);
	if (goes_on)
		return 0;
	r->out->waiting = xstrfmt("source.pre_check says that it is too early "
				  "to read %s",
				  r->p->source_table);
	r->out->outcome = OUTCOME_WAITING;
	return 0;
}

bool pre_check_waits(const struct run *r)
{
	return r->out->outcome == OUTCOME_WAITING;
}
