#include "destinations/common/prepare.h"

#include "core/base/failpoint.h"
#include "core/base/retry.h"
#include "destinations/common/names.h"

int prepare_blame(int rc, const char *sql, struct error *err)
{
	if (error_may_pass(err->code) || rc == -ERROR_STOPPED ||
	    rc == -ERROR_ACCESS)
		return rc;
	err->code = ERROR_SCHEMA;
	error_prefix(err, "%.200s", sql);
	return -ERROR_SCHEMA;
}

static int prepare_ddl(struct plan *plan, const struct prepare_engine *engine,
		       size_t from, size_t to, struct error *err)
{
	int rc = 0;

	for (size_t i = from; !rc && i < to; i++) {
		rc = engine->run(plan, plan->inspection.ddl.items[i], err);
		if (!rc)
			rc = failpoint("mid_alter", err);
	}
	return rc;
}

/* The mark's table is not there any more. */
static void prepare_say(const struct plan *plan)
{
	if (plan->target->refresh || !plan->marked)
		return;
	if (plan->replaced)
		target_say_again(plan->target, "is another table than the one "
					       "that was loaded");
	else if (plan->known && !plan->exists)
		target_say_again(plan->target, "is gone");
}

static int prepare_held(struct plan *plan, const struct prepare_engine *engine,
			struct error *err)
{
	bool due = plan_needs_row(plan);
	size_t first = engine->before_row(plan);
	int rc = prepare_ddl(plan, engine, 0, first, err);

	if (!rc)
		rc = engine->made(plan, err);
	if (!rc)
		rc = engine->row(plan, due, err);
	if (!rc)
		rc = prepare_ddl(plan, engine, first, plan->inspection.ddl.n,
				 err);
	if (!rc && plan->target->writer.fence)
		rc = engine->claim(plan, err);
	if (!rc && plan->target->refresh)
		rc = engine->take_over(plan, err);
	return rc;
}

int prepare_write(struct plan *plan, const struct prepare_engine *engine,
		  struct error *err)
{
	/* A plan that could not be made again is empty. */
	struct destination *d = plan->destination;
	int rc = engine->hold(plan, err);

	if (!rc)
		rc = prepare_held(plan, engine, err);
	rc = engine->let_go(d, rc, err);
	if (!rc)
		prepare_say(plan);
	return rc;
}
