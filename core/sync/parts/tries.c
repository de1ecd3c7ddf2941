#include "core/sync/parts/tries.h"

#include <inttypes.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/seat.h"
#include "core/base/stop.h"
#include "core/base/units.h"

static int64_t tries_allowed(const struct tries *t, enum error_code code)
{
	int64_t most = t->policy->attempts;

	if (t->single || !error_may_pass(code))
		return 1;
	return code == ERROR_UNKNOWN && most > TRIES_UNKNOWN ? TRIES_UNKNOWN
							     : most;
}

static void tries_say(const struct tries *t, int64_t allowed, int64_t wait_us,
		      const struct error *err)
{
	const struct log_event event = { "retry", error_code_name(err->code),
					 NULL };
	struct strbuf wait = STRBUF_INIT;

	units_print_duration(&wait, wait_us / 1000 * 1000);
	log_event(LOG_WARN, &event,
		  "try %" PRId64 " of %" PRId64 " failed%s, next in %s: %s",
		  t->failed, allowed,
		  err->code == ERROR_CONFLICT ? " and was rolled back" : "",
		  wait.data, err->message);
	strbuf_release(&wait);
}

bool tries_again(struct tries *t, const struct error *err)
{
	int64_t allowed = tries_allowed(t, err->code);
	enum seat_wait how;
	int64_t wait;

	t->failed++;
	if (t->failed >= allowed || stop_requested())
		return false;
	wait = retry_delay_us(t->policy, t->failed, retry_random());
	tries_say(t, allowed, wait, err);
	/* Only a conflict leaves the session as it is. */
	how = err->code == ERROR_CONFLICT ? SEAT_OPEN : SEAT_CLOSED;
	seat_leave(how);
	clock_sleep_us(wait);
	seat_back(how, NULL, NULL);
	return !stop_requested();
}

void tries_progress(struct tries *t, bool lasts)
{
	if (lasts)
		t->failed = 0;
	t->single = false;
}
