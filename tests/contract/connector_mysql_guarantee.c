/* MySQL and MariaDB: which guarantee is in force, and why. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "connector_world.h"

#include "clients/mysql.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"

static void guarantee_table(struct world *w, const char *options)
{
	world_exec(w,
		   "CREATE TABLE tm_source.t (id int AUTO_INCREMENT PRIMARY "
		   "KEY, v int, at timestamp(6) DEFAULT CURRENT_TIMESTAMP(6), "
		   "INDEX (at)) %s",
		   options);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
}

static bool guarantee_is_mysql(const struct world *w)
{
	return !strcmp(w->quirks->engine, "mysql");
}

/* Says `check` so, with this fix? */
static bool guarantee_checked(struct world *w, const char *code,
			      const char *fix)
{
	struct problems found = { NULL, 0, 0 };
	bool named = false;

	assert_int_equal(w->ops->inspect(w->connector, &w->source, &w->mark,
					 &w->schema, &found, &w->err),
			 0);
	for (size_t i = 0; i < found.n; i++)
		named |= !strcmp(found.items[i].code, code) &&
			 strstr(found.items[i].fix, fix);
	problems_release(&found);
	return named;
}

/* Without a right: lag, and the GRANT that is missing. */
static void guarantee_without(struct world *w, const char *right)
{
	void *session = world_boss(w);
	char *sql = xstrfmt("REVOKE %s ON *.* FROM app@'%%'", right);
	char *grant = xstrfmt("GRANT %s ON *.* TO 'app'@'%%'", right);
	bool named, checked;

	w->quirks->exec(session, sql);
	world_reopen(w);
	world_run(w, 10);
	named = w->settled.reason && strstr(w->settled.reason, grant);
	checked = guarantee_checked(w, "missing-rights", grant);
	w->quirks->exec(session, grant);
	w->quirks->disconnect(session);
	assert_int_equal(w->settled.guarantee, GUARANTEE_LAG);
	assert_true(named);
	assert_true(checked);
	world_reopen(w);
	world_expect_count(w, 10, 0);
	assert_int_equal(w->settled.guarantee, GUARANTEE_EXACT);
	free(sql);
	free(grant);
}

static void guarantee_no_rights(void **state)
{
	struct world *w = suite_world(state);

	guarantee_table(w, "");
	guarantee_without(w, "PROCESS");
	/* MariaDB lets everyone see them. */
	if (guarantee_is_mysql(w))
		guarantee_without(w, "XA_RECOVER_ADMIN");
}

static void guarantee_engines(void **state)
{
	static const char *const engines[] = { "MyISAM", "MEMORY" };
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
		char *option = xstrfmt("ENGINE = %s", engines[i]);
		world_exec(w, "DROP TABLE IF EXISTS tm_source.t");
		guarantee_table(w, option);
		world_exec(w, "INSERT INTO tm_source.t (v, at) VALUES (1, "
			      "'2024-01-01')");
		world_expect_count(w, 10, 1);
		assert_int_equal(w->settled.guarantee, GUARANTEE_LAG);
		assert_non_null(strstr(w->settled.reason, engines[i]));
		assert_true(guarantee_checked(w, "engine-not-transactional",
					      "ENGINE = InnoDB"));
		free(option);
	}
	world_exec(w, "CREATE TABLE tm_source.base (id int PRIMARY KEY, at "
		      "timestamp(6) NOT NULL)");
	world_exec(w, "CREATE VIEW tm_source.v AS SELECT * FROM "
		      "tm_source.base");
	world_pipeline(w, "v", STRATEGY_TIMESTAMP, "at");
	world_key(w, "id", NULL);
	world_expect_count(w, 10, 0);
	assert_int_equal(w->settled.guarantee, GUARANTEE_LAG);
	assert_non_null(strstr(w->settled.reason, "view"));
}

/* Replicated rows carry the NOW() of another server, and arrive at any time.
 * The guarantee counts them even if replication is stopped just now. */
static void guarantee_replica(void **state)
{
	struct world *w = suite_world(state);
	void *session = world_boss(w);
	bool mysql = guarantee_is_mysql(w), named;

	guarantee_table(w, "");
	w->quirks->exec(session, mysql ? "GRANT REPLICATION CLIENT ON *.* TO "
					 "app@'%'"
				       : "GRANT SLAVE MONITOR ON *.* TO "
					 "app@'%'");
	w->quirks->exec(session,
			mysql ? "CHANGE REPLICATION SOURCE TO SOURCE_HOST = "
				"'127.0.0.1', SOURCE_PORT = 1"
			      : "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', "
				"MASTER_PORT = 1");
	world_reopen(w);
	world_run(w, 10);
	named = guarantee_checked(w, "standby", "watermark.lag");
	w->quirks->exec(session,
			mysql ? "RESET REPLICA ALL" : "RESET SLAVE ALL");
	w->quirks->disconnect(session);
	assert_int_equal(w->settled.guarantee, GUARANTEE_LAG);
	assert_non_null(strstr(w->settled.reason, "replica"));
	assert_true(named);
	world_expect_count(w, 10, 0);
	assert_int_equal(w->settled.guarantee, GUARANTEE_EXACT);
}

static void guarantee_read_only(void **state)
{
	struct world *w = suite_world(state);
	void *session = world_boss(w);

	guarantee_table(w, "");
	w->quirks->exec(session, "SET GLOBAL read_only = 1");
	world_run(w, 10);
	w->quirks->exec(session, "SET GLOBAL read_only = 0");
	w->quirks->disconnect(session);
	assert_int_equal(w->settled.guarantee, GUARANTEE_LAG);
	assert_non_null(strstr(w->settled.reason, "read-only"));
}

static atomic_bool guarantee_stop;

static void *guarantee_monitor(void *world)
{
	while (!atomic_load(&guarantee_stop)) {
		world_other(world, 2,
			    "SELECT * FROM information_schema.innodb_trx");
		clock_sleep_us(20 * 1000);
	}
	return NULL;
}

/* Others read innodb_trx so often that the server never renews its copy. */
static void guarantee_watched(void **state)
{
	struct world *w = suite_world(state);
	pthread_t thread;
	int rc = 0;

	guarantee_table(w, "");
	world_exec(w, "INSERT INTO tm_source.t (v, at) VALUES (0, "
		      "'2024-01-01')");
	world_expect_count(w, 10, 1);
	world_other(w, 2, "DO 1");
	atomic_store(&guarantee_stop, false);
	assert_int_equal(pthread_create(&thread, NULL, guarantee_monitor, w),
			 0);
	clock_sleep_us(100 * 1000);
	world_other(w, 1, "START TRANSACTION");
	world_other(w, 1, "INSERT INTO tm_source.t (v) VALUES (1)");
	for (int i = 0; !rc && i < 2; i++)
		rc = w->ops->settle(w->connector, &w->source, &w->schema,
				    &w->mark, &w->from, &w->settled, &w->err);
	atomic_store(&guarantee_stop, true);
	pthread_join(thread, NULL);
	world_other(w, 1, "COMMIT");
	assert_int_equal(rc, 0);
	assert_int_equal(w->settled.guarantee, GUARANTEE_EXACT);
	assert_non_null(w->settled.held_by);
}

const struct CMUnitTest suite_mysql_guarantee[] = {
	SUITE_TEST(guarantee_no_rights), SUITE_TEST(guarantee_engines),
	SUITE_TEST(guarantee_replica),	 SUITE_TEST(guarantee_read_only),
	SUITE_TEST(guarantee_watched),
};
const size_t suite_mysql_guarantee_n = ARRAY_SIZE(suite_mysql_guarantee);
