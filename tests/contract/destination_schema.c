/* Tables: made when missing, respected when there, drifting as configured. */
#include "destination_suite.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

#define ORDERS "id:int64! name:text at:timestamptz@"
#define DAY(d) "2026-01-" d " 12:00:00+00"

static struct world *schema_world(void **state)
{
	struct world *w = suite_world(state);

	world_schema(w, ORDERS);
	w->target.table = "orders";
	w->target.mode = LOAD_UPSERT;
	w->rehearse = true;
	return w;
}

/* CREATE TABLE with the engine's own words for bigint, integer, text and a text
 * that is indexed: $b, $i, $t and $k. */
static void schema_exec(struct world *w, const char *sql)
{
	struct strbuf sb = STRBUF_INIT;

	for (const char *p = sql; *p; p++) {
		if (*p != '$') {
			strbuf_addch(&sb, *p);
			continue;
		}
		p++;
		strbuf_addstr(&sb, *p == 'b'   ? w->quirks->bigint
				   : *p == 'i' ? w->quirks->integer
				   : *p == 'k' ? w->quirks->key_text
					       : w->quirks->text);
	}
	world_exec(w, sb.data);
	strbuf_release(&sb);
}

/* Refused by prepare, with every word in the message, and found by inspect
 * before that. */
static void schema_refused(struct world *w, const char *word)
{
	struct inspection found;
	struct error err = ERROR_INIT;

	world_open(w);
	inspection_init(&found);
	assert_int_equal(
		w->ops->inspect(w->destination, &w->target, &found, &w->err),
		0);
	assert_int_equal(problems_to_error(&found.problems, &err),
			 -ERROR_SCHEMA);
	inspection_release(&found);
	world_close(w);
	assert_int_equal(world_begin(w), ERROR_SCHEMA);
	if (!strstr(w->err.message, word))
		fail_msg("no %s in: %s", word, w->err.message);
	world_close(w);
}

static void test_creates_table(void **state)
{
	struct world *w = schema_world(state);
	struct inspection found;

	world_open(w);
	inspection_init(&found);
	assert_int_equal(
		w->ops->inspect(w->destination, &w->target, &found, &w->err),
		0);
	assert_false(found.table_exists);
	assert_int_equal(found.n_columns, 3);
	assert_string_equal(found.columns[0].name, "id");
	assert_int_equal(found.columns[0].mapping, MAPPING_EXACT);
	assert_true(found.ddl.n > 0);
	inspection_release(&found);
	world_sync(w, "1|a|" DAY("01"), "{}");
	assert_string_equal(world_query(w, "SELECT id, name FROM orders;"),
			    "1|a");
}

/* inspect has written nothing: the table is still not there. */
static void test_inspect_writes_nothing(void **state)
{
	struct world *w = schema_world(state);
	struct inspection found;

	for (int i = 0; i < 2; i++) {
		world_open(w);
		inspection_init(&found);
		assert_int_equal(w->ops->inspect(w->destination, &w->target,
						 &found, &w->err),
				 0);
		assert_false(found.table_exists);
		inspection_release(&found);
		world_close(w);
	}
}

static void test_other_column_order(void **state)
{
	struct world *w = schema_world(state);

	world_schema(w, "id:int64! name:text n:int32");
	schema_exec(w, "CREATE TABLE orders (extra $k DEFAULT 'd', n $i, "
		       "name $t, id $b PRIMARY KEY);");
	world_sync(w, "1|a|5\n2|b|6", "{}");
	assert_string_equal(world_query(w, "SELECT * FROM orders ORDER BY id;"),
			    "d|5|a|1\nd|6|b|2");
	schema_exec(w, "UPDATE orders SET extra = 'mine';");
	world_sync(w, "1|A|5\n2|b|6", "{}");
	world_expect_counts(w, 0, 1, 1);
	assert_string_equal(world_query(w, "SELECT * FROM orders ORDER BY id;"),
			    "mine|5|A|1\nmine|6|b|2");
}

