/* What only MariaDB and MySQL have: LOCAL INFILE and what stands in for it,
 * engines without transactions, collations, and those who watch a table. */
#include "destination_suite.h"

#include <stdlib.h>
#include <string.h>

#include "clients/mysql_load.h"
#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "destination_client.h"

#define ALL  "SELECT * FROM orders ORDER BY id;"
#define MARK "{\"value\":\"1\"}"

static struct world *mysql_world(void **state, const char *spec)
{
	struct world *w = suite_world(state);

	world_schema(w, spec);
	w->target.table = "orders";
	w->target.mode = LOAD_UPSERT;
	return w;
}

/* As somebody who may do everything. */
static void mysql_admin(struct world *w, const char *sql)
{
	struct strbuf out = STRBUF_INIT;
	char *variable = xstrfmt("%s_ADMIN", w->quirks->variable);
	const char *place = getenv(variable);

	free(variable);
	if (!place)
		skip();
	if (client_run(w->quirks, place, sql, &out))
		fail_msg("%s: %s", sql, out.data);
	strbuf_release(&out);
}

static void mysql_refused(struct world *w, const char *word)
{
	if (!strstr(w->err.message, word))
		fail_msg("no %s in: %s", word, w->err.message);
}

static void mysql_back_to_normal(struct world *w)
{
	mysql_admin(w, "SET GLOBAL local_infile = 1;");
	mysql_admin(w, "SET GLOBAL max_allowed_packet = 16777216;");
}

/* ---- without LOCAL */

#define ODD "v:float64 b:bytes t:text d:decimal(12,2) at:timestamptz@"

static void mysql_odd_values(struct world *w)
{
	world_sync(w,
		   "1|0.1|\\\t\x01|it's \xf0\x9f\x98\x80|-1.50|"
		   "2026-01-01 12:00:00.000001+00\n2|NULL|NULL|NULL|NULL|NULL",
		   MARK);
	world_expect_counts(w, 2, 0, 0);
	world_sync(w,
		   "1|0.1|\\\t\x01|it's \xf0\x9f\x98\x80|-1.50|"
		   "2026-01-01 12:00:00.000001+00\n2|NULL|NULL||NULL|NULL",
		   MARK);
	world_expect_counts(w, 0, 1, 1);
	assert_string_equal(
		world_query(w, "SELECT id, v, HEX(b), t, d, at FROM orders "
			       "ORDER BY id;"),
		"1|0.1|5C0901|it's \xf0\x9f\x98\x80|-1.50|"
		"2026-01-01 12:00:00.000001\n2|NULL|NULL||NULL|NULL");
}

static char *mysql_many_rows(int n)
{
	struct strbuf sb = STRBUF_INIT;

	for (int i = 1; i <= n; i++)
		strbuf_addf(&sb, "%d|row %d\n", i, i);
	return strbuf_detach(&sb);
}

static void test_without_local(void **state)
{
	struct world *w = mysql_world(state, "id:int64! " ODD);
	char *rows = mysql_many_rows(2500);

	mysql_admin(w, "SET GLOBAL local_infile = 0;");
	mysql_odd_values(w);
	world_exec(w, "DROP TABLE orders;");
	world_schema(w, "id:int64! t:text(8)");
	world_sync(w, rows, MARK);
	world_expect_counts(w, 2500, 0, 0);
	world_sync(w, rows, MARK);
	world_expect_counts(w, 0, 0, 2500);
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "1|x\n77|much too long", "{}"),
			 ERROR_DATA);
	mysql_refused(w, "id=77");
	world_close(w);
	mysql_back_to_normal(w);
	assert_string_equal(world_query(w, "SELECT COUNT(*), MAX(t) "
					   "FROM orders;"),
			    "2500|row 999");
	free(rows);
}

/* With it, the same. */
static void test_with_local(void **state)
{
	mysql_odd_values(mysql_world(state, "id:int64! " ODD));
}

/* Switched off behind our back. */
static void test_local_taken_away(void **state)
{
	struct world *w = mysql_world(state, "id:int64! t:text");

	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "1|a", "{}"), 0);
	mysql_admin(w, "SET GLOBAL local_infile = 0;");
	assert_int_equal(world_load(w, "2|b\n3|c", "{}"), 0);
	assert_int_equal(world_load(w, "3|C\n2|b", "{}"), 0);
	world_expect_counts(w, 0, 1, 1);
	world_close(w);
	mysql_back_to_normal(w);
	assert_string_equal(world_query(w, ALL), "1|a\n2|b\n3|C");
}

