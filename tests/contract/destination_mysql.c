/* Behaviour of MariaDB and MySQL alone: LOCAL INFILE and its substitute, values
 * without an equal there, and bad days of a server. */
#include "destination_mysql.h"

#include <stdlib.h>
#include <string.h>

#include "clients/mysql_load.h"
#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/base/pool.h"
#include "destination_client.h"

struct world *mysql_world(void **state, const char *spec)
{
	struct world *w = suite_world(state);

	world_schema(w, spec);
	w->target.table = "orders";
	w->target.mode = LOAD_UPSERT;
	return w;
}

char *mysql_admin_says(struct world *w, const char *sql)
{
	struct strbuf out = STRBUF_INIT;
	char *variable = xstrfmt("%s_ADMIN", w->quirks->variable);
	const char *place = getenv(variable);

	free(variable);
	if (!place)
		skip();
	if (client_run(w->quirks, place, sql, &out))
		fail_msg("%s: %s", sql, out.data);
	return strbuf_detach(&out);
}

void mysql_admin(struct world *w, const char *sql)
{
	free(mysql_admin_says(w, sql));
	/* A session that rests keeps the rights and settings it began with. */
	pool_pause(INT64_MAX);
}

void mysql_refused(struct world *w, const char *word)
{
	if (!strstr(w->err.message, word))
		fail_msg("no %s in: %s", word, w->err.message);
}

void mysql_back_to_normal(struct world *w)
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

char *mysql_many_rows(int n)
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
	struct mysql_client_options options = { .application = "test",
						.load = true };
	struct mysql_client *db = NULL;

	world_exec(w, "CREATE TABLE stolen (line longtext);");
	assert_int_equal(mysql_client_open(&db, &w->conn, &options, &w->err),
			 0);
	assert_int_not_equal(
		mysql_client_exec(db,
				  "LOAD DATA LOCAL INFILE '/etc/passwd' "
				  "INTO TABLE stolen",
				  &w->err),
		0);
	mysql_refused(w, "not offered");
	mysql_client_close(db);
	assert_string_equal(world_query(w, "SELECT COUNT(*) FROM stolen;"),
			    "0");
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

/* A successor is told the session that would have to be ended: the newest. One
 * that has ended may still be listed for a moment. */
static void mysql_expect_session(struct world *w)
{
	const char *now =
		world_query(w, "SELECT MAX(id) FROM information_schema."
			       "processlist WHERE user = 'app' AND "
			       "id <> CONNECTION_ID();");

	assert_string_equal(w->ops->session(w->destination), now);
}

/* The answer to COMMIT is lost: the row says that it happened. */
static void test_unclear_commit(void **state)
{
	struct world *w = mysql_world(state, "id:int64! name:text");
	struct error err = ERROR_INIT;

	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "1|a", MARK), 0);
	mysql_expect_session(w);
	setenv("TIDEMARK_FAILPOINTS", "commit_sent=error@1", 1);
	if (failpoint_init(&err)) {
		unsetenv("TIDEMARK_FAILPOINTS");
		skip();
	}
	if (world_load(w, "1|A\n2|b", "{\"value\":\"2\"}"))
		fail_msg("load: %s", w->err.message);
	world_expect_counts(w, 1, 1, 0);
	mysql_expect_session(w);
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

const struct CMUnitTest suite_mysql[] = {
	SUITE_TEST(test_without_local),
	SUITE_TEST(test_with_local),
	SUITE_TEST(test_local_taken_away),
	SUITE_TEST(test_row_beyond_the_packet),
	SUITE_TEST(test_no_file_is_served),
	SUITE_TEST(test_strange_values),
	SUITE_TEST(test_bytes),
	SUITE_TEST(test_killed_session),
	SUITE_TEST(test_unclear_commit),
	SUITE_TEST(test_read_only_server),
};
const size_t suite_mysql_n = ARRAY_SIZE(suite_mysql);
