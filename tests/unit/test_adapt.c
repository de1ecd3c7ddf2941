#include "core/sync/pace/adapt.h"

#include "tests/unit/unit.h"

struct load {
	size_t rows; /* 0: as many as were asked for */
	int64_t load_us;
	size_t expected; /* rows of the next batch */
};

static const struct {
	size_t configured, piece;
	int64_t target_us;
	struct load loads[6]; /* ends with load_us 0 */
} cases[] = {
	/* twice as many at most, times 8 at most */
	{ 1000,
	  0,
	  1000,
	  { { 0, 1000, 1000 },
	    { 0, 500, 2000 },
	    { 0, 1, 4000 },
	    { 0, 1, 8000 },
	    { 0, 1, 8000 } } },
	/* no more than would take the whole time */
	{ 1000, 0, 1000, { { 0, 800, 1250 } } },
	/* half at most, and no fewer than 200 */
	{ 1000,
	  0,
	  1000,
	  { { 0, 9000, 500 },
	    { 0, 4500, 250 },
	    { 0, 2250, 200 },
	    { 0, 1800, 200 } } },
	{ 1000, 0, 1000, { { 0, 1250, 800 } } },
	{ 1000, 0, 1000, { { 0, 1001, 900 } } },
	/* unless configured so */
	{ 50, 0, 1000, { { 0, 9000, 50 }, { 0, 1, 57 } } },
	/* by steps, once one took too long */
	{ 1000,
	  0,
	  1000,
	  { { 0, 2000, 500 },
	    { 0, 1, 625 },
	    { 0, 1, 750 },
	    { 0, 990, 757 },
	    { 0, 1100, 681 } } },
	/* one that was not full says nothing of more, but of fewer */
	{ 1000, 0, 1000, { { 999, 1, 1000 }, { 10, 2000, 500 } } },
	/* whole pieces, once there is one; steps add up to the next */
	{ 1000,
	  1500,
	  1000,
	  { { 0, 1, 3000 }, { 0, 1, 6000 }, { 0, 1, 7500 } } },
	{ 1000,
	  2500,
	  1000,
	  { { 0, 1, 5000 }, { 0, 1250, 2500 }, { 0, 1, 2500 } } },
	{ 1000,
	  600,
	  1000,
	  { { 0, 1250, 600 },
	    { 0, 1, 600 },
	    { 0, 1, 600 },
	    { 0, 1, 600 },
	    { 0, 1, 1200 } } },
};

static void test_loads(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct adapt a;

		adapt_init(&a, cases[i].configured, cases[i].piece,
			   cases[i].target_us);
		for (size_t k = 0; k < 6 && cases[i].loads[k].load_us; k++) {
			const struct load *l = &cases[i].loads[k];

			adapt_loaded(&a, l->rows ? l->rows : a.rows,
				     l->load_us);
			if (a.rows != l->expected)
				fail_msg("case %zu, load %zu: %zu rows", i, k,
					 a.rows);
		}
	}
}

static void test_first_rows(void **state)
{
	static const size_t firsts[][3] = {
		{ 1000, 0, 1000 },    { 1000, 3000, 3000 },
		{ 1000, 8000, 8000 }, { 1000, 8001, 1000 },
		{ 5000, 3000, 5000 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(firsts); i++) {
		struct adapt a;

		adapt_init(&a, firsts[i][0], firsts[i][1], 1000);
		assert_int_equal(a.rows, firsts[i][2]);
	}
}

/* A server takes a microsecond a row, later ten. Batches approach the target
 * time from both sides, and stay within a quarter of it. */
static void test_goes_to_the_target(void **state)
{
	struct adapt a;

	(void)state;
	adapt_init(&a, 20000, 0, 100000);
	for (int i = 0; i < 200; i++) {
		int64_t us = i < 100 ? 1 : 10;

		if (i % 100 > 50)
			assert_in_range(a.rows, 75000 / us, 125000 / us);
		adapt_loaded(&a, a.rows, (int64_t)a.rows * us);
	}
}

/* Each batch takes three times the target, whatever its rows; then a server of
 * which fewer rows are quicker after all. */
static void test_fewer_in_vain(void **state)
{
	struct adapt a;

	(void)state;
	adapt_init(&a, 20000, 0, 1000);
	for (int i = 0; i < 100; i++) {
		adapt_loaded(&a, a.rows, 3000);
		assert_in_range(a.rows, 10000, 20000);
	}
	for (int i = 0; i < 40; i++)
		adapt_loaded(&a, a.rows, (int64_t)a.rows);
	assert_in_range(a.rows, 800, 1200);
	/* Bytes had ended the slow one early. */
	adapt_init(&a, 20000, 0, 1000);
	adapt_loaded(&a, 500, 1200);
	assert_int_equal(a.rows, 16666);
	adapt_loaded(&a, 400, 1500);
	assert_int_equal(a.rows, 16666);
}

static void test_no_time(void **state)
{
	struct adapt a;

	(void)state;
	adapt_init(&a, 1000, 0, 1000);
	adapt_loaded(&a, 1000, 0);
	assert_int_equal(a.rows, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loads),
		cmocka_unit_test(test_first_rows),
		cmocka_unit_test(test_goes_to_the_target),
		cmocka_unit_test(test_fewer_in_vain),
		cmocka_unit_test(test_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
