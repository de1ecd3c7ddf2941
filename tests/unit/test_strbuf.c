#include "core/base/strbuf.h"
#include "core/base/strlist.h"
#include "tests/unit/unit.h"

static void test_grows(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	assert_string_equal(sb.data, "");
	for (int i = 0; i < 1000; i++)
		strbuf_addf(&sb, "%03d", i);
	assert_int_equal(sb.len, 3000);
	assert_memory_equal(sb.data + 2997, "999", 4);
	strbuf_reset(&sb);
	assert_string_equal(sb.data, "");
	strbuf_addch(&sb, 'x');
	strbuf_add(&sb, "a\0b", 3);
	assert_memory_equal(sb.data, "xa\0b", 5);
	strbuf_release(&sb);
	strbuf_release(&sb);
	strbuf_release(NULL);
}

static void test_limit_is_sticky(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	sb.limit = 5;
	strbuf_addstr(&sb, "abc");
	strbuf_addf(&sb, "%s", "def");
	assert_true(sb.failed);
	strbuf_addch(&sb, 'x');
	assert_null(strbuf_reserve(&sb, 1));
	assert_string_equal(sb.data, "abc");
	strbuf_reset(&sb);
	assert_false(sb.failed);
	strbuf_addstr(&sb, "12345");
	assert_false(sb.failed);
	strbuf_release(&sb);
	assert_int_equal(sb.limit, 5);
}

static void test_reserve_and_detach(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	char *text;

	(void)state;
	text = strbuf_detach(&sb);
	assert_string_equal(text, "");
	free(text);
	memcpy(strbuf_reserve(&sb, 4), "four", 5);
	sb.len += 4;
	strbuf_addstr(&sb, "!");
	text = strbuf_detach(&sb);
	assert_string_equal(text, "four!");
	assert_string_equal(sb.data, "");
	free(text);
}

static void test_list(void **state)
{
	struct strlist a = STRLIST_INIT, b;

	(void)state;
	for (int i = 0; i < 20; i++) {
		char *item = xstrfmt("%d", i);

		strlist_add(&a, item);
		free(item);
	}
	strlist_copy(&b, &a);
	strlist_release(&a);
	assert_int_equal(b.n, 20);
	assert_int_equal(strlist_index(&b, "19"), 19);
	assert_int_equal(strlist_index(&b, "20"), -1);
	assert_true(strlist_has(&b, "0"));
	strlist_release(&b);
	strlist_release(NULL);
}

static void test_grow_counts_items(void **state)
{
	size_t capacity = 0;
	int *array = xgrow(NULL, &capacity, 1, sizeof(int));

	(void)state;
	assert_int_equal(capacity, 8);
	array = xgrow(array, &capacity, 8, sizeof(int));
	assert_int_equal(capacity, 8);
	array = xgrow(array, &capacity, 100, sizeof(int));
	assert_int_equal(capacity, 128);
	array[127] = 1;
	free(array);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_limit_is_sticky),
		cmocka_unit_test(test_reserve_and_detach),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_grow_counts_items),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
