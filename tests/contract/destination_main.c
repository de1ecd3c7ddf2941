/*
 * One contract suite over every destination: destination_contract ENGINE
 * [PATTERN].
 * Ends with 77 (meson: skipped) when the engine cannot be tested here.
 */
#include "destination_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chosen.h"
#include "core/base/alloc.h"

static const struct quirks *suite_quirks;
/* The cases that are chosen, or NULL. */
static const char *suite_pattern;

int suite_setup(void **state)
{
	struct world *w = world_new(suite_quirks);

	if (!w)
		return -1;
	if (suite_quirks->clean)
		world_exec(w, suite_quirks->clean);
	*state = w;
	return 0;
}

int suite_teardown(void **state)
{
	world_free(*state);
	return 0;
}

struct world *suite_world(void **state)
{
	return *state;
}

/* Tests of tables made by hand, of statements rolled back, of sessions and of
 * lengths of text. An engine of views over raw tables has none of these;
 * tests/e2e has tests of its own for it. */
static bool suite_leaves_out(const char *test)
{
	static const char *const names[] = {
		"test_mark_and_rows_together",
		"test_preview_refuses",
		"test_preview_append_refuses",
		"test_other_column_order",
		"test_unique_values_exchanged",
		"test_no_unique_key",
		"test_key_column_missing",
		"test_stricter_type",
		"test_wider_type",
		"test_not_null_there",
		"test_other_target",
		"test_widen_to_decimal",
		"test_not_ours",
		"test_values",
		"test_value_too_long",
		"test_predecessor_is_ended",
		"test_update_named",
		"test_update_repeats",
		"test_update_older",
		"test_update_in_place",
		"test_update_makes_nothing",
		"test_numbers_in_a_text",
		"test_numbers_in_a_text_delete_insert",
		"test_instants_in_a_text",
		"test_instants_in_a_text_delete_insert",
		"test_days_in_a_text",
		"test_no_number_gives_way",
	};

	for (size_t i = 0; suite_quirks->views && i < ARRAY_SIZE(names); i++)
		if (!strcmp(test, names[i]))
			return true;
	return false;
}

static void suite_add(struct CMUnitTest *all, size_t *n,
		      const struct CMUnitTest *tests, size_t n_tests)
{
	for (size_t i = 0; i < n_tests; i++)
		if (!suite_leaves_out(tests[i].name))
			all[(*n)++] = tests[i];
}

static int suite_run(void)
{
	struct CMUnitTest all[256];
	size_t n = 0;

	suite_add(all, &n, suite_load, suite_load_n);
	suite_add(all, &n, suite_marks, suite_marks_n);
	suite_add(all, &n, suite_preview, suite_preview_n);
	suite_add(all, &n, suite_schema, suite_schema_n);
	suite_add(all, &n, suite_refusals, suite_refusals_n);
	suite_add(all, &n, suite_refresh, suite_refresh_n);
	suite_add(all, &n, suite_keyless, suite_keyless_n);
	suite_add(all, &n, suite_by_hand, suite_by_hand_n);
	suite_add(all, &n, suite_types, suite_types_n);
	suite_add(all, &n, suite_failpoints, suite_failpoints_n);
	suite_add(all, &n, suite_fence, suite_fence_n);
	suite_add(all, &n, suite_remove, suite_remove_n);
	suite_add(all, &n, suite_raise, suite_raise_n);
	suite_add(all, &n, suite_update, suite_update_n);
	suite_add(all, &n, suite_changes, suite_changes_n);
	suite_add(all, &n, suite_versions, suite_versions_n);
	if (suite_quirks->narrower_decimal)
		suite_add(all, &n, suite_altered, suite_altered_n);
	if (suite_quirks->folding_text)
		suite_add(all, &n, suite_folding, suite_folding_n);
	if (suite_quirks->empty_stage)
		suite_add(all, &n, suite_rivals, suite_rivals_n);
	if (suite_quirks->plugin) {
		suite_add(all, &n, suite_mysql, suite_mysql_n);
		suite_add(all, &n, suite_mysql_tables, suite_mysql_tables_n);
		suite_add(all, &n, suite_mysql_watchers,
			  suite_mysql_watchers_n);
	}
	if (!strcmp(suite_quirks->engine, "postgres"))
		suite_add(all, &n, suite_postgres, suite_postgres_n);
	if (!strcmp(suite_quirks->engine, "postgres") ||
	    !strcmp(suite_quirks->engine, "sqlite"))
		suite_add(all, &n, suite_watched, suite_watched_n);
	n = choose_cases(all, n, suite_pattern);
	if (!n)
		return 2;
	return _cmocka_run_group_tests(suite_quirks->engine, all, n, NULL,
				       NULL);
}

int main(int argc, char **argv)
{
	struct world *w;

	for (size_t i = 0; argc > 1 && world_quirks[i]; i++)
		if (!strcmp(world_quirks[i]->engine, argv[1]))
			suite_quirks = world_quirks[i];
	if (!suite_quirks) {
		fprintf(stderr,
			"usage: destination_contract ENGINE [PATTERN]\n");
		return 2;
	}
	suite_pattern = argc > 2 ? argv[2] : NULL;
	w = world_new(suite_quirks);
	if (!w)
		return 77;
	world_free(w);
	return suite_run();
}
