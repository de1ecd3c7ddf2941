#include "core/base/retry.h"
#include "tests/unit/unit.h"

static const struct {
	int64_t backoff, max, attempt;
	uint64_t random;
	int64_t delay;
} cases[] = {
	{ 1000, 60000, 1, 0, 0 },
	{ 1000, 60000, 1, 1000, 1000 },
	{ 1000, 60000, 1, 1001, 0 },
	{ 1000, 60000, 2, 2000, 2000 },
	{ 1000, 60000, 3, 4000, 4000 },
	{ 1000, 60000, 6, 32000, 32000 },
	{ 1000, 60000, 7, 60000, 60000 },
	{ 1000, 60000, 7, 60001, 0 },
	{ 1000, 60000, INT64_MAX, 60000, 60000 },
	{ 1000, 10, 1, 10, 10 },
	{ 0, 60000, 5, 123456, 0 },
	{ INT64_MAX, INT64_MAX, 9, UINT64_MAX, INT64_MAX },
	{ 3, INT64_MAX, 64, INT64_MAX, INT64_MAX },
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct retry_policy policy = { 5, cases[i].backoff,
					       cases[i].max };
		int64_t delay = retry_delay_us(&policy, cases[i].attempt,
					       cases[i].random);

		if (delay != cases[i].delay)
			fail_msg("case %zu: %lld", i, (long long)delay);
	}
	assert_true(retry_random() != retry_random());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
