/* PostgreSQL's knowledge of open transactions, and its effect on a mark. */
#include <stdlib.h>
#include <string.h>

#include "connector_world.h"

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/data/value.h"

static void settle_table(struct world *w, const char *type)
{
	world_exec(w,
		   "CREATE TABLE tm_source.t (id int PRIMARY KEY,"
		   " at %s NOT NULL DEFAULT now());"
		   "INSERT INTO tm_source.t VALUES"
		   " (1, '2024-01-01 00:00:00+00')",
		   type);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	world_expect_count(w, 10, 1);
}

static void settle_pause(void)
{
	clock_sleep_us(1200 * 1000);
}

/* A transaction that began early and commits late: `begin` is what it does
 * before others overtake it. */
static void settle_late(struct world *w, const char *begin, const char *end)
{
	settle_table(w, "timestamptz");
	world_other(w, 1, "BEGIN; %s", begin);
	settle_pause();
	world_exec(w, "INSERT INTO tm_source.t VALUES (3)");
	settle_pause();
	/* Delivered at once, but the mark waits. */
	world_expect_count(w, 10, 1);
	assert_int_equal(w->n_tail, 1);
	assert_string_equal(w->from.key.items[0], "1");
	assert_int_equal(w->settled.guarantee, GUARANTEE_EXACT);
	assert_true(json_integer_value(
			    json_object_get(w->settled.held_by, "pid")) > 0);
	assert_true(w->settled.lag_us > US_PER_SECOND);
	world_other(w, 1, "INSERT INTO tm_source.t VALUES (2); %s", end);
	settle_pause();
	world_expect_count(w, 10, 2);
	assert_int_equal(w->sum, 5);
	assert_string_equal(w->from.key.items[0], "3");
	assert_null(w->settled.held_by);
	world_expect_count(w, 10, 0);
}

static void settle_late_writer(void **state)
{
	settle_late(suite_world(state),
		    "INSERT INTO tm_source.t VALUES (7); DELETE FROM "
		    "tm_source.t WHERE id = 7",
		    "COMMIT");
}

/* No xid yet: it may still write with its old now(). */
static void settle_late_reader(void **state)
{
	settle_late(suite_world(state), "SELECT 1", "COMMIT");
}

static void settle_late_savepoint(void **state)
{
	settle_late(suite_world(state), "SAVEPOINT a; SELECT 1; SAVEPOINT b",
		    "RELEASE b; COMMIT");
}

/* A transaction that began early changes a row last: its version is the newest
 * and carries the older mark. */
static void settle_mark_goes_back(void **state)
{
	struct world *w = suite_world(state);
	char *delivered;

	settle_table(w, "timestamptz");
	world_exec(w, "INSERT INTO tm_source.t VALUES"
		      " (2, '2024-01-02 00:00:00+00')");
	world_expect_count(w, 10, 1);
	assert_null(w->from.pending);
	world_other(w, 1, "BEGIN; SELECT 1");
	settle_pause();
	world_exec(w, "UPDATE tm_source.t SET at = now() WHERE id = 2");
	world_expect_count(w, 10, 1);
	assert_int_equal(w->n_tail, 1);
	assert_string_equal(w->from.value, "2024-01-02 00:00:00+00");
	assert_non_null(w->from.pending);
	delivered = xstrdup(json_string_value(
		json_object_get(w->from.pending, "delivered")));
	world_other(w, 1,
		    "UPDATE tm_source.t SET at = now() WHERE id = 2;"
		    "COMMIT");
	settle_pause();
	world_expect_count(w, 10, 1);
	assert_int_equal(w->n_tail, 0);
	assert_true(strcmp(w->from.value, delivered) < 0);
	world_expect_delivered(w, delivered);
	/* It stays, for rows that step back later, and changes nothing. */
	world_expect_count(w, 10, 0);
	world_expect_delivered(w, delivered);
	world_exec(w, "INSERT INTO tm_source.t VALUES (3)");
	settle_pause();
	settle_pause();
	world_expect_count(w, 10, 1);
	assert_null(w->from.pending);
	free(delivered);
}

static void settle_delivered_infinity(void **state)
{
	struct world *w = suite_world(state);

	settle_table(w, "timestamptz");
	world_exec(w, "INSERT INTO tm_source.t VALUES"
		      " (2, '2099-01-01 00:00:00+00')");
	world_expect_count(w, 1, 1);
	world_expect_delivered(w, "2099-01-01 00:00:00+00");
	world_exec(w, "INSERT INTO tm_source.t VALUES (3, 'infinity')");
	world_expect_count(w, 1, 2);
	world_expect_delivered(w, "infinity");
	w->mark.tail = TAIL_HOLD;
	world_exec(w, "DELETE FROM tm_source.t WHERE id = 3");
	world_expect_count(w, 1, 0);
	world_expect_delivered(w, "infinity");
	world_reset(w);
	world_expect_count(w, 1, 1);
	assert_null(w->from.pending);
}