/* Neither row can have its new name while the other one still has it. */
static void test_unique_values_exchanged(void **state)
{
	struct world *w = schema_world(state);

	world_schema(w, "id:int64! name:text(40) n:int32");
	schema_exec(w, "CREATE TABLE orders (id $b PRIMARY KEY, name $k UNIQUE,"
		       " n $i);");
	world_sync(w, "1|a|5\n2|b|6\n3|c|7", "{}");
	world_sync(w, "1|b|5\n2|a|6\n3|c|7\n4|d|8", "{}");
	world_expect_counts(w, 1, 2, 1);
	assert_string_equal(world_query(w, "SELECT * FROM orders ORDER BY id;"),
			    "1|b|5\n2|a|6\n3|c|7\n4|d|8");
	/* Two rows that are to have one name are refused all the same. */
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "1|a|5\n3|x|7", "{}"), ERROR_DATA);
	/* Nothing of them is left for the next batch to commit. */
	assert_int_equal(world_load(w, "4|D|8", "{}"), 0);
	world_close(w);
	assert_string_equal(world_query(w, "SELECT * FROM orders ORDER BY id;"),
			    "1|b|5\n2|a|6\n3|c|7\n4|D|8");
}

static void test_extra_without_default(void **state)
{
	struct world *w = schema_world(state);

	world_schema(w, "id:int64! name:text");
	schema_exec(w, "CREATE TABLE orders (id $b PRIMARY KEY, name $t, "
		       "needed $i NOT NULL);");
	schema_refused(w, "needed");
}

static void test_no_unique_key(void **state)
{
	struct world *w = schema_world(state);

	world_schema(w, "id:int64! name:text");
	schema_exec(w, "CREATE TABLE orders (id $b, name $t);");
	if (w->quirks->key_index) {
		schema_refused(w, "CREATE UNIQUE INDEX");
		return;
	}
	world_exec(w, "INSERT INTO orders VALUES (1, 'a'), (1, 'b');");
	schema_refused(w, "more than once");
}

static void test_key_column_missing(void **state)
{
	struct world *w = schema_world(state);

	world_schema(w, "id:int64! name:text");
	schema_exec(w, "CREATE TABLE orders (name $k PRIMARY KEY);");
	schema_refused(w, "id");
}

static void test_stricter_type(void **state)
{
	struct world *w = schema_world(state);

	if (!w->quirks->strict_types || w->quirks->plain_tables)
		skip();
	world_schema(w, "id:int64! n:int64");
	schema_exec(w, "CREATE TABLE orders (id $b PRIMARY KEY, n $i);");
	schema_refused(w, " n ");
	assert_string_equal(world_query(w, "SELECT count(*) FROM orders;"),
			    "0");
}

static void test_wider_type(void **state)
{
	struct world *w = schema_world(state);

	world_schema(w, "id:int32! n:int16");
	schema_exec(w, "CREATE TABLE orders (id $b PRIMARY KEY, n $i);");
	world_sync(w, "1|-32768\n2|NULL", "{}");
	world_sync(w, "1|-32768\n2|7", "{}");
	world_expect_counts(w, 0, 1, 1);
	assert_string_equal(
		world_query(w, "SELECT id, n FROM orders ORDER BY id;"),
		"1|-32768\n2|7");
}

/* A NULL that the table refuses: DATA, naming column and row. */
static void test_not_null_there(void **state)
{
	struct world *w = schema_world(state);

	world_schema(w, "id:int64! name:text");
	schema_exec(w, "CREATE TABLE orders (id $b PRIMARY KEY, "
		       "name $t NOT NULL);");
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "1|a\n42|NULL", "{}"), ERROR_DATA);
	assert_non_null(strstr(w->err.message, "name"));
	assert_non_null(strstr(w->err.message, "42"));
	world_close(w);
	assert_string_equal(world_query(w, "SELECT count(*) FROM orders;"),
			    "0");
}

static void test_view_there(void **state)
{
	struct world *w = schema_world(state);

	schema_exec(w, "CREATE VIEW orders AS SELECT 1 AS id;");
	assert_int_equal(world_begin(w), ERROR_SCHEMA);
	w->target.mode = LOAD_APPEND;
	assert_int_equal(world_begin(w), ERROR_SCHEMA);
	world_close(w);
	schema_exec(w, "DROP VIEW orders;");
}

static void test_table_where_append_has_its_view(void **state)
{
	struct world *w = schema_world(state);

	schema_exec(w, "CREATE TABLE orders (id $b PRIMARY KEY);");
	w->target.mode = LOAD_APPEND;
	assert_int_equal(world_begin(w), ERROR_SCHEMA);
	assert_non_null(strstr(w->err.message, "orders"));
	world_close(w);
}

