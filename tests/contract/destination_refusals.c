/* A reason to refuse a target has one code, whatever the engine. */
#include "destination_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

static struct world *refusals_world(void **state)
{
	struct world *w = suite_world(state);

	world_schema(w, "id:int64! name:text");
	w->target.table = "orders";
	w->target.mode = LOAD_UPSERT;
	return w;
}

/* Is there such a problem of severity error, with a message that begins with
 * the table, and a fix? */
static bool refusals_have(const struct problems *found, const char *code)
{
	for (size_t i = 0; i < found->n; i++) {
		const struct problem *p = &found->items[i];

		if (strcmp(p->code, code) != 0)
			continue;
		assert_int_equal(p->severity, SEVERITY_ERROR);
		assert_int_equal(p->error, ERROR_SCHEMA);
		assert_int_equal(strncmp(p->message, "table orders", 12), 0);
		assert_true(*p->fix);
		return true;
	}
	return false;
}

/* Found by inspect, and refused by prepare, by that of a dry run, too. */
static void refused_with(struct world *w, const char *code)
{
	struct inspection found;

	world_open(w);
	inspection_init(&found);
	assert_int_equal(
		w->ops->inspect(w->destination, &w->target, &found, &w->err),
		0);
	if (!refusals_have(&found.problems, code)) {
		for (size_t i = 0; i < found.problems.n; i++)
			fprintf(stderr, "%s: %s\n",
				found.problems.items[i].code,
				found.problems.items[i].message);
		fail_msg("no %s", code);
	}
	inspection_release(&found);
	world_close(w);
	for (int preview = 0; preview < 2; preview++) {
		w->target.preview = preview;
		assert_int_equal(world_begin(w), ERROR_SCHEMA);
		world_close(w);
	}
	w->target.preview = false;
}

/* Where every table is a view over another, a view is in its way. */
static void test_refused_view(void **state)
{
	struct world *w = refusals_world(state);

	world_exec(w, "CREATE VIEW orders AS SELECT 1 AS id;");
	refused_with(w, w->quirks->views ? "view-exists" : "not-a-table");
	world_exec(w, "DROP VIEW orders;");
}

static void test_refused_table_at_view(void **state)
{
	struct world *w = refusals_world(state);
	char *sql = xstrfmt("CREATE TABLE orders (id %s PRIMARY KEY);",
			    w->quirks->bigint);

	w->target.mode = LOAD_APPEND;
	world_exec(w, sql);
	refused_with(w, "not-a-view");
	free(sql);
}

static void test_refused_view_of_others(void **state)
{
	struct world *w = refusals_world(state);

	w->target.mode = LOAD_APPEND;
	world_exec(w, "CREATE VIEW orders AS SELECT 1 AS id;");
	refused_with(w, "view-exists");
	world_exec(w, "DROP VIEW orders;");
}

static void test_refused_names(void **state)
{
	struct world *w = refusals_world(state);

	if (!w->quirks->case_blind)
		skip();
	world_schema(w, "id:int64! name:text NAME:text");
	refused_with(w, "names-collide");
}

static void test_refused_keyless(void **state)
{
	struct world *w = refusals_world(state);

	world_schema(w, "id:int64 name:text");
	refused_with(w, "no-key");
}

static void test_refused_reserved(void **state)
{
	struct world *w = refusals_world(state);

	if (w->quirks->own_names)
		skip();
	w->target.mode = LOAD_APPEND;
	world_schema(w, "id:int64! _tidemark_seq:int64");
	refused_with(w, "reserved-name");
	world_schema(w, "id:int64! _tidemark_batch:int64");
	refused_with(w, "reserved-name");
	world_schema(w, "id:int64! _tidemark_loaded_at:int64");
	refused_with(w, "reserved-name");
}

/* No target is taken for a table of Tidemark's own, or takes its place. */
static void test_refused_own_table(void **state)
{
	struct world *w = refusals_world(state);
	struct inspection found;

	w->target.table = "_Tidemark_orders";
	world_open(w);
	inspection_init(&found);
	assert_int_equal(
		w->ops->inspect(w->destination, &w->target, &found, &w->err),
		-ERROR_CONFIG);
	assert_non_null(strstr(w->err.message, "_tidemark_ are taken"));
	inspection_release(&found);
	world_close(w);
	assert_int_equal(world_begin(w), ERROR_CONFIG);
	world_close(w);
}

static void test_refused_not_ours(void **state)
{
	struct world *w = refusals_world(state);
	char *sql;

	if (w->quirks->views)
		skip();
	sql = xstrfmt("CREATE TABLE orders (id %s PRIMARY KEY, name %s);",
		      w->quirks->bigint, w->quirks->text);
	world_exec(w, sql);
	w->target.refresh = true;
	refused_with(w, "not-ours");
	free(sql);
}

const struct CMUnitTest suite_refusals[] = {
	SUITE_TEST(test_refused_view),
	SUITE_TEST(test_refused_table_at_view),
	SUITE_TEST(test_refused_view_of_others),
	SUITE_TEST(test_refused_names),
	SUITE_TEST(test_refused_keyless),
	SUITE_TEST(test_refused_reserved),
	SUITE_TEST(test_refused_own_table),
	SUITE_TEST(test_refused_not_ours),
};
const size_t suite_refusals_n = ARRAY_SIZE(suite_refusals);
