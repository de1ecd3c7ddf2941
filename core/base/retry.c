#include "core/base/retry.h"

#include <sys/random.h>

#include "core/base/clock.h"

static int64_t retry_ceiling(const struct retry_policy *policy, int64_t attempt)
{
	int64_t ceiling = policy->backoff_us;

	for (int64_t n = 1; n < attempt && ceiling < policy->max_backoff_us;
	     n++)
		ceiling = ceiling > INT64_MAX / 2 ? INT64_MAX : ceiling * 2;
	return ceiling < policy->max_backoff_us ? ceiling
						: policy->max_backoff_us;
}

int64_t retry_delay_us(const struct retry_policy *policy, int64_t attempt,
		       uint64_t random)
{
	int64_t ceiling = retry_ceiling(policy, attempt);

	if (ceiling <= 0)
		return 0;
	return (int64_t)(random % ((uint64_t)ceiling + 1));
}

uint64_t retry_random(void)
{
	uint64_t out;

	if (getrandom(&out, sizeof(out), 0) != (ssize_t)sizeof(out))
		out = (uint64_t)clock_monotonic_us() *
		      UINT64_C(0x9e3779b97f4a7c15);
	return out;
}
