/* The search for bad rows, whatever their number and place. */
#include "unit.h"

#include <stdio.h>

#include "core/sync/parts/bisect.h"

#define MOST 300

/* A destination that refuses some rows, and some until others are there. */
static struct {
	bool bad[MOST];
	int needs[MOST]; /* row + 1, 0: none */
	int arrived[MOST];
	size_t loads, refused_rows;
	size_t fail_at; /* number of the load that is cut off */
} world;

static bool world_has(const uint32_t *rows, size_t n, int row)
{
	for (size_t i = 0; i < n; i++)
		if ((int)rows[i] == row)
			return true;
	return world.arrived[row] > 0;
}

static int world_load(void *ctx, const uint32_t *rows, size_t n,
		      struct error *err)
{
	(void)ctx;
	if (++world.loads == world.fail_at)
		return error_set(err, ERROR_TRANSIENT, "cut off");
	for (size_t i = 0; i < n; i++) {
		uint32_t row = rows[i];
		bool bad = world.bad[row] ||
			   (world.needs[row] &&
			    !world_has(rows, n, world.needs[row] - 1));

		if (!bad)
			continue;
		world.refused_rows += n;
		return error_set(err, ERROR_DATA, "row %u is bad", row);
	}
	for (size_t i = 0; i < n; i++)
		world.arrived[rows[i]]++;
	return 0;
}

static int world_bisect(size_t n, size_t most, struct bad_rows *out,
			struct error *err)
{
	const struct bisect b = { .load = world_load, .most = most };
	struct error why = { ERROR_DATA, "23514", "together", 0 };
	uint32_t rows[MOST];

	for (size_t i = 0; i < n; i++)
		rows[i] = (uint32_t)i;
	memset(out, 0, sizeof(*out));
	return bisect_load(&b, rows, n, &why, out, err);
}

/* Each good row is there once, each bad one is named once with its reason. */
static void check_world(size_t n, const struct bad_rows *found)
{
	size_t bad = 0;

	for (size_t row = 0; row < n; row++) {
		bad += world.bad[row];
		if (world.arrived[row] != !world.bad[row])
			fail_msg("row %zu of %zu arrived %d times", row, n,
				 world.arrived[row]);
	}
	assert_int_equal(found->n, bad);
	for (size_t i = 0; i < found->n; i++) {
		char text[32];

		assert_true(world.bad[found->items[i].row]);
		snprintf(text, sizeof(text), "row %u is bad",
			 found->items[i].row);
		if (n > 1)
			assert_string_equal(found->items[i].message, text);
		assert_int_equal(found->items[i].code, ERROR_DATA);
		if (i)
			assert_true(found->items[i].row >
				    found->items[i - 1].row);
	}
}

static void bisect_world(size_t n)
{
	struct error err = ERROR_INIT;
	struct bad_rows found;

	assert_int_equal(world_bisect(n, MOST, &found, &err), 0);
	assert_false(found.more);
	check_world(n, &found);
	bad_rows_release(&found);
}

static void test_one_bad_row_anywhere(void **state)
{
	static const size_t sizes[] = { 1, 2, 3, 7, 8, 64, 100, 255 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		for (size_t at = 0; at < sizes[i]; at++) {
			memset(&world, 0, sizeof(world));
			world.bad[at] = true;
			bisect_world(sizes[i]);
		}
}

static void test_any_set_of_bad_rows(void **state)
{
	(void)state;
	for (unsigned set = 1; set < 1U << 9; set++) {
		memset(&world, 0, sizeof(world));
		for (unsigned row = 0; row < 9; row++)
			world.bad[row] = set >> row & 1;
		bisect_world(9);
	}
	srandom(7);
	for (int i = 0; i < 200; i++) {
		long share = random() % 100;

		memset(&world, 0, sizeof(world));
		world.bad[random() % MOST] = true;
		for (size_t row = 0; row < MOST; row++)
			world.bad[row] |= random() % 100 < share;
		bisect_world(MOST);
	}
}

/* A child before its parent, in chains across all the pieces. */
static void test_rows_that_wait_for_others(void **state)
{
	struct error err = ERROR_INIT;
	struct bad_rows found;

	(void)state;
	memset(&world, 0, sizeof(world));
	for (int row = 0; row + 1 < 64; row++)
		world.needs[row] = row + 2;
	world.bad[20] = true;
	assert_int_equal(world_bisect(64, MOST, &found, &err), 0);
	/* Rows that wait for the bad one, at whatever remove, cannot go in. */
	assert_int_equal(found.n, 21);
	for (int row = 0; row < 64; row++)
		assert_int_equal(world.arrived[row], row > 20);
	bad_rows_release(&found);
}

/* Two that pass only in company, one in each half. */
static void test_rows_that_need_each_other(void **state)
{
	struct error err = ERROR_INIT;
	struct bad_rows found;

	(void)state;
	memset(&world, 0, sizeof(world));
	world.needs[1] = 60 + 1;
	world.needs[60] = 1 + 1;
	world.bad[30] = true;
	assert_int_equal(world_bisect(64, MOST, &found, &err), 0);
	assert_int_equal(found.n, 3);
	world.bad[30] = false;
	bad_rows_release(&found);
	memset(world.arrived, 0, sizeof(world.arrived));
	assert_int_equal(world_bisect(64, MOST, &found, &err), 0);
	check_world(64, &found);
	bad_rows_release(&found);
}

static void test_gives_up_beyond_the_limit(void **state)
{
	struct error err = ERROR_INIT;
	struct bad_rows found;

	(void)state;
	memset(&world, 0, sizeof(world));
	for (size_t row = 0; row < MOST; row++)
		world.bad[row] = true;
	assert_int_equal(world_bisect(MOST, 10, &found, &err), 0);
	assert_true(found.more);
	assert_int_equal(found.n, 11);
	assert_true(world.loads < 60);
	bad_rows_release(&found);
}

static void test_other_errors_end_it(void **state)
{
	struct error err = ERROR_INIT;
	struct bad_rows found;

	(void)state;
	memset(&world, 0, sizeof(world));
	world.bad[5] = true;
	world.fail_at = 4;
	assert_int_equal(world_bisect(100, MOST, &found, &err),
			 -ERROR_TRANSIENT);
	assert_string_equal(err.message, "cut off");
	bad_rows_release(&found);
}

/* One bad row must cost less than the batch did. */
static void test_cost_of_one(void **state)
{
	(void)state;
	for (size_t at = 0; at < 256; at++) {
		memset(&world, 0, sizeof(world));
		world.bad[at] = true;
		bisect_world(256);
		assert_true(world.loads <= 18);
		assert_true(world.refused_rows <= 256 + 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_bad_row_anywhere),
		cmocka_unit_test(test_any_set_of_bad_rows),
		cmocka_unit_test(test_rows_that_wait_for_others),
		cmocka_unit_test(test_rows_that_need_each_other),
		cmocka_unit_test(test_gives_up_beyond_the_limit),
		cmocka_unit_test(test_other_errors_end_it),
		cmocka_unit_test(test_cost_of_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
