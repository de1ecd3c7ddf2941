#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"

/* text, catalog|schema|name as they come out (absent: empty), quoted with " */
static const char *const good[][3] = {
	{ "orders", "||orders", "\"orders\"" },
	{ "public.orders", "|public|orders", "\"public\".\"orders\"" },
	{ "shop.public.orders", "shop|public|orders",
	  "\"shop\".\"public\".\"orders\"" },
	{ "Public.Orders", "|Public|Orders", "\"Public\".\"Orders\"" },
	{ "sales.\"Order.Lines\"", "|sales|Order.Lines",
	  "\"sales\".\"Order.Lines\"" },
	{ "\"a b\".c", "|a b|c", "\"a b\".\"c\"" },
	{ "\"say \"\"hi\"\"\"", "||say \"hi\"", "\"say \"\"hi\"\"\"" },
	{ "\"\"\"\"", "||\"", "\"\"\"\"" },
	{ "\"a\".\"b\".\"c\"", "a|b|c", "\"a\".\"b\".\"c\"" },
	{ "o'brien.t$1", "|o'brien|t$1", "\"o'brien\".\"t$1\"" },
	{ "größe.表", "|größe|表", "\"größe\".\"表\"" },
	{ "\" \"", "|| ", "\" \"" },
};

/* text, what the message must say */
static const char *const bad[][2] = {
	{ "", "empty part" },		{ ".", "empty part" },
	{ "a.", "empty part" },		{ ".a", "empty part" },
	{ "a..b", "empty part" },	{ "\"\"", "empty part" },
	{ "a.\"\"", "empty part" },	{ "a.b.c.d", "more than three" },
	{ "\"a", "not closed" },	{ "\"a\"\"", "not closed" },
	{ "a.\"b", "not closed" },	{ "a\"b\"", "quote inside" },
	{ "\"a\"b", "expected a dot" }, { "\"a\" .b", "expected a dot" },
	{ "a b", "double quotes" },	{ " a", "double quotes" },
	{ "a ", "double quotes" },	{ "a\nb", "double quotes" },
};

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct error err = ERROR_INIT;
		struct strbuf sb = STRBUF_INIT;
		struct table_name t;

		assert_int_equal(table_name_parse(&t, good[i][0], &err), 0);
		strbuf_addf(&sb, "%s|%s|%s", t.catalog ? t.catalog : "",
			    t.schema ? t.schema : "", t.name);
		assert_string_equal(sb.data, good[i][1]);
		strbuf_reset(&sb);
		table_name_quote(&sb, &t, '"');
		assert_string_equal(sb.data, good[i][2]);
		table_name_release(&t);

		/* A quoted name is read back as the same name. */
		assert_int_equal(table_name_parse(&t, good[i][2], &err), 0);
		strbuf_reset(&sb);
		table_name_quote(&sb, &t, '"');
		assert_string_equal(sb.data, good[i][2]);
		table_name_release(&t);
		strbuf_release(&sb);
	}
}

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = ERROR_INIT;
		struct table_name t;

		assert_int_equal(table_name_parse(&t, bad[i][0], &err),
				 -ERROR_CONFIG);
		assert_non_null(strstr(err.message, bad[i][1]));
		assert_non_null(strstr(err.message, bad[i][0]));
	}
}

static void test_quoting(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	sql_quote_name(&sb, "a`b\"c", '`');
	assert_string_equal(sb.data, "`a``b\"c`");
	strbuf_reset(&sb);
	sql_quote_literal(&sb, "it's \\ \"so\"");
	assert_string_equal(sb.data, "'it''s \\ \"so\"'");
	strbuf_release(&sb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_quoting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
