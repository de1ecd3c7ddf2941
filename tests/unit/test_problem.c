#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/plugin/connector.h"
#include "core/plugin/destination.h"
#include "core/plugin/problem.h"
#include "core/store/history.h"

static void test_first_error_counts(void **state)
{
	struct problems list = { NULL, 0, 0 };
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(problems_to_error(&list, &err), 0);
	problems_add(&list, SEVERITY_WARNING, ERROR_DATA, "mark-without-index",
		     "CREATE INDEX ON t (c)", "no index on %s", "t.c");
	problems_add(&list, SEVERITY_INFO, ERROR_NONE, "empty", "wait",
		     "100%%");
	assert_int_equal(list.items[0].error, ERROR_NONE);
	assert_string_equal(list.items[1].message, "100%");
	assert_string_equal(list.items[1].fix, "wait");
	assert_int_equal(problems_to_error(&list, &err), 0);
	assert_int_equal(err.code, ERROR_NONE);

	problems_add(&list, SEVERITY_ERROR, ERROR_SCHEMA, "no-key",
		     "ALTER TABLE t ADD PRIMARY KEY (id)", "%s has no key",
		     "t");
	problems_add(&list, SEVERITY_ERROR, ERROR_CONFIG, "later", "y", "x");
	assert_int_equal(problems_to_error(&list, &err), -ERROR_SCHEMA);
	assert_string_equal(err.message,
			    "t has no key (ALTER TABLE t ADD PRIMARY KEY "
			    "(id))");
	problems_release(&list);
	assert_int_equal(list.n, 0);
}

static void test_error_as_problem(void **state)
{
	struct problems list = { NULL, 0, 0 };
	struct error err = ERROR_INIT;

	(void)state;
	error_set(&err, ERROR_CONFIG, "%s is a view" ERROR_FIX "; use another",
		  "t");
	snprintf(err.server_code, sizeof(err.server_code), "42809");
	problems_add_error(&list, "source-config", &err);
	assert_int_equal(list.items[0].error, ERROR_CONFIG);
	assert_string_equal(list.items[0].message, "t is a view [42809]");
	assert_string_equal(list.items[0].fix, "use another");
	/* Each kind of error has something to do about it. */
	for (int code = ERROR_CONFIG; code <= ERROR_BUG; code++) {
		error_clear(&err);
		error_set(&err, (enum error_code)code, "plain words");
		problems_add_error(&list, "plain", &err);
		assert_string_not_equal(list.items[list.n - 1].fix, "");
	}
	problems_release(&list);
}

/* An error that forgot its code must not look like success. */
static void test_error_without_code(void **state)
{
	struct problems list = { NULL, 0, 0 };

	(void)state;
	problems_add(&list, SEVERITY_ERROR, ERROR_NONE, "x", "y", "x");
	assert_int_equal(problems_to_error(&list, NULL), -ERROR_BUG);
	problems_release(&list);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(severity_name(SEVERITY_ERROR), "error");
	assert_string_equal(severity_name(SEVERITY_WARNING), "warning");
	assert_string_equal(severity_name(SEVERITY_INFO), "info");
	assert_string_equal(guarantee_name(GUARANTEE_EXACT), "exact");
	assert_string_equal(guarantee_name(GUARANTEE_LAG), "lag");
	assert_string_equal(guarantee_name(GUARANTEE_NONE), "none");
	assert_string_equal(load_mode_name(LOAD_UPSERT), "upsert");
	assert_string_equal(load_mode_name(LOAD_APPEND), "append");
	assert_string_equal(load_mode_name(LOAD_DELETE_INSERT),
			    "delete_insert");
	assert_string_equal(load_mode_name(LOAD_UPDATE), "update");
	assert_string_equal(load_mode_name(LOAD_REPLACE), "replace");
	assert_string_equal(mapping_name(MAPPING_EXACT), "exact");
	assert_string_equal(mapping_name(MAPPING_WIDENED), "widened");
	assert_string_equal(mapping_name(MAPPING_LOSSY), "lossy");
}

/* Under a leak checker: what each record owns is freed with it. */
static void test_records_release(void **state)
{
	struct settled settled;
	struct inspection inspection;
	struct checkpoint checkpoint;
	struct attempt_list attempts = { NULL, 0, 0 };
	struct table_list tables = { NULL, 0, 0 };

	(void)state;
	settled_init(&settled);
	assert_int_equal(settled.guarantee, GUARANTEE_NONE);
	assert_int_equal(settled.lag_us, -1);
	settled.value = xstrdup("1");
	settled.reason = xstrdup("r");
	settled.pending = json_object();
	settled.held_by = json_object();
	settled_release(&settled);
	assert_null(settled.value);

	inspection_init(&inspection);
	inspection.columns = xcalloc(1, sizeof(*inspection.columns));
	inspection.n_columns = 1;
	inspection.columns[0].name = xstrdup("id");
	inspection.columns[0].destination_type = xstrdup("bigint");
	strlist_add(&inspection.ddl, "CREATE TABLE t ()");
	strlist_add(&inspection.added, "id");
	problems_add(&inspection.problems, SEVERITY_INFO, ERROR_NONE, "c", "f",
		     "m");
	inspection_release(&inspection);
	assert_null(inspection.columns);

	checkpoint_init(&checkpoint);
	assert_false(checkpoint.found);
	checkpoint.watermark = xstrdup("{}");
	checkpoint.batch_id = xstrdup("b");
	checkpoint_release(&checkpoint);
	assert_null(checkpoint.watermark);

	attempts.items =
		xgrow(NULL, &attempts.capacity, 1, sizeof(*attempts.items));
	attempts.n = 1;
	attempt_init(&attempts.items[0]);
	attempts.items[0].attempt_id = xstrdup("a");
	attempts.items[0].error_message = xstrdup("killed");
	attempt_list_release(&attempts);
	assert_null(attempts.items);

	tables.items = xgrow(NULL, &tables.capacity, 1, sizeof(*tables.items));
	tables.n = 1;
	tables.items[0].name = xstrdup("t");
	tables.items[0].kind = xstrdup("table");
	table_list_release(&tables);
	assert_int_equal(tables.n, 0);
}

static void test_release_takes_null(void **state)
{
	(void)state;
	settled_release(NULL);
	inspection_release(NULL);
	checkpoint_release(NULL);
	attempt_release(NULL);
	attempt_list_release(NULL);
	table_list_release(NULL);
	problems_release(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_error_counts),
		cmocka_unit_test(test_error_as_problem),
		cmocka_unit_test(test_error_without_code),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_records_release),
		cmocka_unit_test(test_release_takes_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