/* A row beyond max_allowed_packet goes by LOCAL, and is named without it. */
static void test_row_beyond_the_packet(void **state)
{
	struct world *w = mysql_world(state, "id:int64! t:text");
	size_t n = 3 << 20;
	char *text = xmalloc(n + 1), *row;

	memset(text, 'x', n);
	text[n] = '\0';
	row = xstrfmt("1|a\n42|%s", text);
	mysql_admin(w, "SET GLOBAL max_allowed_packet = 1048576;"
		       "SET GLOBAL local_infile = 0;");
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, row, "{}"), ERROR_DATA);
	mysql_refused(w, "id=42");
	mysql_refused(w, "max_allowed_packet");
	assert_int_equal(world_load(w, "1|a", "{}"), 0);
	world_close(w);
	mysql_back_to_normal(w);
	world_sync(w, row, "{}");
	assert_string_equal(world_query(w, "SELECT LENGTH(t) FROM orders "
					   "WHERE id = 42;"),
			    "3145728");
	free(text);
	free(row);
}

/* A statement of somebody else's that names a file, as an injected one would:
 * nothing is opened. */
static void test_no_file_is_served(void **state)
{
	struct world *w = suite_world(state);
	struct mydb_options options = { .application = "test", .load = true };
	struct mydb *db = NULL;

	world_exec(w, "CREATE TABLE stolen (line longtext);");
	assert_int_equal(mydb_open(&db, &w->conn, &options, &w->err), 0);
	assert_int_not_equal(mydb_exec(db,
				       "LOAD DATA LOCAL INFILE '/etc/passwd' "
				       "INTO TABLE stolen",
				       &w->err),
			     0);
	mysql_refused(w, "not offered");
	mydb_close(db);
	assert_string_equal(world_query(w, "SELECT COUNT(*) FROM stolen;"),
			    "0");
}

/* ---- tables of somebody else's */

static void test_engine_without_transactions(void **state)
{
	struct world *w = mysql_world(state, "id:int64! v:int64");

	world_exec(w, "CREATE TABLE orders (id bigint PRIMARY KEY, v bigint) "
		      "ENGINE=MyISAM;");
	assert_int_equal(world_begin(w), ERROR_SCHEMA);
	mysql_refused(w, "MyISAM");
	mysql_refused(w, "ENGINE=InnoDB");
	world_close(w);
	world_exec(w, "ALTER TABLE orders ENGINE=InnoDB;");
	world_sync(w, "1|1", MARK);
	world_exec(w, "ALTER TABLE _tidemark_watermark ENGINE=MyISAM, "
		      "MODIFY pipeline varchar(200);");
	assert_int_equal(world_begin(w), ERROR_SCHEMA);
	mysql_refused(w, "_tidemark_watermark");
	world_close(w);
}

#define FOLDING "CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"

/* Keys that the target takes for one are refused, in one batch and in two. */
static void test_keys_that_fold(void **state)
{
	struct world *w = mysql_world(state, "id:text(9)! v:int64");

	world_exec(w, "CREATE TABLE orders (id varchar(9) " FOLDING
		      " PRIMARY KEY, v bigint);");
	world_sync(w, "a|1\nb|2", MARK);
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "c|1\nC|2", "{}"), ERROR_DATA);
	mysql_refused(w, "tells them apart");
	assert_int_equal(world_load(w, "A|3\nb|4", "{}"), ERROR_DATA);
	mysql_refused(w, "tells them apart");
	world_close(w);
	assert_string_equal(world_query(w, ALL), "a|1\nb|2");
	assert_string_equal(world_mark(w), MARK);
}

/* In a table of ours they are told apart, and so are blanks at the end. */
static void test_keys_are_exact(void **state)
{
	struct world *w = mysql_world(state, "id:text! v:int64");

	world_sync(w, "a|1\nA|2\n\xc3\xa4|3\na |4", MARK);
	world_expect_counts(w, 4, 0, 0);
	world_sync(w, "a|1\nA|2\n\xc3\xa4|3\na |5", MARK);
	world_expect_counts(w, 0, 1, 3);
}

