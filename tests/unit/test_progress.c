#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/progress.h"
#include "core/base/alloc.h"
#include "core/sync/verify/progress.h"

struct render_case {
	struct progress_view view;
	const char *held_by, *paused; /* JSON, or NULL */
	const char *expected;
};

static const struct render_case renders[] = {
	{ { .pipeline = "orders",
	    .rows = 40000,
	    .share = 1,
	    .eta_us = -1,
	    .verifying = true,
	    .verified = 12000 },
	  NULL,
	  NULL,
	  "orders: 40.0k rows, 0 rows/s, 0.0 MB/s, 100%, loaded; verifying it: "
	  "12.0k rows so far" },
	{ { "orders", 0, 0, 0, 0, -1, -1, NULL, NULL, false, 0 },
	  NULL,
	  NULL,
	  "orders: 0 rows, 0 rows/s, 0.0 MB/s" },
	{ { "orders", 987, 12, 2.5e6, 240000, 0.374, -1, NULL, NULL, false, 0 },
	  NULL,
	  NULL,
	  "orders: 987 rows, 12 rows/s, 2.5 MB/s, batch 240 ms, 37%" },
	{ { "o", 987, 12, 2.5e6, 0, 0.374, 200999999, NULL, NULL, false, 0 },
	  NULL,
	  NULL,
	  "o: 987 rows, 12 rows/s, 2.5 MB/s, 37%, about 3m20s left" },
	{ { "o", 1, 0, 0, 0, 1, 5, NULL, NULL, false, 0 },
	  NULL,
	  NULL,
	  "o: 1 rows, 0 rows/s, 0.0 MB/s, 100%" },
	{ { "", 12, 0, 0, 0, 1, -1, NULL, NULL, false, 0 },
	  NULL,
	  NULL,
	  "12 rows, 0 rows/s, 0.0 MB/s, 100%" },
	{ { "o", 1, 0, 0, 0, -1, -1, NULL, NULL, false, 0 },
	  "null",
	  NULL,
	  "o: 1 rows, 0 rows/s, 0.0 MB/s" },
	{ { "o", 1, 0, 0, 0, -1, -1, NULL, NULL, false, 0 },
	  "{\"pid\": 4711, \"since\": \"12:00\", \"state\": \"idle\"}",
	  NULL,
	  "o: 1 rows, 0 rows/s, 0.0 MB/s, mark held by pid 4711 idle "
	  "since 12:00" },
	/* The name that a client gives itself must not drive the terminal. */
	{ { "o\n", 1, 0, 0, 0, -1, -1, NULL, NULL, false, 0 },
	  "{\"application\": \"\\u001b[2Jpsql\"}",
	  NULL,
	  "o : 1 rows, 0 rows/s, 0.0 MB/s, mark held by  [2Jpsql" },
	{ { "o\u202e", 1, 0, 0, 0, -1, -1, NULL, NULL, false, 0 },
	  "{\"application\": \"\\u009b2Jpsql\"}",
	  NULL,
	  "o : 1 rows, 0 rows/s, 0.0 MB/s, mark held by  2Jpsql" },
	{ { "o", 1, 0, 0, 0, -1, -1, NULL, NULL, false, 0 },
	  NULL,
	  "{\"by\": \"pause_file\", \"since\": \"12:00\", "
	  "\"reason\": \"\\u001b exists\"}",
	  "o: 1 rows, 0 rows/s, 0.0 MB/s, held by pace.pause_file since "
	  "12:00:   exists" },
};

static void test_render(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(renders); i++) {
		const struct render_case *c = &renders[i];
		struct progress_view view = c->view;
		struct strbuf sb = STRBUF_INIT;
		json_t *held_by = NULL, *paused = NULL;

		if (c->held_by)
			held_by = json_loads(c->held_by, JSON_DECODE_ANY, NULL);
		if (c->paused)
			paused = json_loads(c->paused, 0, NULL);
		view.held_by = held_by;
		view.paused = paused;
		progress_render(&sb, &view);
		assert_string_equal(sb.data, c->expected);
		strbuf_release(&sb);
		json_decref(held_by);
		json_decref(paused);
	}
}

static const struct {
	struct progress_look_view view;
	const char *expected;
} looks[] = {
	{ { "orders", "comparing", 1200000, 987, 850000, 12, 0.374, 3000000,
	    NULL },
	  "orders: comparing, source 1.2M rows (850.0k/s), destination 987 "
	  "rows "
	  "(12/s), 37%, about 3s left" },
	{ { "", "naming", 0, 0, 0, 0, -1, -1, NULL },
	  "naming, source 0 rows (0/s), destination 0 rows (0/s)" },
};

static void test_render_held_look(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	struct progress_look_view view = { "", "comparing", 5,	0,   7,
					   0,  -1,	    -1, NULL };
	json_t *paused = json_pack("{s:s, s:s, s:s}", "by", "pause_file",
				   "since", "noon", "reason", "it exists");

	(void)state;
	view.paused = paused;
	progress_render_look(&sb, &view);
	assert_string_equal(sb.data,
			    "comparing, source 5 rows (7/s), destination 0 "
			    "rows (0/s), held by pace.pause_file since noon: "
			    "it exists");
	strbuf_release(&sb);
	json_decref(paused);
}

static void test_render_look(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
		struct strbuf sb = STRBUF_INIT;

		progress_render_look(&sb, &looks[i].view);
		assert_string_equal(sb.data, looks[i].expected);
		strbuf_release(&sb);
	}
}

/* The share of its known rows that the slower side has brought. */
static void test_share_of_a_look(void **state)
{
	static const struct {
		struct verify_progress so_far;
		double share;
	} shares[] = {
		{ { .rows = { 50, 30 }, .expected = { 100, 100 } }, 0.3 },
		{ { .rows = { 100, 100 }, .expected = { 100, 100 } }, 1 },
		{ { .rows = { 50, 30 }, .expected = { 100, -1 } }, -1 },
		{ { .rows = { 101, 30 }, .expected = { 100, 100 } }, -1 },
		{ { .rows = { 0, 0 }, .expected = { 0, 0 } }, -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		double share = verify_progress_share(&shares[i].so_far);

		assert_true(share > shares[i].share - 1e-9);
		assert_true(share < shares[i].share + 1e-9);
	}
}

struct cut_case {
	const char *text;
	size_t width;
	const char *expected;
};

static const struct cut_case cuts[] = {
	{ "", 5, "" },
	{ "abcde", 5, "abcde" },
	{ "abcdef", 5, "ab..." },
	{ "abcdef", 3, "..." },
	{ "abcdef", 2, "" },
	{ "h\xc3\xa9llo", 5, "h\xc3\xa9llo" },
	{ "h\xc3\xa9llos", 5, "h\xc3\xa9..." },
	{ "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac", 4,
	  "\xe2\x82\xac..." },
};

static void test_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		struct strbuf sb = STRBUF_INIT;

		strbuf_addstr(&sb, cuts[i].text);
		progress_cut(&sb, cuts[i].width);
		assert_string_equal(sb.data, cuts[i].expected);
		assert_int_equal(sb.len, strlen(cuts[i].expected));
		strbuf_release(&sb);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_render),
		cmocka_unit_test(test_render_look),
		cmocka_unit_test(test_render_held_look),
		cmocka_unit_test(test_share_of_a_look),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
