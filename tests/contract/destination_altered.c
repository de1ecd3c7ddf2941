/* Somebody alters the target in the middle of a run, between two batches. The
 * run looks at it anew, or names the object that takes its rows away. */
#include "destination_suite.h"

#include <string.h>

#include "core/base/alloc.h"

#define MARK  "{\"value\":\"1\"}"
#define LATER "{\"value\":\"2\"}"

static struct world *altered_world(void **state, enum load_mode mode)
{
	struct world *w = suite_world(state);

	world_schema(w, "id:int64! amount:decimal(12,4) name:text");
	w->target.table = "orders";
	w->target.mode = mode;
	w->target.drift.on_type_change = DRIFT_WIDEN;
	return w;
}

static const char *altered_table(const struct world *w)
{
	return w->target.mode == LOAD_APPEND || w->quirks->views ? "orders_raw"
								 : "orders";
}

/* A run has loaded one batch, and begun no other. */
static void altered_begin(struct world *w)
{
	if (w->target.mode == LOAD_UPDATE) {
		w->target.mode = LOAD_UPSERT;
		world_sync(w, "1|1.5000|a\n2|2.5000|b\n3|3.5000|c", MARK);
		w->target.mode = LOAD_UPDATE;
	}
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "1|1.5000|a\n2|2.5000|b", MARK), 0);
}

/* The next batch is refused for what was done, which is no row's fault. */
static void altered_refused(struct world *w)
{
	int rc = world_load(w, "1|1.1234|A\n3|3.1234|C", LATER);

	if (rc != ERROR_TRANSIENT)
		fail_msg("code %d, not transient: %s", rc, w->err.message);
	assert_non_null(strstr(w->err.message, "altered"));
	assert_non_null(strstr(w->err.message, "orders"));
	assert_string_equal(world_mark(w), MARK);
	world_close(w);
}

/* The next try prepares anew and loads every digit. */
static void altered_again(struct world *w)
{
	char *sql;

	if (world_begin(w))
		fail_msg("%s: %s", load_mode_name(w->target.mode),
			 w->err.message);
	assert_int_equal(world_load(w, "1|1.1234|A\n3|3.1234|C", LATER), 0);
	world_close(w);
	sql = xstrfmt("SELECT count(*) FROM orders WHERE amount IN (1.1234, "
		      "3.1234);");
	assert_string_equal(world_query(w, sql), "2");
	free(sql);
}

static const enum load_mode altered_modes[] = { LOAD_UPSERT, LOAD_APPEND,
						LOAD_DELETE_INSERT,
						LOAD_UPDATE };

/* An empty database, or as good as one. */
static void altered_clean(struct world *w)
{
	bool raw = w->target.mode == LOAD_APPEND;

	world_close(w);
	world_exec(w, w->quirks->clean ? w->quirks->clean
		      : raw ? "DROP VIEW orders; DROP TABLE orders_raw;"
			      "DROP TABLE _tidemark_watermark;"
			    : "DROP TABLE orders;"
			      "DROP TABLE _tidemark_watermark;");
}

static bool altered_has_mode(const struct world *w, enum load_mode mode)
{
	return mode != LOAD_UPDATE || !w->quirks->views;
}

/* DDL, with "%" for the table. The view of a raw one may be in its way. */
static void altered_exec(struct world *w, const char *fmt, bool view)
{
	struct strbuf sql = STRBUF_INIT;

	if (w->target.mode == LOAD_APPEND && view)
		strbuf_addstr(&sql, "DROP VIEW orders;");
	for (const char *p = fmt; *p; p++)
		if (*p == '%')
			strbuf_addstr(&sql, altered_table(w));
		else
			strbuf_addch(&sql, *p);
	world_exec(w, sql.data);
	strbuf_release(&sql);
}

static void altered_by(void **state, const char *fmt, bool view)
{
	for (size_t i = 0; i < ARRAY_SIZE(altered_modes); i++) {
		struct world *w = altered_world(state, altered_modes[i]);

		if (!altered_has_mode(w, w->target.mode))
			continue;
		altered_begin(w);
		altered_exec(w, fmt, view);
		altered_refused(w);
		/* In mode update the types are others'. */
		if (!view || w->target.mode != LOAD_UPDATE)
			altered_again(w);
		altered_clean(w);
	}
}