/* 'a', 'A' and 'a ' are three values, whatever the column's collation. */
static void test_values_that_fold(void **state)
{
	struct world *w = mysql_world(state, "id:int64! v:text");

	world_exec(w, "CREATE TABLE orders (id bigint PRIMARY KEY, v "
		      "longtext " FOLDING ");");
	world_sync(w, "1|a\n2|a\n3|a", MARK);
	world_sync(w, "1|A\n2|a \n3|a", MARK);
	world_expect_counts(w, 0, 2, 1);
	assert_string_equal(world_query(w, "SELECT HEX(v) FROM orders "
					   "ORDER BY id;"),
			    "41\n6120\n61");
}

/* What a column's character set lacks is refused, with its row. */
static void test_other_character_set(void **state)
{
	struct world *w = mysql_world(state, "id:int64! v:text");

	world_exec(w, "CREATE TABLE orders (id bigint PRIMARY KEY, v longtext "
		      "CHARACTER SET latin1);");
	world_sync(w, "1|\xc3\xa9\n2|b", MARK);
	world_sync(w, "1|\xc3\xa9\n2|B", MARK);
	world_expect_counts(w, 0, 1, 1);
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "3|c\n4|\xe6\x97\xa5", "{}"),
			 ERROR_DATA);
	mysql_refused(w, "id=4");
	world_close(w);
	assert_string_equal(world_query(w, ALL), "1|\xc3\xa9\n2|B");
}

/* 0 is a key like any other. */
static void test_key_zero(void **state)
{
	struct world *w = mysql_world(state, "id:int64! v:text");

	world_exec(w, "CREATE TABLE orders (id bigint AUTO_INCREMENT "
		      "PRIMARY KEY, v longtext);");
	world_sync(w, "0|zero\n1|a", MARK);
	world_sync(w, "0|Zero\n1|a\n2|b", MARK);
	world_expect_counts(w, 1, 1, 1);
	assert_string_equal(world_query(w, ALL), "0|Zero\n1|a\n2|b");
}

static void mysql_watched(struct world *w, const char *expected)
{
	world_exec(w, "CREATE TABLE orders (id bigint PRIMARY KEY, v longtext);"
		      "CREATE TABLE seen (what text);"
		      "CREATE TRIGGER i AFTER INSERT ON orders FOR EACH ROW "
		      "INSERT INTO seen VALUES (CONCAT('i', NEW.id));"
		      "CREATE TRIGGER u AFTER UPDATE ON orders FOR EACH ROW "
		      "INSERT INTO seen VALUES (CONCAT('u', NEW.id));"
		      "CREATE TRIGGER d AFTER DELETE ON orders FOR EACH ROW "
		      "INSERT INTO seen VALUES (CONCAT('d', OLD.id));");
	world_sync(w, "1|a\n2|b", MARK);
	world_exec(w, "DELETE FROM seen;");
	world_sync(w, "1|a\n2|B\n3|c", MARK);
	world_expect_counts(w, 1, 1, 1);
	assert_string_equal(world_query(w, "SELECT what FROM seen "
					   "ORDER BY what;"),
			    expected);
}

/* Triggers see what has changed and nothing else: an unchanged row is left
 * alone. */
static void test_trigger(void **state)
{
	mysql_watched(mysql_world(state, "id:int64! v:text"), "i3\nu2");
}

static void test_trigger_delete_insert(void **state)
{
	struct world *w = mysql_world(state, "id:int64! v:text");

	w->target.mode = LOAD_DELETE_INSERT;
	mysql_watched(w, "d2\ni2\ni3");
}

/* What ALTER ... MODIFY would take away stays. */
static void test_widen_keeps(void **state)
{
	struct world *w = mysql_world(state, "id:int64! v:int16 t:text(9)");

	world_exec(w, "CREATE TABLE orders (id bigint PRIMARY KEY, "
		      "v smallint NOT NULL DEFAULT 7 COMMENT 'it''s', "
		      "t varchar(9) " FOLDING " DEFAULT 'x');");
	world_sync(w, "1|1|a", MARK);
	world_schema(w, "id:int64! v:int64 t:text(30)");
	world_sync(w, "1|9223372036854775807|a\n2|1|b", MARK);
	world_exec(w, "INSERT INTO orders (id) VALUES (3);");
	assert_string_equal(
		world_query(w, "SELECT * FROM orders ORDER BY id; "
			       "SELECT column_comment, collation_name FROM "
			       "information_schema.columns WHERE table_schema "
			       "= DATABASE() AND table_name = 'orders' AND "
			       "column_name <> 'id' ORDER BY column_name;"),
		"1|9223372036854775807|a\n2|1|b\n3|7|x\n"
		"|utf8mb4_general_ci\nit's|NULL");
}

