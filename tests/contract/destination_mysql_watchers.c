/* MariaDB and MySQL: those who depend on a target's rows, also where the server
 * does not show them to our user. */
#include "destination_mysql.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"

/* A row that points at itself by others goes with the row it points at. */
static void test_referenced_by_itself(void **state)
{
	struct world *w = mysql_world(state, "id:int64! parent:int64");

	w->target.mode = LOAD_DELETE_INSERT;
	world_exec(w, "CREATE TABLE orders (id bigint PRIMARY KEY, parent "
		      "bigint, FOREIGN KEY (parent) REFERENCES orders (id) "
		      "ON DELETE CASCADE);");
	assert_int_equal(world_begin(w), ERROR_SCHEMA);
	mysql_refused(w, "foreign key");
	mysql_refused(w, "tm_source.orders");
	world_close(w);
}

/* A child in a database that our user may not see. */
static void watchers_hide(struct world *w, const char *columns)
{
	char *sql = xstrfmt("DROP DATABASE IF EXISTS tm_hidden; "
			    "CREATE DATABASE tm_hidden; CREATE TABLE "
			    "tm_hidden.child (id bigint, FOREIGN KEY (id) "
			    "REFERENCES tm_source.orders (id) %s); "
			    "INSERT INTO tm_hidden.child VALUES (1), (2); "
			    "REVOKE PROCESS ON *.* FROM app@'%%'",
			    columns);

	mysql_admin(w, sql);
	free(sql);
}

/* The child table afterwards: its rows, and the table that it points at. */
static char *watchers_show(struct world *w)
{
	char *out = mysql_admin_says(
		w, "GRANT PROCESS ON *.* TO app@'%'; "
		   "SELECT COUNT(*) FROM tm_hidden.child; "
		   "SELECT referenced_table_name FROM information_schema."
		   "referential_constraints WHERE constraint_schema = "
		   "'tm_hidden'");

	mysql_admin(w, "DROP DATABASE tm_hidden");
	return out;
}

static void test_unseen_key(void **state)
{
	struct world *w = mysql_world(state, "id:int64! v:text");
	char *shown, *message;
	int code;

	w->target.mode = LOAD_DELETE_INSERT;
	world_sync(w, "1|a\n2|b", MARK);
	watchers_hide(w, "ON DELETE CASCADE");
	world_sync(w, "1|A\n2|b\n3|c", MARK);
	world_expect_counts(w, 1, 1, 1);
	mysql_admin(w, "GRANT PROCESS ON *.* TO app@'%'");
	code = world_begin(w);
	message = xstrdup(w->err.message);
	world_close(w);
	shown = watchers_show(w);
	assert_string_equal(shown, "2\norders");
	assert_string_equal(world_query(w, ALL), "1|A\n2|b\n3|c");
	assert_int_equal(code, ERROR_SCHEMA);
	assert_non_null(strstr(message, "tm_hidden.child"));
	free(shown);
	free(message);
}

/* Unique values change places by DELETE as a rule. */
static void test_unseen_key_and_exchange(void **state)
{
	struct world *w = mysql_world(state, "id:int64! v:int64");
	char *shown;
	int code;

	world_exec(w, "CREATE TABLE orders (id bigint PRIMARY KEY, v bigint "
		      "UNIQUE);");
	world_sync(w, "1|1\n2|2", MARK);
	watchers_hide(w, "ON DELETE CASCADE");
	assert_int_equal(world_begin(w), 0);
	code = world_load(w, "1|2\n2|1", "{}");
	world_close(w);
	shown = watchers_show(w);
	assert_string_equal(shown, "2\norders");
	assert_int_equal(code, ERROR_DATA);
	free(shown);
}

static void watchers_failpoint(const char *points)
{
	struct error err = ERROR_INIT;

	if (points)
		setenv("TIDEMARK_FAILPOINTS", points, 1);
	else
		unsetenv("TIDEMARK_FAILPOINTS");
	if (failpoint_init(&err))
		skip();
}

/* The old table is put back, by the run or by the one after it. */
static void watchers_swap(void **state, const char *points)
{
	struct world *w = mysql_world(state, "id:int64! v:text");
	char *shown;
	int codes[2];

	world_sync(w, "1|a\n2|b", MARK);
	watchers_hide(w, "");
	w->target.refresh = true;
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "1|x\n2|y", "{}"), 0);
	watchers_failpoint(points);
	codes[0] = world_finish(w, "{\"value\":\"2\"}");
	unsetenv("TIDEMARK_FAILPOINTS");
	world_close(w);
	w->target.refresh = false;
	codes[1] = points ? world_begin(w) : codes[0];
	mysql_refused(w, "PROCESS");
	world_close(w);
	shown = watchers_show(w);
	assert_string_equal(shown, "2\norders");
	free(shown);
	assert_int_equal(codes[0], points ? ERROR_TRANSIENT : ERROR_SCHEMA);
	assert_int_equal(codes[1], ERROR_SCHEMA);
	assert_string_equal(world_query(w, ALL), "1|a\n2|b");
	assert_string_equal(world_mark(w), MARK);
	assert_null(strstr(world_query(w, "SHOW TABLES;"), "stage"));
	world_sync(w, "1|a\n2|B", MARK);
	world_expect_counts(w, 0, 1, 1);
}

