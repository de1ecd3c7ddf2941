#include "core/sync/bucket.h"

#include "core/base/clock.h"
#include "tests/unit/unit.h"

#define SECOND US_PER_SECOND

/* A reader that takes `read_us` for a batch and waits as it is told. */
struct reading {
	struct bucket bucket;
	int64_t now, read_us, batch;
	int64_t at[100000]; /* when each batch was there */
	size_t n;
};

static void reading_go(struct reading *r, int64_t until)
{
	while (r->now < until && r->n < ARRAY_SIZE(r->at)) {
		r->now += bucket_wait(&r->bucket, r->now);
		bucket_open(&r->bucket, r->now);
		r->now += r->read_us;
		bucket_take(&r->bucket, r->batch);
		r->at[r->n++] = r->now;
	}
}

/* The most and the fewest tokens of any 10 s. */
static void reading_windows(const struct reading *r, int64_t from, int64_t to,
			    double *fewest, double *most)
{
	*fewest = 1e18;
	*most = 0;
	for (int64_t t = from; t + 10 * SECOND <= to; t += SECOND / 7) {
		double taken = 0;
		for (size_t i = 0; i < r->n; i++)
			if (r->at[i] >= t && r->at[i] < t + 10 * SECOND)
				taken += (double)r->batch;
		*most = taken > *most ? taken : *most;
		*fewest = taken < *fewest ? taken : *fewest;
	}
}

static struct reading reading;

static void reading_begin(int64_t rate, int64_t batch, int64_t read_us)
{
	memset(&reading, 0, sizeof(reading));
	reading.bucket.rate = rate;
	reading.now = INT64_C(86400) * SECOND;
	reading.batch = batch;
	reading.read_us = read_us;
}

static void test_rate_holds(void **state)
{
	static const int64_t rates[] = { 1, 7, 500, 20000, 3000017 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		int64_t batch = rates[i] / 5 ? rates[i] / 5 : 1;
		double fewest, most, ten = (double)rates[i] * 10;
		int64_t begun;

		reading_begin(rates[i], batch, SECOND / 50);
		begun = reading.now;
		reading_go(&reading, begun + 60 * SECOND);
		reading_windows(&reading, begun, begun + 60 * SECOND, &fewest,
				&most);
		/* A token a second may fall on either side of a window. */
		if (fewest < ten * 0.95 - 1 || most > ten * 1.05 + 1)
			fail_msg("%lld/s: %f to %f in 10 s",
				 (long long)rates[i], fewest, most);
	}
}

/* Ten seconds' worth at once: the next one waits them out. */
static void test_large_batch(void **state)
{
	(void)state;
	reading_begin(1000, 10000, 0);
	reading_go(&reading, reading.now + 100 * SECOND);
	for (size_t i = 1; i < reading.n; i++)
		if (i > 1 && reading.at[i] - reading.at[i - 1] != 10 * SECOND)
			fail_msg(
				"batch %zu after %lld us", i,
				(long long)(reading.at[i] - reading.at[i - 1]));
	assert_true(reading.n >= 10);
}

/* An hour in which nothing was read is no leave to read an hour's worth. */
static void test_burst_is_bounded(void **state)
{
	struct bucket b = { .rate = 1000 };
	int64_t now = INT64_C(3600) * SECOND, taken = 0;

	(void)state;
	while (!bucket_wait(&b, now)) {
		bucket_open(&b, now);
		bucket_take(&b, 1);
		taken++;
	}
	assert_in_range(taken, 100, 101);
	assert_int_equal(bucket_wait(&b, now), 1000);
}

static void test_clock_that_stands_still(void **state)
{
	struct bucket b = { .rate = 10 };
	int64_t now = SECOND;

	(void)state;
	bucket_open(&b, now);
	bucket_take(&b, 11);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(bucket_wait(&b, now), SECOND);
	}
	assert_int_equal(bucket_wait(&b, now + SECOND - 1), 1);
	assert_int_equal(bucket_wait(&b, now + SECOND), 0);
}

/* Tokens of less than a microsecond add up. */
static void test_small_tokens(void **state)
{
	struct bucket b = { .rate = 3000000 };

	(void)state;
	b.free_us = SECOND;
	for (int i = 0; i < 3000000; i++)
		bucket_take(&b, 1);
	assert_int_equal(bucket_wait(&b, SECOND), SECOND);
}

static void test_off_and_too_many(void **state)
{
	struct bucket off = { .rate = 0 }, one = { .rate = 1 };

	(void)state;
	bucket_take(&off, INT64_MAX);
	assert_int_equal(bucket_wait(&off, 1), 0);
	bucket_take(&one, INT64_MAX);
	assert_true(bucket_wait(&one, 1) > INT64_C(86400) * SECOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate_holds),
		cmocka_unit_test(test_large_batch),
		cmocka_unit_test(test_burst_is_bounded),
		cmocka_unit_test(test_clock_that_stands_still),
		cmocka_unit_test(test_small_tokens),
		cmocka_unit_test(test_off_and_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
