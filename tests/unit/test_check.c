/* The words of check and status, over engines in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/alloc.h"
#include "core/sync/parts/marks.h"
#include "core/sync/report/check.h"
#include "core/sync/report/status.h"
#include "tests/unit/fake_engines.h"
#include "tests/unit/faulty_store.h"

static struct connection here = {
	.name = (char *)"fake",
	.url = { .engine = (char *)"fake",
		 .path = (char *)"",
		 .shown = (char *)"fake:" },
};

static struct connection nowhere = {
	.name = (char *)"nowhere",
	.url = { .engine = (char *)"nowhere",
		 .path = (char *)"",
		 .shown = (char *)"nowhere:" },
};

struct check_case {
	const char *stored; /* the mark at the destination, or NULL */
	bool no_source, no_destination, unsettled, append;
	enum error_code error;
	const char *problem; /* a code that must be among them, or NULL */
	size_t n_columns;
};

static const struct check_case cases[] = {
	{ NULL, false, false, false, false, ERROR_NONE, NULL, 1 },
	{ "{\"strategy\":\"sequence\",\"column\":\"id\",\"value\":\"7\","
	  "\"identity\":{\"engine\":\"fake\"}}",
	  false, false, false, false, ERROR_NONE, NULL, 1 },
	{ "{\"strategy\":\"sequence\",\"column\":\"id\",\"value\":\"7\","
	  "\"identity\":{\"engine\":\"another\"}}",
	  false, false, false, false, ERROR_SCHEMA, "mark-schema", 1 },
	{ "{\"strategy\":\"sequence\",\"column\":\"nr\",\"value\":\"7\"}",
	  false, false, false, false, ERROR_SCHEMA, "mark-of-other-strategy",
	  1 },
	{ "{\"strategy\":\"timestamp\",\"column\":\"id\",\"value\":"
	  "\"2026-01-31 12:00:00+00\"}",
	  false, false, false, false, ERROR_SCHEMA, "mark-of-other-strategy",
	  1 },
	{ "{\"strategy\":\"xmin\",\"value\":\"7\"}", false, false, false, false,
	  ERROR_SCHEMA, "mark-of-other-strategy", 1 },
	{ "{", false, false, false, false, ERROR_DATA, "mark-data", 1 },
	{ NULL, true, false, false, false, ERROR_CONFIG, "source-config", 0 },
	{ NULL, false, true, false, false, ERROR_CONFIG, "destination-config",
	  1 },
	{ NULL, false, false, true, false, ERROR_NONE, "settle-off", 1 },
	{ NULL, false, false, false, true, ERROR_NONE, "append-tail", 1 },
};

static bool check_has(const struct check_result *r, const char *code)
{
	for (size_t i = 0; i < r->problems.n; i++)
		if (!strcmp(r->problems.items[i].code, code))
			return true;
	return false;
}

static void check_one(const struct check_case *c)
{
	struct pipeline_settings p = fake_settings(&here);
	struct check_result r;
	json_t *json;

	fake_reset(1);
	fake.watermark = xstrdup(c->stored);
	p.source = c->no_source ? &nowhere : &here;
	p.destination = c->no_destination ? &nowhere : &here;
	p.settle = !c->unsettled;
	p.mode = c->append ? LOAD_APPEND : LOAD_UPSERT;
	check_pipeline(&p, &here, &r);
	json = check_result_json(&r);
	assert_int_equal(check_result_error(&r), c->error);
	assert_int_equal(r.n_columns, c->n_columns);
	assert_int_equal(r.problems.n, c->problem ? 1 : 0);
	if (c->problem)
		assert_true(check_has(&r, c->problem));
	assert_int_equal(json_is_true(json_object_get(json, "ok")),
			 c->error == ERROR_NONE);
	assert_int_equal(fake.loads, 0);
	json_decref(json);
	check_result_release(&r);
}

static void test_check(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_one(&cases[i]);
	fake_reset(0);
}

/* A state store that is away is a problem of every pipeline. */
static void test_check_state(void **state)
{
	struct pipeline_settings p = fake_settings(&here);
	struct check_result r;

	(void)state;
	fake_reset(1);
	check_pipeline(&p, &nowhere, &r);
	assert_int_equal(check_result_error(&r), ERROR_CONFIG);
	assert_true(check_has(&r, "state-config"));
	check_result_release(&r);
}

static const char stored[] =
	"{\"strategy\":\"sequence\",\"column\":\"id\",\"value\":\"7\"}";

static json_t *status_json(const struct pipeline_settings *p,
			   struct store *from)
{
	struct status_result r;
	json_t *json;

	status_pipeline(p, from, &r);
	json = status_result_json(&r);
	status_result_release(&r);
	return json;
}

static void test_status(void **state)
{
	struct pipeline_settings p = fake_settings(&here);
	json_t *json, *mark;

	(void)state;
	fake_reset(1);
	fake.watermark = xstrdup(stored);
	json = status_json(&p, faulty_store());
	mark = json_loads(stored, 0, NULL);
	assert_true(json_equal(json_object_get(json, "watermark"), mark));
	assert_string_equal(json_string_value(json_object_get(json, "from")),
			    "destination");
	assert_int_equal(json_array_size(json_object_get(json, "notes")), 0);
	assert_true(json_is_null(json_object_get(json, "last_run")));
	assert_true(json_is_null(json_object_get(json, "lease")));
	json_decref(mark);
	json_decref(json);
}

/* An end that does not answer is a note, and the rest is said. */
static void test_status_away(void **state)
{
	struct pipeline_settings p = fake_settings(&here);
	json_t *json;

	(void)state;
	fake_reset(1);
	p.destination = &nowhere;
	json = status_json(&p, NULL);
	assert_true(json_is_null(json_object_get(json, "watermark")));
	assert_true(json_is_null(json_object_get(json, "from")));
	assert_int_equal(json_array_size(json_object_get(json, "notes")), 2);
	json_decref(json);
	p.destination = &here;
	p.source = &nowhere;
	fake.watermark = xstrdup(stored);
	json = status_json(&p, faulty_store());
	assert_true(json_is_object(json_object_get(json, "watermark")));
	assert_true(json_is_null(json_object_get(json, "lag_seconds")));
	assert_int_equal(json_array_size(json_object_get(json, "notes")), 1);
	json_decref(json);
	fake_reset(0);
}

static void test_mark_get(void **state)
{
	struct pipeline_settings p = fake_settings(&here);
	struct settings s = { .state = &here };
	struct mark mark;
	struct error err = ERROR_INIT;

	(void)state;
	fake_reset(1);
	fake.watermark = xstrdup(stored);
	mark_init(&mark);
	assert_int_equal(marks_get(&s, &p, &mark, &err), 0);
	assert_string_equal(mark.watermark, stored);
	assert_string_equal(mark.from, "destination");
	mark_release(&mark);
	p.destination = &nowhere;
	assert_int_equal(marks_get(&s, &p, &mark, &err), 0);
	assert_null(mark.watermark);
	assert_string_equal(mark.from, "state");
	assert_int_equal(mark.unreachable.code, ERROR_CONFIG);
	mark_release(&mark);
	s.state = &nowhere;
	assert_int_equal(marks_get(&s, &p, &mark, &err), -ERROR_CONFIG);
	mark_release(&mark);
	fake_reset(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_check_state),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_status_away),
		cmocka_unit_test(test_mark_get),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
