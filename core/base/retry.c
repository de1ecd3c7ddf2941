#include "core/base/retry.h"

#include <sys/random.h>

#include "core/base/clock.h"

int64_t retry_delay_us(const struct retry_policy *policy, int64_t attempt,
		       uint64_t random)
{
	int64_t most = policy->backoff_us;

	for (int64_t i = 1; i < attempt && most < policy->max_backoff_us; i++)
		most = most > INT64_MAX / 2 ? INT64_MAX : most * 2;
	if (most > policy->max_backoff_us)
		most = policy->max_backoff_us;
	if (most <= 0)
		return 0;
	return (int64_t)(random % ((uint64_t)most + 1));
}

uint64_t retry_random(void)
{
	uint64_t out;

	if (getrandom(&out, sizeof(out), 0) != sizeof(out))
		out = (uint64_t)clock_monotonic_us() *
		      UINT64_C(0x9e3779b97f4a7c15);
	return out;
}