static void test_swap_with_unseen_key(void **state)
{
	watchers_swap(state, NULL);
}

static void test_swap_with_unseen_key_killed(void **state)
{
	watchers_swap(state, "after_merge=error@1");
}

/* Is a table replaced, without and with a trigger on it? */
static void watchers_replaced(struct world *w, int codes[2])
{
	static const char *const triggers[] = {
		"DROP TRIGGER IF EXISTS tm_source.t",
		"CREATE TRIGGER tm_source.t BEFORE UPDATE ON tm_source.orders "
		"FOR EACH ROW SET NEW.v = 'x'",
	};

	for (int i = 0; i < 2; i++) {
		mysql_admin(w, triggers[i]);
		codes[i] = world_begin(w);
		world_close(w);
	}
	mysql_admin(w, triggers[0]);
}

/* MySQL shows triggers to those alone who may make some. */
static void test_unseen_triggers(void **state)
{
	static const struct {
		const char *sql;
		bool sees;
	} rights[] = {
		{ "REVOKE TRIGGER ON tm_source.* FROM app@'%'", false },
		{ "GRANT TRIGGER ON tm_source.orders TO app@'%'", true },
		{ "REVOKE TRIGGER ON tm_source.orders FROM app@'%'", false },
		{ "REVOKE ALL ON tm_source.* FROM app@'%'; "
		  "GRANT ALL ON `tm\\_s%`.* TO app@'%'",
		  true },
		{ "REVOKE ALL ON `tm\\_s%`.* FROM app@'%'; GRANT ALL ON "
		  "tm_source.* TO app@'%'",
		  true },
	};
	struct world *w = mysql_world(state, "id:int64! v:text");
	int codes[ARRAY_SIZE(rights)][2];

	if (strcmp(w->quirks->engine, "mysql") != 0)
		return;
	world_sync(w, "1|a", MARK);
	w->target.refresh = true;
	for (size_t i = 0; i < ARRAY_SIZE(rights); i++) {
		mysql_admin(w, rights[i].sql);
		watchers_replaced(w, codes[i]);
	}
	mysql_refused(w, "triggers");
	for (size_t i = 0; i < ARRAY_SIZE(rights); i++) {
		if (codes[i][0] != (rights[i].sees ? 0 : ERROR_SCHEMA) ||
		    codes[i][1] != ERROR_SCHEMA)
			fail_msg("%s: %d, %d", rights[i].sql, codes[i][0],
				 codes[i][1]);
	}
}

/* `check` names the right that a run will miss, and none else. */
static void test_missing_right(void **state)
{
	struct world *w = mysql_world(state, "id:int64! v:text");
	struct inspection found[2];
	const char *name = NULL;

	for (int i = 0; i < 2; i++) {
		inspection_init(&found[i]);
		if (i)
			mysql_admin(w, "REVOKE CREATE TEMPORARY TABLES ON "
				       "tm_source.* FROM app@'%'");
		world_open(w);
		w->ops->inspect(w->destination, &w->target, &found[i], &w->err);
		world_close(w);
	}
	mysql_admin(w, "GRANT ALL ON tm_source.* TO app@'%'");
	for (size_t i = 0; i < found[1].problems.n; i++)
		if (!strcmp(found[1].problems.items[i].code, "missing-rights"))
			name = found[1].problems.items[i].fix;
	assert_int_equal(found[0].problems.n, 0);
	assert_non_null(name);
	assert_string_equal(name, "GRANT CREATE TEMPORARY TABLES ON "
				  "`tm_source`.* TO 'app'@'%'");
	for (int i = 0; i < 2; i++)
		inspection_release(&found[i]);
}

const struct CMUnitTest suite_mysql_watchers[] = {
	SUITE_TEST(test_referenced_by_itself),
	SUITE_TEST(test_unseen_key),
	SUITE_TEST(test_unseen_key_and_exchange),
	SUITE_TEST(test_swap_with_unseen_key),
	SUITE_TEST(test_swap_with_unseen_key_killed),
	SUITE_TEST(test_unseen_triggers),
	SUITE_TEST(test_missing_right),
};
const size_t suite_mysql_watchers_n = ARRAY_SIZE(suite_mysql_watchers);