static void settle_prepared(void **state)
{
	struct world *w = suite_world(state);

	settle_table(w, "timestamptz");
	world_other(w, 1, "BEGIN; INSERT INTO tm_source.t VALUES (2)");
	settle_pause();
	world_exec(w, "INSERT INTO tm_source.t VALUES (3)");
	/* Prepared long after it took its now(). */
	world_other(w, 1, "PREPARE TRANSACTION 'tm_source_1'");
	world_exec(w, "INSERT INTO tm_source.t VALUES (4)");
	settle_pause();
	settle_pause();
	world_expect_count(w, 10, 2);
	assert_int_equal(w->n_tail, 2);
	assert_int_equal(w->settled.guarantee, GUARANTEE_EXACT);
	assert_non_null(strstr(w->settled.reason, "'tm_source_1'"));
	assert_string_equal(w->from.key.items[0], "1");
	assert_string_equal(json_string_value(json_object_get(
				    w->settled.held_by, "prepared")),
			    "tm_source_1");
	world_other(w, 1, "COMMIT PREPARED 'tm_source_1'");
	world_expect_count(w, 10, 3);
	assert_int_equal(w->sum, 9);
	assert_int_equal(w->n_tail, 0);
	assert_string_equal(w->settled.reason, "");
}

/* The tick that is going on is not settled: a later row may carry the same
 * rounded mark. */
static void settle_open_tick(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY,"
		      " at date NOT NULL);"
		      "INSERT INTO tm_source.t VALUES"
		      " (1, (now() AT TIME ZONE 'UTC')::date),"
		      " (2, (now() AT TIME ZONE 'UTC')::date - 2)");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	w->mark.time_zone = "UTC";
	world_expect_count(w, 10, 2);
	assert_int_equal(w->n_tail, 1);
	assert_string_equal(w->from.key.items[0], "2");
	world_expect_count(w, 10, 1);
	/* Early in a second, a row at the second that the margin ends in. */
	world_exec(w, "DROP TABLE tm_source.t;"
		      "CREATE TABLE tm_source.t (id int PRIMARY KEY,"
		      " at timestamptz(0) NOT NULL);"
		      "SELECT pg_sleep(1.02 - mod(extract(second FROM"
		      " clock_timestamp()), 1))");
	world_exec(w, "INSERT INTO tm_source.t VALUES"
		      " (1, date_trunc('second', now()) - '1 s'::interval),"
		      " (2, now() - '3 s'::interval)");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	world_expect_count(w, 10, 2);
	assert_string_equal(w->from.key.items[0], "2");
}

/* The settled wall clock, in seconds before the server's own UTC. */
static int64_t settle_behind(struct world *w, const char *zone)
{
	int64_t us = 0;

	w->mark.time_zone = zone;
	if (world_begin(w))
		fail_msg("%s", w->err.message);
	assert_true(value_parse_timestamp(w->settled.value, &us));
	return (clock_now_us() - us) / US_PER_SECOND;
}

static void settle_near(int64_t behind, int64_t hours_west)
{
	assert_in_range(behind - hours_west * 3600 + 10, 10, 20);
}

/* A column without a zone holds somebody's wall clock. */
static void settle_zones(void **state)
{
	struct world *w = suite_world(state);

	settle_table(w, "timestamp");
	assert_int_equal(w->settled.guarantee, GUARANTEE_LAG);
	assert_non_null(strstr(w->settled.reason, "time_zone"));
	settle_near(settle_behind(w, "UTC"), 0);
	assert_int_equal(w->settled.guarantee, GUARANTEE_EXACT);
	settle_near(settle_behind(w, "+05:00"), -5);
	settle_near(settle_behind(w, "-10:00"), 10);
	settle_near(settle_behind(w, "Asia/Tokyo"), -9);
	/* The smaller of two offsets, when there are two near by. */
	assert_true(settle_behind(w, "Europe/Rome") <= -3600 + 10);
	world_exec(w, "DO $$BEGIN EXECUTE format('ALTER ROLE %%I IN DATABASE"
		      " %%I SET TimeZone = %%L', current_user,"
		      " current_database(), 'Pacific/Honolulu'); END$$");
	settle_near(settle_behind(w, "auto"), 10);
	world_exec(w, "DO $$BEGIN EXECUTE format('ALTER ROLE %%I IN DATABASE"
		      " %%I RESET TimeZone', current_user,"
		      " current_database()); END$$");
	w->mark.time_zone = "Europe/Rom";
	assert_int_equal(world_begin(w), -ERROR_CONFIG);
	assert_non_null(strstr(w->err.message, "watermark.time_zone"));
}