/* Another schema's table of the same name is another table. */
static void test_schema_is_made(void **state)
{
	struct world *w = schema_world(state);

	if (w->directory && strcmp(w->quirks->engine, "duckdb") != 0)
		skip();
	w->target.table = "other.orders";
	world_sync(w, "1|a|" DAY("01"), "{\"value\":\"1\"}");
	assert_string_equal(world_query(w, "SELECT id FROM other.orders;"),
			    "1");
	assert_string_equal(world_query(w, "SELECT watermark FROM "
					   "other._tidemark_watermark;"),
			    "{\"value\":\"1\"}");
}

static void drift_new_column(struct world *w, const char *expected)
{
	world_sync(w, "1|a|" DAY("01"), "{\"value\":\"1\"}");
	world_schema(w, ORDERS " more:int32");
	assert_int_equal(world_begin(w), 0);
	/* Every row is to be read again, so that the column fills. */
	assert_true(w->seen.found);
	assert_null(w->seen.watermark);
	assert_int_equal(world_load(w, "1|a|" DAY("01") "|5", "{}"), 0);
	world_close(w);
	assert_string_equal(
		world_query(w, "SELECT id, name, more FROM orders;"), expected);
	assert_int_equal(world_begin(w), 0);
	assert_string_equal(w->seen.watermark, "{}");
	world_close(w);
}

static void test_new_column(void **state)
{
	struct world *w = schema_world(state);

	drift_new_column(w, "1|a|5");
	world_sync(w, "1|a|" DAY("01") "|5", "{}");
	world_expect_counts(w, 0, 0, 1);
}

static void test_new_column_append(void **state)
{
	struct world *w = schema_world(state);

	w->target.mode = LOAD_APPEND;
	drift_new_column(w, "1|a|5");
}

static void test_new_column_stop(void **state)
{
	struct world *w = schema_world(state);

	world_sync(w, "1|a|" DAY("01"), "{\"value\":\"1\"}");
	world_schema(w, ORDERS " more:int32");
	w->target.drift.on_new_column = DRIFT_STOP;
	schema_refused(w, "more");
	assert_string_equal(world_mark(w), "{\"value\":\"1\"}");
}

static void drift_widen(struct world *w, const char *from, const char *to,
			const char *row, const char *wide_row)
{
	world_schema(w, from);
	world_sync(w, row, "{\"value\":\"1\"}");
	world_schema(w, to);
	assert_int_equal(world_begin(w), 0);
	assert_string_equal(w->seen.watermark, "{\"value\":\"1\"}");
	assert_int_equal(world_load(w, wide_row, "{}"), 0);
	world_close(w);
	assert_string_equal(
		world_query(w, "SELECT id, v FROM orders ORDER BY id;"),
		wide_row);
}

static void test_widen_integer(void **state)
{
	drift_widen(schema_world(state), "id:int64! v:int32",
		    "id:int64! v:int64", "1|2147483647",
		    "1|2147483647\n2|9223372036854775807");
}

static void test_widen_to_decimal(void **state)
{
	struct world *w = schema_world(state);

	for (int append = 0; append < 2; append++) {
		w->target.table = append ? "appended" : "orders";
		w->target.mode = append ? LOAD_APPEND : LOAD_UPSERT;
		world_schema(w, "id:int32! v:int64");
		world_sync(w, "1|9223372036854775807\n2|2", "{}");
		world_schema(w, "id:decimal(12,0)! v:decimal(20,0)");
		assert_int_equal(world_begin(w), 0);
		assert_int_equal(
			world_load(w, "2|-2\n3|99999999999999999999", "{}"), 0);
		world_expect_counts(w, append ? 2 : 1, append ? 0 : 1, 0);
		world_close(w);
		assert_string_equal(
			world_query(w, append ? "SELECT v FROM appended "
						"ORDER BY id;"
					      : "SELECT v FROM orders "
						"ORDER BY id;"),
			"9223372036854775807\n-2\n99999999999999999999");
	}
}

static void test_widen_text(void **state)
{
	drift_widen(schema_world(state), "id:int64! v:text(3)",
		    "id:int64! v:text", "1|abc", "1|abc\n2|abcd");
}

