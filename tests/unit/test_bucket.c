#include "core/sync/pace/rates.h"

#include <stdlib.h>

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

/* A debt is paid at the new rate. */
static void test_change(void **state)
{
	struct bucket b = { .rate = 10 };
	int64_t now = INT64_C(100) * SECOND;

	(void)state;
	bucket_open(&b, now);
	bucket_take(&b, 1001); /* one of them from before */
	assert_int_equal(bucket_wait(&b, now), 100 * SECOND);
	bucket_change(&b, 1000, now);
	assert_int_equal(bucket_wait(&b, now), SECOND);
	bucket_change(&b, 1, now);
	assert_int_equal(bucket_wait(&b, now), 1000 * SECOND);
	bucket_change(&b, 0, now);
	assert_int_equal(bucket_wait(&b, now), 0);
	bucket_change(&b, 5, now);
	assert_int_equal(bucket_wait(&b, now), 0);
}

static void rates_expect(struct rates *r, int64_t now, const char *by,
			 const char *reason)
{
	struct batch b = { .n_rows = 0 };
	struct rates_wait wait;

	rates_open(r, &b, now);
	bucket_take(by[0] == 'r' ? &r->rows : &r->bytes, 1 << 20);
	rates_look(r, now, &wait);
	assert_string_equal(wait.by, by);
	assert_string_equal(wait.reason, reason);
	free(wait.reason);
}

/* Half of it with each batch that takes too long, and a sixteenth more with
 * each that does not. */
static void test_rates_give_way(void **state)
{
	static const int64_t shares[] = { 500, 250, 125, 62,  62,
					  125, 187, 250, 312, 375 };
	int64_t now = INT64_C(100) * SECOND;
	struct rates r = { .rows_limit = 0 };

	(void)state;
	rates_set(&r, 1000, 0, now);
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		struct rates_wait wait;

		rates_loaded(&r, i < 5 ? 1001 : 1000, 1000);
		rates_look(&r, now, &wait);
		free(wait.reason);
		assert_int_equal(r.rows.rate, shares[i]);
	}
	rates_expect(&r, now, "rows_per_second",
		     "no more than 375 rows/s of 1000, while batches take "
		     "longer than batch.target");
	for (int i = 0; i < 20; i++)
		rates_loaded(&r, 1, 1000);
	rates_expect(&r, now, "rows_per_second", "no more than 1000 rows/s");
	rates_set(&r, 0, 1 << 20, now);
	rates_expect(&r, now, "bytes_per_second", "no more than 1MiB/s");
	rates_loaded(&r, 2, 1);
	rates_expect(&r, now, "bytes_per_second",
		     "no more than 512KiB/s of 1MiB, while batches take longer "
		     "than batch.target");
}

/* Without a rate there is nothing to give way with. */
static void test_no_rates(void **state)
{
	struct batch b = { .max_rows = 7, .max_bytes = 9 };
	struct rates r = { .rows_limit = 0 };
	struct rates_wait wait;

	(void)state;
	rates_set(&r, 0, 0, SECOND);
	rates_loaded(&r, 5 * SECOND, 1);
	rates_open(&r, &b, SECOND);
	bucket_take(&r.rows, 1000);
	rates_look(&r, SECOND, &wait);
	assert_null(wait.by);
	assert_int_equal(b.max_rows, 7);
	assert_int_equal(b.max_bytes, 9);
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
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_rates_give_way),
		cmocka_unit_test(test_no_rates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
