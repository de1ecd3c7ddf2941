#include "core/sync/verify/pace.h"

#include <string.h>

#include "core/base/stop.h"

void verify_pace_init(struct verify_pace *v, const struct pipeline_settings *p,
		      struct store *looked_at)
{
	memset(v, 0, sizeof(*v));
	run_result_init(&v->held, p);
	v->pacing.p = p;
	v->pacing.looked_at = looked_at;
	v->pacing.out = &v->held;
}

static void verify_pace_tell(const struct verify_progress *so_far, void *ctx)
{
	struct verify_pace *v = ctx;

	run_pace_look(&v->pacing);
	v->progress->paused = v->held.paused;
	if (v->tell)
		v->tell(so_far, v->ctx);
}

static int verify_pace_idle(void *ctx, struct error *err)
{
	(void)ctx;
	(void)err;
	return 0;
}

static bool verify_pace_over(void *ctx)
{
	struct verify_pace *v = ctx;

	verify_progress_tick(v->progress);
	return stop_requested();
}

int verify_pace_begin(struct verify_pace *v, struct verify_progress *progress,
		      struct error *err)
{
	const struct pace_waiter waiter = { verify_pace_idle, verify_pace_over,
					    v };
	int rc;

	v->progress = progress;
	v->tell = progress->tell;
	v->ctx = progress->ctx;
	progress->tell = verify_pace_tell;
	progress->ctx = v;
	verify_progress_begin(progress, "waiting");
	rc = run_pace_begin(&v->pacing, &waiter, err);
	if (!rc && stop_requested())
		rc = error_set(err, ERROR_STOPPED, "stopped by a signal");
	return rc;
}

void verify_pace_release(struct verify_pace *v)
{
	run_pace_release(&v->pacing);
	run_result_release(&v->held);
}