/* A narrower type would round without a word. */
static void test_altered_type(void **state)
{
	struct world *w = suite_world(state);

	altered_by(state, w->quirks->narrower_decimal, true);
}

/* Another column: the table's rows are others than those that were planned. */
static void test_altered_column(void **state)
{
	altered_by(state, "ALTER TABLE % ADD COLUMN more int;", false);
}

static void test_altered_remove(void **state)
{
	struct world *w = altered_world(state, LOAD_UPSERT);

	altered_begin(w);
	world_exec(w, "ALTER TABLE orders ADD COLUMN more int;");
	assert_int_equal(world_remove(w, "1|NULL|NULL", LATER),
			 -ERROR_TRANSIENT);
	assert_non_null(strstr(w->err.message, "altered"));
	world_close(w);
	assert_string_equal(world_query(w, "SELECT count(*) FROM orders;"),
			    "2");
}

/* Dropped and made again, under the old name. */
static void test_altered_made_anew(void **state)
{
	struct world *w = altered_world(state, LOAD_UPSERT);
	char *sql;

	altered_begin(w);
	sql = xstrfmt("DROP TABLE orders; CREATE TABLE orders (id %s PRIMARY "
		      "KEY, amount decimal(12,2), name %s);",
		      w->quirks->bigint, w->quirks->text);
	world_exec(w, sql);
	free(sql);
	altered_refused(w);
}

/* The table that a refresh is to replace: what was done to it would be lost. */
static void test_altered_replaced(void **state)
{
	struct world *w = altered_world(state, LOAD_UPSERT);

	world_sync(w, "1|1.5000|a", MARK);
	w->target.refresh = true;
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "1|1.5000|a\n2|2|b", LATER), 0);
	world_exec(w, "ALTER TABLE orders ADD COLUMN more int;");
	assert_int_equal(world_finish(w, LATER), ERROR_TRANSIENT);
	assert_non_null(strstr(w->err.message, "altered"));
	world_close(w);
	assert_string_equal(world_mark(w), MARK);
	assert_string_equal(world_query(w, "SELECT count(more), count(*) FROM "
					   "orders;"),
			    "0|1");
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "1|1.5000|a\n2|2|b", LATER), 0);
	assert_int_equal(world_finish(w, LATER), 0);
}

/* MariaDB and MySQL: a trigger may change values; a column that counts rows
 * does not alter the table. */
static void test_altered_trigger(void **state)
{
	struct world *w = altered_world(state, LOAD_UPSERT);

	if (!w->quirks->plugin)
		return;
	world_exec(w, "CREATE TABLE orders (id bigint PRIMARY KEY, "
		      "amount decimal(12,4), name longtext, "
		      "n bigint NOT NULL AUTO_INCREMENT UNIQUE);");
	altered_begin(w);
	assert_int_equal(world_load(w, "3|3|c\n4|4|d", MARK), 0);
	world_exec(w, "CREATE TRIGGER less BEFORE UPDATE ON orders FOR EACH "
		      "ROW SET NEW.amount = 0;");
	altered_refused(w);
}

/* A hand that does nothing of the kind stops nobody. */
static void test_not_altered(void **state)
{
	struct world *w = altered_world(state, LOAD_UPSERT);

	altered_begin(w);
	world_exec(w, "CREATE TABLE aside (id integer);"
		      "UPDATE orders SET name = 'by hand';");
	assert_int_equal(world_load(w, "1|1.1234|A\n3|3.1234|C", LATER), 0);
	world_expect_counts(w, 1, 1, 0);
}

const struct CMUnitTest suite_altered[] = {
	SUITE_TEST(test_altered_type),	   SUITE_TEST(test_altered_column),
	SUITE_TEST(test_altered_remove),   SUITE_TEST(test_altered_made_anew),
	SUITE_TEST(test_altered_replaced), SUITE_TEST(test_altered_trigger),
	SUITE_TEST(test_not_altered),
};
const size_t suite_altered_n = ARRAY_SIZE(suite_altered);
