/* PostgreSQL's own behaviour: its types, and objects that watch a table. */
#include "destination_suite.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"

#define ALL "SELECT * FROM orders ORDER BY id;"

static struct world *postgres_world(void **state, const char *spec)
{
	struct world *w = suite_world(state);

	world_schema(w, spec);
	w->target.table = "orders";
	w->target.mode = LOAD_UPSERT;
	return w;
}

/* A column of the source's own type, as the Postgres connector describes it. */
static void postgres_native(struct world *w, enum type_kind kind,
			    const char *native)
{
	struct type type = { .kind = kind, .native = (char *)native };
	size_t key = 0;

	world_schema(w, "id:int64!");
	free(w->schema.engine);
	w->schema.engine = xstrdup("postgres");
	free(w->schema.columns[0].type.native);
	w->schema.columns[0].type.native = xstrdup("bigint");
	schema_set_key(&w->schema, &key, 1);
	schema_add(&w->schema, "v", &type, true);
}

static const struct {
	enum type_kind kind;
	const char *native, *value, *changed;
} native_cases[] = {
	{ TYPE_NATIVE, "int4range", "[1,5)", "[1,6)" },
	{ TYPE_NATIVE, "integer[]", "{1,NULL,3}", "{1,NULL,4}" },
	{ TYPE_NATIVE, "text[]", "{\"a,b\",\"\",NULL}", "{\"a,b\",x,NULL}" },
	{ TYPE_NATIVE, "point", "(1,2)", "(1,3)" },
	/* = of boxes compares areas. */
	{ TYPE_NATIVE, "box", "(1,1),(0,0)", "(2,1),(1,0)" },
	{ TYPE_NATIVE, "inet", "10.0.0.1/8", "10.0.0.2/8" },
	{ TYPE_NATIVE, "xml", "<a/>", "<b/>" },
	{ TYPE_NATIVE, "tsvector", "'a':1 'b':2", "'a':1" },
	{ TYPE_NATIVE, "money", "$1.50", "$1.51" },
	{ TYPE_NATIVE, "bit varying(8)", "101", "1010" },
	{ TYPE_NATIVE, "time with time zone", "12:00:00+02", "10:00:00+00" },
	{ TYPE_NATIVE, "public.mood", "glad", "sad" },
	{ TYPE_NATIVE, "public.pair", "(1,x)", "(1,y)" },
	{ TYPE_NATIVE, "public.mood[]", "{glad,sad}", "{sad}" },
	{ TYPE_NATIVE, "interval", "1 mon", "30 days" },
	{ TYPE_TEXT, "public.short", "abc", "abd" },
	{ TYPE_TEXT, "character(5)", "ab   ", "abc  " },
	{ TYPE_DECIMAL, "numeric", "1.10", "1.100" },
	{ TYPE_DECIMAL, "numeric", "NaN", "Infinity" },
	{ TYPE_JSON, "json", "{\"b\":1,  \"a\":2}", "{\"b\":1, \"a\":2}" },
	{ TYPE_JSON, "jsonb", "{\"a\": 1}", "{\"a\": 2}" },
};

static void native_check(struct world *w, size_t i)
{
	char *row = xstrfmt("1|%s", native_cases[i].value);
	char *changed = xstrfmt("1|%s", native_cases[i].changed);

	postgres_native(w, native_cases[i].kind, native_cases[i].native);
	world_sync(w, row, "{}");
	assert_string_equal(world_query(w, ALL), row);
	world_sync(w, row, "{}");
	world_expect_counts(w, 0, 0, 1);
	world_sync(w, changed, "{}");
	world_expect_counts(w, 0, 1, 0);
	assert_string_equal(world_query(w, ALL), changed);
	assert_string_equal(
		world_query(w, "SELECT format_type(atttypid, atttypmod) FROM "
			       "pg_attribute WHERE attname = 'v' AND "
			       "attrelid = 'orders'::regclass;"),
		native_cases[i].native +
			(strncmp(native_cases[i].native, "public.", 7) ? 0
								       : 7));
	world_exec(w, "DROP TABLE orders;");
	free(row);
	free(changed);
}

static void test_native_types(void **state)
{
	struct world *w = postgres_world(state, "id:int64!");

	world_exec(w, "CREATE TYPE mood AS ENUM ('sad', 'glad');"
		      "CREATE TYPE pair AS (a int, b text);"
		      "CREATE DOMAIN short AS varchar(5);");
	for (size_t i = 0; i < ARRAY_SIZE(native_cases); i++)
		native_check(w, i);
}

