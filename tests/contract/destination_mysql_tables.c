/* Tables of somebody else's in MariaDB and MySQL: engines without transactions,
 * collations, triggers, and what an ALTER or a swap must not take away. */
#include "destination_mysql.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

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

/* The last character of what is larger than max_allowed_packet. */
static void test_large_values_compare(void **state)
{
	struct world *w = mysql_world(state, "id:int64! v:text j:json");
	struct strbuf row = STRBUF_INIT;

	world_exec(w, "CREATE TABLE orders (id bigint PRIMARY KEY, v "
		      "longtext " FOLDING ", j longtext " FOLDING ");");
	mysql_admin(w, "SET GLOBAL max_allowed_packet = 1048576;");
	for (int i = 0; i < 3; i++) {
		strbuf_reset(&row);
		strbuf_addf(&row, "1|%0*d%d|\"%0*d%d\"", 2 << 20, 0, i == 1,
			    2 << 20, 0, i == 2);
		world_sync(w, row.data, MARK);
		world_expect_counts(w, i == 0, i > 0, 0);
	}
	mysql_back_to_normal(w);
	strbuf_release(&row);
}

/* A character that the column's character set lacks is refused, with its
 * row. */
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

/* Attributes that ALTER ... MODIFY would take away stay. */
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

/* The client's own mode has MySQL misread its expressions. */
#define OWN_MODE "SET sql_mode = '';"

/* Also what only one of the servers has; and quotes as it writes them. */
static void test_widen_keeps_the_clause(void **state)
{
	struct world *w = mysql_world(state, "id:int64! n:int16 t:text(9)");
	bool mysql = !strcmp(w->quirks->engine, "mysql");
	const char *now = OWN_MODE "SHOW CREATE TABLE orders;";
	char *before, *after;

	world_exec(w, mysql ? OWN_MODE
			      "CREATE TABLE orders (id bigint PRIMARY KEY, "
			      "n smallint INVISIBLE DEFAULT 7 COMMENT "
			      "'it''s `t` varchar(9),', t varchar(9) NOT NULL "
			      "DEFAULT (concat('a''\\\\', char(65))));"
			    : "CREATE TABLE orders (id bigint PRIMARY KEY, "
			      "n smallint INVISIBLE DEFAULT 7 COMMENT "
			      "'it''s `t` varchar(9),' CHECK (n < 100), "
			      "t varchar(9) CHARACTER SET ascii NOT NULL "
			      "DEFAULT 'a''\\\\');");
	world_sync(w, "1|1|a", MARK);
	world_exec(w, OWN_MODE "INSERT INTO orders (id) VALUES (2);");
	before = xstrdup(world_query(w, now));
	world_schema(w, "id:int64! n:int64 t:text(30)");
	world_sync(w, "1|1|a", MARK);
	after = xstrdup(world_query(w, now));
	if (!strstr(after, "varchar(30)"))
		fail_msg("not widened: %s", after);
	for (const char *p = before; *p; p++) {
		static const char *const kept[] = {
			"INVISIBLE",
			"CHECK",
			"DEFAULT '7'",
			"DEFAULT 7",
			"COMMENT 'it''s `t` varchar(9),'",
			"DEFAULT (concat",
			"DEFAULT 'a''",
			"CHARACTER SET ascii",
			"NOT NULL"
		};
		for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
			if (!strncmp(p, kept[i], strlen(kept[i])) &&
			    !strstr(after, kept[i]))
				fail_msg("%s is gone from %s", kept[i], after);
	}
	world_exec(w, OWN_MODE "INSERT INTO orders (id) VALUES (3);");
	assert_string_equal(world_query(w, OWN_MODE
					"SELECT COUNT(DISTINCT HEX(t)), "
					"MAX(n) FROM orders WHERE id > 1;"),
			    "1|7");
	free(before);
	free(after);
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

const struct CMUnitTest suite_mysql_tables[] = {
	SUITE_TEST(test_engine_without_transactions),
	SUITE_TEST(test_keys_that_fold),
	SUITE_TEST(test_keys_are_exact),
	SUITE_TEST(test_values_that_fold),
	SUITE_TEST(test_large_values_compare),
	SUITE_TEST(test_other_character_set),
	SUITE_TEST(test_key_zero),
	SUITE_TEST(test_trigger),
	SUITE_TEST(test_trigger_delete_insert),
	SUITE_TEST(test_widen_keeps),
	SUITE_TEST(test_widen_keeps_the_clause),
	SUITE_TEST(test_swap_refused),
	SUITE_TEST(test_swap_keeps),
	SUITE_TEST(test_view_uses_the_key),
};
const size_t suite_mysql_tables_n = ARRAY_SIZE(suite_mysql_tables);