static void test_widen_decimal(void **state)
{
	struct world *w = schema_world(state);

	if (!w->quirks->strict_types)
		skip();
	drift_widen(w, "id:int64! v:decimal(5,2)", "id:int64! v:decimal(12,4)",
		    "1|1.25",
		    w->quirks->plain_tables ? "1|1.25\n2|12345678.1234"
					    : "1|1.2500\n2|12345678.1234");
}

static void test_widen_append(void **state)
{
	struct world *w = schema_world(state);

	w->target.mode = LOAD_APPEND;
	drift_widen(w, "id:int64! v:int32", "id:int64! v:int64", "1|1",
		    "1|1\n2|9223372036854775807");
}

static void test_widen_stop(void **state)
{
	struct world *w = schema_world(state);

	if (!w->quirks->strict_types || w->quirks->plain_tables)
		skip();
	world_schema(w, "id:int64! v:int32");
	world_sync(w, "1|1", "{\"value\":\"1\"}");
	world_schema(w, "id:int64! v:int64");
	w->target.drift.on_type_change = DRIFT_STOP;
	schema_refused(w, " v ");
}

static void test_other_type(void **state)
{
	struct world *w = schema_world(state);

	if (!w->quirks->strict_types)
		skip();
	world_schema(w, "id:int64! v:timestamptz");
	world_sync(w, "1|" DAY("01"), "{}");
	world_schema(w, "id:int64! v:int64");
	schema_refused(w, " v ");
}

/* The mark is that of the table it was written for. */
static void test_other_target(void **state)
{
	struct world *w = schema_world(state);

	world_schema(w, "id:int64! v:int64");
	schema_exec(w, "CREATE TABLE other (id $b PRIMARY KEY, v $b);");
	world_sync(w, "1|1", "{\"value\":\"1\"}");
	w->target.table = "other";
	assert_int_equal(world_begin(w), 0);
	assert_null(w->seen.watermark);
	world_close(w);
}

static void test_dropped_column(void **state)
{
	struct world *w = schema_world(state);

	world_sync(w, "1|a|" DAY("01"), "{}");
	world_schema(w, "id:int64! at:timestamptz@");
	world_sync(w, "1|" DAY("02") "\n2|" DAY("02"), "{}");
	assert_string_equal(
		world_query(w, "SELECT id, name FROM orders ORDER BY id;"),
		"1|a\n2|NULL");
	w->target.drift.on_dropped_column = DRIFT_STOP;
	schema_refused(w, "name");
}

/* The table is gone, the row in _tidemark_watermark is not: from the start. */
static void test_table_was_dropped(void **state)
{
	struct world *w = schema_world(state);

	world_sync(w, "1|a|" DAY("01"), "{\"value\":\"1\"}");
	world_exec(w, "DROP TABLE orders;");
	assert_int_equal(world_begin(w), 0);
	assert_null(w->seen.watermark);
	world_close(w);
}

const struct CMUnitTest suite_schema[] = {
	SUITE_TEST(test_creates_table),
	SUITE_TEST(test_inspect_writes_nothing),
	SUITE_TEST(test_other_column_order),
	SUITE_TEST(test_unique_values_exchanged),
	SUITE_TEST(test_extra_without_default),
	SUITE_TEST(test_no_unique_key),
	SUITE_TEST(test_key_column_missing),
	SUITE_TEST(test_stricter_type),
	SUITE_TEST(test_wider_type),
	SUITE_TEST(test_not_null_there),
	SUITE_TEST(test_view_there),
	SUITE_TEST(test_table_where_append_has_its_view),
	SUITE_TEST(test_schema_is_made),
	SUITE_TEST(test_new_column),
	SUITE_TEST(test_new_column_append),
	SUITE_TEST(test_new_column_stop),
	SUITE_TEST(test_widen_integer),
	SUITE_TEST(test_widen_to_decimal),
	SUITE_TEST(test_widen_text),
	SUITE_TEST(test_widen_decimal),
	SUITE_TEST(test_widen_append),
	SUITE_TEST(test_widen_stop),
	SUITE_TEST(test_other_type),
	SUITE_TEST(test_other_target),
	SUITE_TEST(test_dropped_column),
	SUITE_TEST(test_table_was_dropped),
};
const size_t suite_schema_n = ARRAY_SIZE(suite_schema);