/* A type that is not here: text, and said so. */
static void test_unknown_type(void **state)
{
	struct world *w = postgres_world(state, "id:int64!");
	struct inspection found;

	postgres_native(w, TYPE_NATIVE, "public.nowhere");
	world_open(w);
	inspection_init(&found);
	assert_int_equal(
		w->ops->inspect(w->destination, &w->target, &found, &w->err),
		0);
	assert_string_equal(found.columns[1].destination_type, "text");
	assert_int_equal(found.columns[1].mapping, MAPPING_WIDENED);
	inspection_release(&found);
	world_sync(w, "1|{x}", "{}");
	assert_string_equal(world_query(w, ALL), "1|{x}");
}

static void test_json_into_jsonb(void **state)
{
	struct world *w = postgres_world(state, "id:int64!");

	postgres_native(w, TYPE_JSON, "json");
	world_exec(w, "CREATE TABLE orders (id bigint PRIMARY KEY, v jsonb);");
	assert_int_equal(world_begin(w), ERROR_SCHEMA);
	assert_non_null(strstr(w->err.message, "jsonb"));
	postgres_native(w, TYPE_JSON, "jsonb");
	world_sync(w, "1|{\"a\": 1}", "{}");
	assert_string_equal(world_query(w, ALL), "1|{\"a\": 1}");
}

/* Rows that others point at are updated in place, never deleted. */
static void test_referenced(void **state)
{
	struct world *w = postgres_world(state, "id:int64! name:text");

	world_exec(w, "CREATE TABLE orders (id bigint PRIMARY KEY, name text);"
		      "CREATE TABLE lines (o bigint REFERENCES orders "
		      "ON DELETE CASCADE);");
	world_sync(w, "1|a\n2|b", "{}");
	world_exec(w, "INSERT INTO lines VALUES (1);");
	world_sync(w, "1|A\n2|b\n3|c", "{}");
	world_expect_counts(w, 1, 1, 1);
	assert_string_equal(world_query(w, "SELECT * FROM lines;"), "1");
	assert_string_equal(world_query(w, ALL), "1|A\n2|b\n3|c");
	w->target.mode = LOAD_DELETE_INSERT;
	assert_int_equal(world_begin(w), ERROR_SCHEMA);
}

static void test_trigger(void **state)
{
	struct world *w = postgres_world(state, "id:int64! name:text");

	world_exec(w,
		   "CREATE TABLE orders (id bigint PRIMARY KEY, name text);"
		   "CREATE TABLE seen (what text);"
		   "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS "
		   "$$ BEGIN INSERT INTO public.seen VALUES (TG_OP); "
		   "RETURN NULL; END $$;"
		   "CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON "
		   "orders FOR EACH ROW EXECUTE FUNCTION note();");
	world_sync(w, "1|a\n2|b", "{}");
	world_sync(w, "1|A\n2|b", "{}");
	assert_string_equal(world_query(w, "SELECT * FROM seen;"),
			    "INSERT\nINSERT\nUPDATE");
}

static void test_partitioned(void **state)
{
	struct world *w = postgres_world(state, "id:int64! p:int32! v:text");

	world_exec(w, "CREATE TABLE orders (id bigint, p int, v text, "
		      "PRIMARY KEY (id, p)) PARTITION BY LIST (p);"
		      "CREATE TABLE orders_1 PARTITION OF orders FOR VALUES "
		      "IN (1);"
		      "CREATE TABLE orders_2 PARTITION OF orders FOR VALUES "
		      "IN (2);");
	world_sync(w, "1|1|a\n1|2|b", "{}");
	world_sync(w, "1|1|A\n1|2|b\n2|2|c", "{}");
	world_expect_counts(w, 1, 1, 1);
	assert_string_equal(
		world_query(w, "SELECT * FROM orders ORDER BY id, p;"),
		"1|1|A\n1|2|b\n2|2|c");
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "9|9|no such partition", "{}"),
			 ERROR_DATA);
}

/* A collation that takes different texts for equal still shows a change. */
static void test_folding_collation(void **state)
{
	struct world *w = postgres_world(state, "id:text! name:text");

	world_exec(w, "CREATE COLLATION folds (provider = icu, "
		      "locale = 'und-u-ks-level2', deterministic = false);"
		      "CREATE TABLE orders (id text COLLATE \"C\" PRIMARY KEY, "
		      "name text COLLATE folds);");
	world_sync(w, "x|a", "{}");
	world_sync(w, "x|A", "{}");
	world_expect_counts(w, 0, 1, 0);
	assert_string_equal(world_query(w, ALL), "x|A");
}