static void test_swap_refused(void **state)
{
	struct world *w = mysql_world(state, "id:int64! v:text");

	world_sync(w, "1|a", MARK);
	world_exec(w, "CREATE TRIGGER t BEFORE UPDATE ON orders FOR EACH ROW "
		      "SET NEW.v = UPPER(NEW.v);");
	w->target.refresh = true;
	assert_int_equal(world_begin(w), ERROR_SCHEMA);
	mysql_refused(w, "triggers");
	world_close(w);
	world_exec(w, "DROP TRIGGER t; CREATE TABLE child (id bigint, "
		      "FOREIGN KEY (id) REFERENCES orders (id));");
	assert_int_equal(world_begin(w), ERROR_SCHEMA);
	mysql_refused(w, "foreign keys");
	world_close(w);
}

static void test_swap_keeps(void **state)
{
	struct world *w = mysql_world(state, "id:int64! v:text");

	world_sync(w, "1|a", MARK);
	world_exec(w, "ALTER TABLE orders ADD COLUMN n int DEFAULT 5, "
		      "ADD INDEX mine (n), COMMENT 'ours';");
	w->target.refresh = true;
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "2|b", "{}"), 0);
	assert_int_equal(world_finish(w, MARK), 0);
	world_close(w);
	assert_string_equal(world_query(w, ALL), "2|b|5");
	assert_string_equal(
		world_query(w, "SELECT table_comment FROM "
			       "information_schema.tables WHERE table_schema "
			       "= DATABASE() AND table_name = 'orders'; "
			       "SELECT index_name FROM "
			       "information_schema.statistics WHERE "
			       "table_schema = DATABASE() AND table_name = "
			       "'orders' ORDER BY 1;"),
		"ours\nmine\nPRIMARY");
}

/* ---- values that have no equal there */

static const struct {
	const char *spec, *value;
} strange_cases[] = {
	{ "v:float64", "nan" },
	{ "v:float64", "inf" },
	{ "v:float32", "-inf" },
	{ "v:decimal(12,2)", "NaN" },
	{ "v:date", "10000-01-01" },
	{ "v:timestamp", "10000-01-01 00:00:00" },
	{ "v:timestamptz", "0001-01-01 00:00:00+00 BC" },
	{ "v:timestamptz", "infinity" },
};

static void test_strange_values(void **state)
{
	struct world *w = mysql_world(state, "id:int64!");

	for (size_t i = 0; i < ARRAY_SIZE(strange_cases); i++) {
		char *spec = xstrfmt("id:int64! %s", strange_cases[i].spec);
		char *rows = xstrfmt("1|NULL\n77|%s", strange_cases[i].value);

		world_schema(w, spec);
		assert_int_equal(world_begin(w), 0);
		assert_int_equal(world_load(w, rows, "{}"), ERROR_DATA);
		mysql_refused(w, "column v");
		mysql_refused(w, "id=77");
		world_close(w);
		assert_string_equal(world_query(w, "SELECT COUNT(*) FROM "
						   "orders;"),
				    "0");
		world_exec(w, "DROP TABLE orders;");
		free(spec);
		free(rows);
	}
}

/* The mark's row and the table are of another day: NULL bytes, tabs, and
 * whatever LOAD DATA would take for its own. */
static void test_bytes(void **state)
{
	struct world *w = mysql_world(state, "id:int64! b:bytes");
	struct batch batch;
	struct checkpoint next;
	uint8_t all[256];

	for (int i = 0; i < 256; i++)
		all[i] = (uint8_t)i;
	assert_int_equal(world_begin(w), 0);
	batch_init(&batch, &w->schema);
	for (int64_t id = 1; id <= 2; id++) {
		batch_reserve_row(&batch);
		vector_set_fixed(&batch.vectors[0], batch.n_rows, &id);
		assert_int_equal(vector_set_bytes(&batch.vectors[1],
						  batch.n_rows, all,
						  id == 1 ? 256 : 0, &w->err),
				 0);
		batch_row_done(&batch);
	}
	checkpoint_init(&next);
	next.watermark = xstrdup("{}");
	next.batch_id = xstrdup("bytes");
	assert_int_equal(w->ops->load(w->destination, &batch, &next, &w->counts,
				      &w->err),
			 0);
	checkpoint_release(&next);
	batch_release(&batch);
	world_close(w);
	assert_string_equal(
		world_query(w, "SELECT LENGTH(b), SHA2(b, 256) FROM orders "
			       "ORDER BY id;"),
		"256|40aff2e9d2d8922e47afd4648e696749"
		"7158785fbd1da870e7110266bf944880\n"
		"0|e3b0c44298fc1c149afbf4c8996fb924"
		"27ae41e4649b934ca495991b7852b855");
}

