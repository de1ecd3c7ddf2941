#include "store_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clients/pg.h"
#include "clients/sqlite.h"
#include "core/base/alloc.h"
#include "core/base/pool.h"
#include "core/store/schema.h"
#include "scratch.h"

void place_sql(const struct place *p, const char *sql)
{
	struct error err = ERROR_INIT;

	if (p->directory) {
		static const struct sqlite_options options = {
			.busy_timeout_us = 1000000
		};
		struct sqlite *db = NULL;

		pool_pause(0);
		assert_int_equal(
			sqlite_open(&db, p->conn.url.path, &options, &err), 0);
		if (sqlite_exec(db, sql, &err))
			fail_msg("%s", err.message);
		sqlite_close(db);
	} else {
		static const struct pg_options options = { .application =
								   "test" };
		struct pg *pg = NULL;

		if (pg_open(&pg, &p->conn, &options, &err) ||
		    pg_execf(pg, &err,
			     "CREATE SCHEMA IF NOT EXISTS tidemark;"
			     "SET search_path = tidemark; %s",
			     sql))
			fail_msg("%s", err.message);
		pg_close(pg);
	}
}

int place_make_file(void **state)
{
	struct place *p = xcalloc(1, sizeof(*p));
	struct error err = ERROR_INIT;
	char *url;

	p->ops = &sqlite_store;
	p->directory = mkdtemp(scratch_template("store"));
	url = xstrfmt("sqlite:%s/made/state.db", p->directory);
	p->conn.name = xstrdup("state");
	assert_int_equal(url_parse(&p->conn.url, url, &err), 0);
	free(url);
	*state = p;
	return 0;
}

int place_make_postgres(void **state)
{
	const char *url = getenv("TIDEMARK_TEST_POSTGRES");
	struct place *p;
	struct error err = ERROR_INIT;

	p = xcalloc(1, sizeof(*p));
	p->ops = &postgres_store;
	p->conn.name = xstrdup("state");
	p->conn.connect_timeout_us = 10000000;
	p->conn.silence_timeout_us = 30000000;
	assert_int_equal(url_parse(&p->conn.url, url, &err), 0);
	place_sql(p, "DROP SCHEMA IF EXISTS tidemark CASCADE");
	*state = p;
	return 0;
}

int place_unmake(void **state)
{
	struct place *p = *state;

	if (p->directory) {
		char *command = xstrfmt("chmod -R u+w %s && rm -r %s",
					p->directory, p->directory);
		assert_int_equal(system(command), 0);
		free(command);
	}
	url_release(&p->conn.url);
	free(p->conn.name);
	free(p->directory);
	free(p);
	return 0;
}

struct store *place_open(const struct place *p)
{
	struct error err = ERROR_INIT;
	struct store *s = NULL;
	int applied, version;

	if (p->ops->open(&s, &p->conn, &err) ||
	    store_migrate(s, &applied, &version, &err))
		fail_msg("%s", err.message);
	return s;
}

struct attempt attempt_of(const char *id, const char *run)
{
	struct attempt a;

	attempt_init(&a);
	a.attempt_id = (char *)id;
	a.run_id = (char *)run;
	a.pipeline = (char *)"orders";
	a.tenant = (char *)"";
	a.state = (char *)"RUNNING";
	a.outcome = (char *)"";
	a.host = (char *)"somewhere-else";
	a.pid = 4711;
	a.logic_version = 3;
	a.started_at = 1000;
	a.heartbeat_at = 1001;
	a.guarantee = (char *)"exact";
	a.guarantee_reason = (char *)"";
	return a;
}

void place_save(struct store *s, const struct attempt *a)
{
	struct error err = ERROR_INIT;

	if (store_attempt_save(s, a, &err))
		fail_msg("%s", err.message);
}

struct attempt_list place_list(struct store *s, const char *pipeline,
			       int64_t limit)
{
	const struct run_filter filter = { .pipeline = pipeline,
					   .limit = limit };
	struct attempt_list out = { NULL, 0, 0 };
	struct error err = ERROR_INIT;

	if (store_attempts_list(s, &filter, &out, &err))
		fail_msg("%s", err.message);
	return out;
}

static char *run_state(const struct place *p, const char *run_id)
{
	struct error err = ERROR_INIT;
	char *sql = xstrfmt("SELECT state FROM %sruns WHERE run_id = '%s'",
			    p->directory ? "" : "tidemark.", run_id);
	char *out = NULL;

	if (p->directory) {
		static const struct sqlite_options options = { .read_only =
								       true };
		struct sqlite_statement *st = NULL;
		struct sqlite *db = NULL;

		sqlite_open(&db, p->conn.url.path, &options, &err);
		sqlite_prepare(db, &st, sql, &err);
		assert_int_equal(sqlite_step(st, &err), 1);
		out = xstrdup(sqlite_str(st, 0));
		sqlite_finalize(st);
		sqlite_close(db);
	} else {
		static const struct pg_options options = { .application =
								   "test" };
		struct pg_result *r = NULL;
		struct pg *pg = NULL;

		pg_open(&pg, &p->conn, &options, &err);
		assert_int_equal(pg_query(pg, &r, sql, "t", 0, NULL, &err), 0);
		assert_int_equal(pg_rows(r), 1);
		out = xstrdup(pg_value(r, 0, 0));
		pg_result_free(r);
		pg_close(pg);
	}
	free(sql);
	return out;
}

void check_run_state(const struct place *p, const char *run_id,
		     const char *expected)
{
	char *got = run_state(p, run_id);

	assert_string_equal(got, expected);
	free(got);
}

pid_t dead_pid(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}