static void test_identity(void **state)
{
	struct world *w = postgres_world(state, "id:int64! name:text");

	world_exec(w, "CREATE TABLE orders (id bigint GENERATED ALWAYS AS "
		      "IDENTITY PRIMARY KEY, name text, "
		      "twice text GENERATED ALWAYS AS (name || name) STORED);");
	world_sync(w, "5|a", "{}");
	world_sync(w, "5|b\n6|c", "{}");
	assert_string_equal(world_query(w, ALL), "5|b|bb\n6|c|cc");
	world_schema(w, "id:int64! name:text twice:text");
	assert_int_equal(world_begin(w), ERROR_SCHEMA);
	assert_non_null(strstr(w->err.message, "twice"));
}

static void test_widens_decimal_and_time(void **state)
{
	struct world *w = postgres_world(state, "id:int64! v:float32");

	world_sync(w, "1|1.5", "{}");
	world_schema(w, "id:int64! v:float64");
	world_sync(w, "1|1.5\n2|1e300", "{}");
	assert_string_equal(world_query(w, ALL), "1|1.5\n2|1e+300");
	world_exec(w, "DROP TABLE orders;");
	world_schema(w, "id:int64! v:int64");
	world_sync(w, "1|5", "{}");
	world_schema(w, "id:int64! v:decimal");
	world_sync(w, "1|5\n2|5.25", "{}");
	assert_string_equal(world_query(w, ALL), "1|5\n2|5.25");
}

/* Owner, grants, comments, options and names of indexes survive a swap. */
static void test_swap_keeps(void **state)
{
	static const char look[] =
		"SELECT relacl::text, reloptions::text, obj_description(oid) "
		"FROM pg_class WHERE oid = 'orders'::regclass;"
		"SELECT indexname, indexdef FROM pg_indexes "
		"WHERE tablename = 'orders' ORDER BY 1;"
		"SELECT col_description('orders'::regclass, 2);";
	struct world *w = postgres_world(state, "id:int64! name:text");
	char *before;

	world_sync(w, "1|a", "{}");
	assert_string_equal(world_query(w, "SELECT indexname FROM pg_indexes "
					   "WHERE tablename = 'orders';"),
			    "orders_pkey");
	world_exec(w, "GRANT SELECT ON orders TO pg_monitor;"
		      "GRANT UPDATE (name) ON orders TO PUBLIC;"
		      "COMMENT ON TABLE orders IS 'it''s ours';"
		      "COMMENT ON COLUMN orders.name IS 'who';"
		      "ALTER TABLE orders SET (fillfactor = 80);"
		      "CREATE INDEX by_name ON orders (lower(name));");
	before = xstrdup(world_query(w, look));
	w->target.refresh = true;
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "2|b", "{}"), 0);
	if (world_finish(w, "{}"))
		fail_msg("finish: %s", w->err.message);
	world_close(w);
	assert_string_equal(world_query(w, look), before);
	assert_string_equal(world_query(w, ALL), "2|b");
	free(before);
}

static void test_first_replace_names_index(void **state)
{
	struct world *w = postgres_world(state, "id:int64! name:text");

	w->target.mode = LOAD_REPLACE;
	w->target.refresh = true;
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "2|b", "{}"), 0);
	assert_int_equal(world_finish(w, "{}"), 0);
	world_close(w);
	assert_string_equal(world_query(w, "SELECT indexname FROM pg_indexes "
					   "WHERE tablename = 'orders';"),
			    "orders_pkey");
}

static void swap_refused(struct world *w, const char *make, const char *word)
{
	world_exec(w, make);
	if (world_begin(w) != ERROR_SCHEMA || !strstr(w->err.message, word))
		fail_msg("no %s in: %s", word, w->err.message);
	world_close(w);
}

static void test_swap_refused(void **state)
{
	struct world *w = postgres_world(state, "id:int64! name:text");

	world_sync(w, "1|a", "{}");
	w->target.refresh = true;
	swap_refused(w, "CREATE TABLE c (o bigint REFERENCES orders);",
		     "constraint");
	swap_refused(w,
		     "DROP TABLE c;"
		     "CREATE RULE quiet AS ON DELETE TO orders DO NOTHING;",
		     "rule");
	swap_refused(w,
		     "DROP RULE quiet ON orders;"
		     "CREATE TABLE c () INHERITS (orders);",
		     "table");
	assert_string_equal(world_query(w, ALL), "1|a");
}

/* Things that only the table itself can have keep it: its rows are exchanged.
 * A view may come as late as the swap. */