/* ---- bad days */

static void test_killed_session(void **state)
{
	struct world *w = mysql_world(state, "id:int64! name:text");
	char *sql;

	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "1|a", MARK), 0);
	sql = xstrfmt("KILL %s;",
		      world_query(w, "SELECT id FROM information_schema."
				     "processlist WHERE user = 'app' AND id "
				     "<> CONNECTION_ID();"));
	world_exec(w, sql);
	free(sql);
	assert_int_equal(world_load(w, "2|b", "{\"value\":\"2\"}"),
			 ERROR_TRANSIENT);
	world_close(w);
	assert_string_equal(world_query(w, ALL), "1|a");
	world_sync(w, "2|b", "{\"value\":\"2\"}");
	assert_string_equal(world_query(w, ALL), "1|a\n2|b");
}

/* The answer to COMMIT is lost: the row says that it happened. */
static void test_unclear_commit(void **state)
{
	struct world *w = mysql_world(state, "id:int64! name:text");
	struct error err = ERROR_INIT;

	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "1|a", MARK), 0);
	setenv("TIDEMARK_FAILPOINTS", "commit_sent=error@1", 1);
	if (failpoint_init(&err)) {
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

static void test_read_only_server(void **state)
{
	struct world *w = mysql_world(state, "id:int64! v:text");
	int rc;

	world_sync(w, "1|a", MARK);
	assert_int_equal(world_begin(w), 0);
	mysql_admin(w, "SET GLOBAL read_only = 1;");
	rc = world_load(w, "2|b", "{}");
	mysql_admin(w, "SET GLOBAL read_only = 0;");
	assert_int_equal(rc, ERROR_ACCESS);
	world_close(w);
	assert_string_equal(world_query(w, ALL), "1|a");
	assert_string_equal(world_mark(w), MARK);
}

/* The view of a raw table looks up what its reader asks for. */
static void test_view_uses_the_key(void **state)
{
	struct world *w = mysql_world(state, "id:int64! t:text(8)");
	char *rows = mysql_many_rows(2000);
	const char *plan;

	w->target.mode = LOAD_APPEND;
	world_sync(w, rows, MARK);
	world_exec(w, "ANALYZE TABLE orders_raw;");
	plan = world_query(w, "EXPLAIN SELECT * FROM orders WHERE id = 7;");
	if (strstr(plan, "|ALL|") || strstr(plan, "DERIVED"))
		fail_msg("%s", plan);
	free(rows);
}

const struct CMUnitTest suite_mysql[] = {
	SUITE_TEST(test_without_local),
	SUITE_TEST(test_with_local),
	SUITE_TEST(test_local_taken_away),
	SUITE_TEST(test_row_beyond_the_packet),
	SUITE_TEST(test_no_file_is_served),
	SUITE_TEST(test_engine_without_transactions),
	SUITE_TEST(test_keys_that_fold),
	SUITE_TEST(test_keys_are_exact),
	SUITE_TEST(test_values_that_fold),
	SUITE_TEST(test_other_character_set),
	SUITE_TEST(test_key_zero),
	SUITE_TEST(test_trigger),
	SUITE_TEST(test_trigger_delete_insert),
	SUITE_TEST(test_widen_keeps),
	SUITE_TEST(test_swap_refused),
	SUITE_TEST(test_swap_keeps),
	SUITE_TEST(test_strange_values),
	SUITE_TEST(test_bytes),
	SUITE_TEST(test_killed_session),
	SUITE_TEST(test_unclear_commit),
	SUITE_TEST(test_read_only_server),
	SUITE_TEST(test_view_uses_the_key),
};
const size_t suite_mysql_n = ARRAY_SIZE(suite_mysql);