static void settle_rights(void **state)
{
	struct world *w = suite_world(state);
	const char *url = getenv("TIDEMARK_TEST_POSTGRES_ADMIN");
	struct connection admin = w->conn;
	void *session;

	if (!url || url_parse(&admin.url, url, &w->err))
		skip();
	session = w->quirks->connect(&admin);
	w->quirks->exec(session,
			"DROP ROLE IF EXISTS tm_weak; CREATE ROLE tm_weak "
			"LOGIN PASSWORD 'weak-pass-word'");
	settle_table(w, "timestamptz");
	world_exec(w, "GRANT USAGE ON SCHEMA tm_source TO tm_weak;"
		      "GRANT SELECT ON tm_source.t TO tm_weak");
	{
		struct connection weak = w->conn;
		char *text = xstrdup(w->conn.url.text);
		char *place = strstr(text, "@");
		struct strbuf sb = STRBUF_INIT;
		strbuf_addf(&sb, "postgresql://tm_weak:weak-pass-word%s",
			    place);
		memset(&weak.url, 0, sizeof(weak.url));
		assert_int_equal(url_parse(&weak.url, sb.data, &w->err), 0);
		w->ops->close(w->connector);
		assert_int_equal(w->ops->open(&w->connector, &weak, &w->err),
				 0);
		world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
		world_expect_count(w, 10, 1);
		url_release(&weak.url);
		strbuf_release(&sb);
		free(text);
	}
	assert_int_equal(w->settled.guarantee, GUARANTEE_LAG);
	assert_non_null(strstr(w->settled.reason,
			       "GRANT pg_read_all_stats TO \"tm_weak\""));
	world_pipeline(w, "t", STRATEGY_XMIN, NULL);
	world_expect_count(w, 10, 1);
	assert_int_equal(w->settled.guarantee, GUARANTEE_EXACT);
	world_exec(w, "DROP SCHEMA tm_source CASCADE");
	w->ops->close(w->connector);
	w->connector = NULL;
	w->quirks->exec(session, "DROP ROLE tm_weak");
	w->quirks->disconnect(session);
	url_release(&admin.url);
}

/* Another of our own reading sessions holds nothing. */
static void settle_own_session(void **state)
{
	struct world *w = suite_world(state);

	settle_table(w, "timestamptz");
	world_other(w, 1,
		    "SET application_name = 'tidemark/source'; BEGIN;"
		    "SELECT 1");
	world_exec(w, "INSERT INTO tm_source.t VALUES (2)");
	settle_pause();
	world_expect_count(w, 10, 1);
	world_expect_count(w, 10, 0);
	world_other(w, 1, "ROLLBACK");
}

static void settle_infinity(void **state)
{
	struct world *w = suite_world(state);

	settle_table(w, "timestamptz");
	world_exec(w, "INSERT INTO tm_source.t VALUES (2, 'infinity'),"
		      " (3, '-infinity'), (4, '-infinity')");
	for (size_t rows = 1; rows < 4; rows++) {
		world_reset(w);
		world_expect(w, rows,
			     "3|-infinity\n4|-infinity\n"
			     "1|2024-01-01 00:00:00+00\n2|infinity\n");
		assert_string_equal(w->from.key.items[0], "1");
		world_expect(w, rows, "2|infinity\n");
	}
	world_exec(w, "DELETE FROM tm_source.t WHERE id < 3");
	world_reset(w);
	world_expect_count(w, 1, 2);
	assert_string_equal(w->from.value, "-infinity");
	w->mark.lag_us = US_PER_SECOND;
	world_expect_count(w, 1, 2);
	assert_string_equal(w->from.key.items[0], "4");
}

const struct CMUnitTest suite_postgres_settle[] = {
	SUITE_TEST(settle_mark_goes_back),
	SUITE_TEST(settle_delivered_infinity),
	SUITE_TEST(settle_late_writer),
	SUITE_TEST(settle_late_reader),
	SUITE_TEST(settle_late_savepoint),
	SUITE_TEST(settle_prepared),
	SUITE_TEST(settle_open_tick),
	SUITE_TEST(settle_zones),
	SUITE_TEST(settle_rights),
	SUITE_TEST(settle_own_session),
	SUITE_TEST(settle_infinity),
};
const size_t suite_postgres_settle_n = ARRAY_SIZE(suite_postgres_settle);