static void test_swap_refills(void **state)
{
	struct world *w = postgres_world(state, "id:int64! name:text");

	world_sync(w, "1|a", "{}");
	world_exec(w, "CREATE TRIGGER t BEFORE UPDATE ON orders FOR EACH ROW "
		      "EXECUTE FUNCTION suppress_redundant_updates_trigger();");
	w->target.refresh = true;
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "2|b", "{}"), 0);
	assert_int_equal(world_finish(w, "{}"), 0);
	world_close(w);
	world_exec(w, "DROP TRIGGER t ON orders;");
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "3|c", "{}"), 0);
	world_exec(w, "CREATE VIEW late AS SELECT * FROM orders;");
	assert_int_equal(world_finish(w, "{}"), 0);
	world_close(w);
	assert_string_equal(world_query(w, ALL), "3|c");
	assert_string_equal(world_query(w, "SELECT id FROM late;"), "3");
}

/* The server ends our session in the middle: nothing is left, and the next
 * run goes on. */
static void test_killed_backend(void **state)
{
	struct world *w = postgres_world(state, "id:int64! name:text");

	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "1|a", "{\"value\":\"1\"}"), 0);
	world_exec(w, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
		      "WHERE application_name = 'tidemark/load';"
		      "SELECT pg_sleep(0.2);");
	assert_int_equal(world_load(w, "2|b", "{\"value\":\"2\"}"),
			 ERROR_TRANSIENT);
	world_close(w);
	assert_string_equal(world_query(w, ALL), "1|a");
	world_sync(w, "2|b", "{\"value\":\"2\"}");
	assert_string_equal(world_query(w, ALL), "1|a\n2|b");
}

/* false: this build has no failpoints. */
static bool postgres_failpoint(const char *text)
{
	struct error err = ERROR_INIT;

	setenv("TIDEMARK_FAILPOINTS", text, 1);
	return failpoint_init(&err) == 0;
}

/* The answer to COMMIT is lost: the row says that it happened. */
static void test_unclear_commit(void **state)
{
	struct world *w = postgres_world(state, "id:int64! name:text");

	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "1|a", "{\"value\":\"1\"}"), 0);
	if (!postgres_failpoint("commit_sent=error@1")) {
		unsetenv("TIDEMARK_FAILPOINTS");
		skip();
	}
	if (world_load(w, "1|A\n2|b", "{\"value\":\"2\"}"))
		fail_msg("load: %s", w->err.message);
	world_expect_counts(w, 1, 1, 0);
	assert_int_equal(world_load(w, "1|A\n3|c", "{\"value\":\"3\"}"), 0);
	world_expect_counts(w, 1, 0, 1);
	unsetenv("TIDEMARK_FAILPOINTS");
	world_close(w);
	assert_string_equal(world_query(w, ALL), "1|A\n2|b\n3|c");
	assert_string_equal(world_mark(w), "{\"value\":\"3\"}");
}

/* A view of the time when the highest mark came first is made anew. */
static void test_older_view(void **state)
{
	struct world *w = postgres_world(state, "id:int64! v:int64@");

	w->target.mode = LOAD_APPEND;
	world_sync(w, "1|5", "{}");
	world_exec(w, "CREATE OR REPLACE VIEW orders AS SELECT DISTINCT ON (id)"
		      " id, v FROM orders_raw "
		      "ORDER BY id, v DESC NULLS LAST, _tidemark_seq DESC;");
	world_sync(w, "1|4", "{}");
	assert_string_equal(world_query(w, ALL), "1|4");
}

/* A mark that the target keeps as text is compared as what it is. */
static void test_delivered_as_text(void **state)
{
	struct world *w = postgres_world(state, "id:int64! v:int64@");

	world_exec(w, "CREATE TABLE orders (id bigint PRIMARY KEY, v text);");
	world_sync(w, "1|10", "{}");
	w->delivered = "9";
	world_sync(w, "1|4", "{}");
	world_expect_counts(w, 0, 0, 1);
	w->delivered = "100";
	world_sync(w, "1|4", "{}");
	world_expect_counts(w, 0, 1, 0);
}

const struct CMUnitTest suite_postgres[] = {
	SUITE_TEST(test_native_types),
	SUITE_TEST(test_unknown_type),
	SUITE_TEST(test_json_into_jsonb),
	SUITE_TEST(test_referenced),
	SUITE_TEST(test_trigger),
	SUITE_TEST(test_partitioned),
	SUITE_TEST(test_folding_collation),
	SUITE_TEST(test_identity),
	SUITE_TEST(test_widens_decimal_and_time),
	SUITE_TEST(test_swap_keeps),
	SUITE_TEST(test_first_replace_names_index),
	SUITE_TEST(test_swap_refused),
	SUITE_TEST(test_swap_refills),
	SUITE_TEST(test_killed_backend),
	SUITE_TEST(test_unclear_commit),
	SUITE_TEST(test_older_view),
	SUITE_TEST(test_delivered_as_text),
};
const size_t suite_postgres_n = ARRAY_SIZE(suite_postgres);
