#include "core/base/arena.h"
#include "tests/unit/unit.h"

static void fill_dirty(struct arena *a, size_t size)
{
	char *p = arena_alloc(a, size);

	assert_int_equal((uintptr_t)p % 16, 0);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(p[i], 0);
	memset(p, 'x', size);
}

static void test_zeroed_also_when_reused(void **state)
{
	struct arena a = ARENA_INIT;

	(void)state;
	for (int round = 0; round < 3; round++) {
		fill_dirty(&a, 1);
		fill_dirty(&a, 100000);
		fill_dirty(&a, 40);
		fill_dirty(&a, 0);
		fill_dirty(&a, 3000000);
		arena_reset(&a);
		assert_int_equal(a.used, 0);
		fill_dirty(&a, 5000);
	}
	arena_release(&a);
	arena_release(&a);
	arena_release(NULL);
}

static void test_settles_on_one_block(void **state)
{
	struct arena a = ARENA_INIT;
	struct arena_block *block;

	(void)state;
	for (int i = 0; i < 1000; i++)
		arena_alloc(&a, 1000);
	arena_reset(&a);
	for (int i = 0; i < 1000; i++)
		arena_alloc(&a, 1000);
	arena_reset(&a);
	block = a.head;
	for (int i = 0; i < 1000; i++)
		arena_alloc(&a, 1000);
	arena_reset(&a);
	assert_ptr_equal(a.head, block);
	arena_release(&a);
}

static void test_strings(void **state)
{
	struct arena a = ARENA_INIT;

	(void)state;
	assert_string_equal(arena_strdup(&a, "text"), "text");
	assert_null(arena_strdup(&a, NULL));
	assert_string_equal(arena_strndup(&a, "text", 2), "te");
	assert_string_equal(arena_strndup(&a, "text", 20), "text");
	assert_string_equal(arena_fmt(&a, "%s-%d", "a", 5), "a-5");
	assert_string_equal(arena_fmt(&a, "%s", ""), "");
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zeroed_also_when_reused),
		cmocka_unit_test(test_settles_on_one_block),
		cmocka_unit_test(test_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
