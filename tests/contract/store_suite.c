/*
 * One suite over every state store. TIDEMARK_TEST_POSTGRES names a database
 * that may be written to; without it that engine is skipped.
 */
#include "store_world.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clients/sqlite.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/secret.h"

static void migrates_once(void **state)
{
	struct place *p = *state;
	struct error err = ERROR_INIT;
	struct store *s = NULL;
	int applied = -1, version = -1, newest;

	assert_int_equal(p->ops->open(&s, &p->conn, &err), 0);
	assert_int_equal(s->ops->migrate(s, &applied, &newest, &err), 0);
	assert_true(newest >= 1);
	assert_int_equal(applied, newest);
	assert_int_equal(s->ops->migrate(s, &applied, &version, &err), 0);
	assert_int_equal(applied, 0);
	assert_int_equal(version, newest);
	s->ops->close(s);
}

static void check_ended(const struct attempt *got, const struct attempt *a)
{
	assert_string_equal(got->attempt_id, "a1");
	assert_string_equal(got->run_id, "r1");
	assert_string_equal(got->pipeline, "orders");
	assert_string_equal(got->state, "FAILED");
	assert_string_equal(got->outcome, "failed");
	assert_string_equal(got->host, "somewhere-else");
	assert_int_equal(got->pid, 4711);
	assert_int_equal(got->logic_version, 3);
	assert_int_equal(got->started_at, 1000);
	assert_int_equal(got->ended_at, INT64_MAX);
	assert_int_equal(got->heartbeat_at, 2);
	assert_int_equal(got->batches, 3);
	assert_int_equal(got->rows_read, 4);
	assert_int_equal(got->rows_inserted, 5);
	assert_int_equal(got->rows_updated, 6);
	assert_int_equal(got->rows_unchanged, 7);
	assert_int_equal(got->rows_deleted, 8);
	assert_int_equal(got->rows_dead_lettered, 9);
	assert_string_equal(got->watermark_before, a->watermark_before);
	assert_string_equal(got->watermark_after, a->watermark_after);
	assert_string_equal(got->guarantee, "lag");
	assert_string_equal(got->guarantee_reason, "no rights");
	assert_string_equal(got->error_code, "access");
	assert_string_equal(got->error_message, a->error_message);
	assert_string_equal(got->paused, a->paused);
}

/* What is written comes back, every member. */
static void keeps_attempts(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p);
	struct attempt a = attempt_of("a1", "r1");
	struct attempt_list got;

	place_save(s, &a);
	got = place_list(s, "orders", 10);
	assert_int_equal(got.n, 1);
	assert_null(got.items[0].watermark_before);
	assert_null(got.items[0].error_code);
	assert_null(got.items[0].paused);
	attempt_list_release(&got);

	a.state = (char *)"FAILED";
	a.outcome = (char *)"failed";
	a.tenant = (char *)"";
	a.ended_at = INT64_MAX;
	a.heartbeat_at = 2;
	a.batches = 3;
	a.rows_read = 4;
	a.rows_inserted = 5;
	a.rows_updated = 6;
	a.rows_unchanged = 7;
	a.rows_deleted = 8;
	a.rows_dead_lettered = 9;
	a.watermark_before = (char *)"{\"value\":\"it's \\\"ü\\\"\"}";
	a.watermark_after = (char *)"{\"value\":\"9007199254740993\"}";
	a.guarantee = (char *)"lag";
	a.guarantee_reason = (char *)"no rights";
	a.error_code = (char *)"access";
	a.error_message = (char *)"disk full; DROP TABLE runs";
	a.paused = (char *)"{\"by\":\"pause_file\"}";
	place_save(s, &a);
	s->ops->close(s);

	s = place_open(p);
	got = place_list(s, NULL, 10);
	assert_int_equal(got.n, 1);
	check_ended(&got.items[0], &a);
	attempt_list_release(&got);
	s->ops->close(s);
}

/* Of a pipeline the one that was saved last, whatever the clocks of those who
 * began them said. */
static void lists_newest_first(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p);
	struct attempt a;
	struct attempt_list got;
	char id[24];

	for (int i = 0; i < 5; i++) {
		snprintf(id, sizeof(id), "a%d", i);
		a = attempt_of(id, "r");
		a.started_at = 100 * (i == 0 ? 9 : i);
		a.pipeline = (char *)(i == 4 ? "other" : "orders");
		place_save(s, &a);
	}
	got = place_list(s, "orders", 3);
	assert_int_equal(got.n, 3);
	assert_string_equal(got.items[0].attempt_id, "a3");
	assert_string_equal(got.items[1].attempt_id, "a2");
	assert_string_equal(got.items[2].attempt_id, "a1");
	attempt_list_release(&got);
	got = place_list(s, NULL, 2);
	assert_int_equal(got.n, 2);
	assert_string_equal(got.items[1].attempt_id, "a4");
	attempt_list_release(&got);
	got = place_list(s, "nobody", 2);
	assert_int_equal(got.n, 0);
	attempt_list_release(&got);
	s->ops->close(s);
}

static void check_watermark(struct store *s, const char *pipeline,
			    const char *expected)
{
	struct error err = ERROR_INIT;
	char *got = NULL;

	assert_int_equal(s->ops->get_watermark(s, pipeline, &got, &err), 0);
	if (expected)
		assert_string_equal(got, expected);
	else
		assert_null(got);
	free(got);
}

static void mirrors_marks(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p);
	struct error err = ERROR_INIT;
	struct attempt a = attempt_of("a1", "r1");
	struct batch_record b = { .attempt_id = (char *)"a1",
				  .batch_id = (char *)"b1",
				  .pipeline = (char *)"orders",
				  .watermark = (char *)"{\"value\":\"1\"}",
				  .number = 1,
				  .rows = 10,
				  .inserted = 10,
				  .at = 5 };
	struct attempt_list got;

	check_watermark(s, "orders", NULL);
	a.batches = 1;
	a.rows_read = 10;
	/* Twice, as after a commit whose answer was lost. */
	assert_int_equal(s->ops->save_batch(s, &b, &a, b.watermark, &err), 0);
	assert_int_equal(s->ops->save_batch(s, &b, &a, b.watermark, &err), 0);
	check_watermark(s, "orders", "{\"value\":\"1\"}");
	got = place_list(s, "orders", 1);
	assert_int_equal(got.items[0].rows_read, 10);
	attempt_list_release(&got);
	assert_int_equal(s->ops->set_watermark(s, "orders", NULL, "{}", &err),
			 0);
	check_watermark(s, "orders", "{}");
	assert_int_equal(s->ops->set_watermark(s, "orders", NULL, NULL, &err),
			 0);
	check_watermark(s, "orders", NULL);
	check_watermark(s, "it's", NULL);
	assert_int_equal(s->ops->set_watermark(s, "it's", NULL, "{}", &err), 0);
	check_watermark(s, "it's", "{}");
	s->ops->close(s);
}

static void keeps_paces(void **state)
{
	struct store *s = place_open(*state);
	struct error err = ERROR_INIT;
	struct pace_record got = { NULL, 0 };
	const char *texts[] = { "{\"a\":\"it's\"}", "{}", NULL };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(s->ops->set_pace(s, "it's", texts[i], &err),
				 0);
		assert_int_equal(s->ops->set_pace(s, "other", "{}", &err), 0);
		assert_int_equal(s->ops->get_pace(s, "it's", &got, &err), 0);
		if (texts[i])
			assert_string_equal(got.settings, texts[i]);
		else
			assert_null(got.settings);
		assert_true(!texts[i] ||
			    llabs(clock_now_us() - got.changed_at) <
				    60 * US_PER_SECOND);
		free(got.settings);
	}
	s->ops->close(s);
}

/* Whoever has been overtaken records its batch, and leaves the mirror. */
static void mirrors_the_newest(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p);
	struct error err = ERROR_INIT;
	struct attempt old = attempt_of("a1", "r1"),
		       new = attempt_of("a2", "r2");
	struct batch_record b = { .attempt_id = (char *)"a1",
				  .batch_id = (char *)"b1",
				  .pipeline = (char *)"orders",
				  .number = 1 };

	place_save(s, &old);
	assert_int_equal(s->ops->set_watermark(s, "orders", "a1", "1", &err),
			 0);
	place_save(s, &new);
	assert_int_equal(s->ops->save_batch(s, &b, &old, "2", &err), 0);
	assert_int_equal(s->ops->set_watermark(s, "orders", "a1", "3", &err),
			 0);
	check_watermark(s, "orders", "1");
	assert_int_equal(s->ops->set_watermark(s, "other", "a1", "4", &err), 0);
	check_watermark(s, "other", "4");
	assert_int_equal(s->ops->set_watermark(s, "orders", "a2", "5", &err),
			 0);
	check_watermark(s, "orders", "5");
	s->ops->close(s);
}

/* A batch that cannot be saved leaves nothing of itself. */
static void saves_batches_whole(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p);
	struct error err = ERROR_INIT;
	struct attempt a = attempt_of("a1", "r1");
	struct batch_record b = { .attempt_id = (char *)"nobody",
				  .batch_id = (char *)"b1",
				  .pipeline = (char *)"orders",
				  .watermark = (char *)"{}",
				  .number = 1 };
	struct attempt_list got;

	assert_true(s->ops->save_batch(s, &b, &a, b.watermark, &err) < 0);
	got = place_list(s, NULL, 10);
	assert_int_equal(got.n, 0);
	attempt_list_release(&got);
	check_watermark(s, "orders", NULL);
	s->ops->close(s);
}

/* A run is in the state of its newest attempt, in whatever order they are
 * saved. */
static void derives_run_states(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p);
	struct attempt first = attempt_of("a1", "r1");
	struct attempt second = attempt_of("a2", "r1");

	second.started_at =
		first.started_at - 2000; /* a clock that went back */
	place_save(s, &first);
	check_run_state(p, "r1", "RUNNING");
	place_save(s, &second);
	second.state = (char *)"SUCCEEDED";
	place_save(s, &second);
	check_run_state(p, "r1", "SUCCEEDED");
	first.state = (char *)"FAILED";
	place_save(s, &first);
	check_run_state(p, "r1", "SUCCEEDED");
	s->ops->close(s);
}

static void keeps_no_secret(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p);
	struct attempt a = attempt_of("a1", "r1");
	struct attempt_list got;

	secret_add("hunter2-canary");
	a.state = (char *)"FAILED";
	a.error_code = (char *)"access";
	a.error_message = (char *)"login with hunter2-canary failed";
	place_save(s, &a);
	got = place_list(s, "orders", 1);
	assert_null(strstr(got.items[0].error_message, "hunter2"));
	attempt_list_release(&got);
	secret_forget_all();
	s->ops->close(s);
}

static void check_refused(const struct place *p, const char *sql,
			  enum error_code code, const char *says)
{
	struct error err = ERROR_INIT;
	struct store *s = NULL;
	int applied, version;

	s = place_open(p);
	s->ops->close(s);
	place_sql(p, sql);
	assert_int_equal(p->ops->open(&s, &p->conn, &err), 0);
	assert_int_equal(s->ops->migrate(s, &applied, &version, &err),
			 -(int)code);
	if (!strstr(err.message, says))
		fail_msg("\"%s\" does not say \"%s\"", err.message, says);
	s->ops->close(s);
}

static void refuses_edited_migrations(void **state)
{
	check_refused(*state,
		      "UPDATE tidemark_migrations SET checksum = 'edited'",
		      ERROR_CONFIG, "0001_run_history.sql");
}

static void refuses_newer_schemas(void **state)
{
	check_refused(*state,
		      "INSERT INTO tidemark_migrations (number, name,"
		      " checksum, applied_at) VALUES (999, '0999_later.sql',"
		      " 'x', 0)",
		      ERROR_CONFIG, "999 (0999_later.sql)");
}

static void refuses_foreign_places(void **state)
{
	check_refused(*state,
		      "DROP TABLE tidemark_migrations;"
		      "CREATE TABLE invoices (id int)",
		      ERROR_CONFIG, "not a Tidemark state store");
}

/* Four processes migrate the same empty place at once. */
static void migrates_under_a_lock(void **state)
{
	struct place *p = *state;
	struct error err = ERROR_INIT;
	struct store *s = NULL;
	int status, applied, version;
	pid_t children[4];

	for (int i = 0; i < 4; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			int rc = p->ops->open(&s, &p->conn, &err);
			if (!rc)
				rc = p->ops->migrate(s, &applied, &version,
						     &err);
			if (rc)
				fprintf(stderr, "%s\n", err.message);
			_exit(rc ? 1 : 0);
		}
	}
	for (int i = 0; i < 4; i++) {
		waitpid(children[i], &status, 0);
		assert_int_equal(status, 0);
	}
	s = place_open(p);
	s->ops->close(s);
}

static void makes_private_files(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p);
	char *made = xstrfmt("%s/made", p->directory);
	char *log = xstrfmt("%s-wal", p->conn.url.path);
	struct attempt a = attempt_of("a1", "r1");
	struct stat st;

	place_save(s, &a);
	assert_int_equal(stat(made, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(stat(p->conn.url.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(log, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	s->ops->close(s);
	free(made);
	free(log);
}

static void check_file_refused(struct place *p, const char *content,
			       const char *says)
{
	struct error err = ERROR_INIT;
	struct store *s = NULL;
	int applied, version, rc;
	FILE *f;

	s = place_open(p);
	s->ops->close(s);
	place_sql(p, "PRAGMA journal_mode = DELETE");
	f = fopen(p->conn.url.path, "w");
	fputs(content, f);
	fclose(f);
	s = NULL;
	rc = p->ops->open(&s, &p->conn, &err);
	if (!rc)
		rc = p->ops->migrate(s, &applied, &version, &err);
	assert_int_equal(rc, -(int)ERROR_ACCESS);
	assert_non_null(strstr(err.message, p->conn.url.path));
	if (!strstr(err.message, says))
		fail_msg("%s", err.message);
	if (s)
		s->ops->close(s);
}

static void refuses_other_files(void **state)
{
	char content[5000];

	memset(content, 'x', sizeof(content) - 1);
	content[sizeof(content) - 1] = '\0';
	check_file_refused(*state, content, "not a database");
}

static void refuses_paths_it_cannot_make(void **state)
{
	struct place *p = *state;
	struct error err = ERROR_INIT;
	struct store *s = NULL;
	char *url = xstrfmt("sqlite:%s/file/below/state.db", p->directory);
	char *file = xstrfmt("%s/file", p->directory);
	FILE *f = fopen(file, "w");

	fclose(f);
	url_release(&p->conn.url);
	assert_int_equal(url_parse(&p->conn.url, url, &err), 0);
	assert_int_equal(p->ops->open(&s, &p->conn, &err), -(int)ERROR_ACCESS);
	assert_null(s);
	free(url);
	free(file);
}

/* Another process writes for longer than we wait. */
static void waits_and_then_names_the_file(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p);
	static const struct sqlite_options options = { .wal = true };
	struct error err = ERROR_INIT;
	struct attempt a = attempt_of("a1", "r1");
	struct sqlite *db = NULL;

	assert_int_equal(sqlite_open(&db, p->conn.url.path, &options, &err), 0);
	assert_int_equal(sqlite_begin(db, &err), 0);
	assert_int_equal(s->ops->save_attempt(s, &a, &err),
			 -(int)ERROR_TRANSIENT);
	assert_non_null(strstr(err.message, p->conn.url.path));
	sqlite_rollback(db);
	error_clear(&err);
	assert_int_equal(s->ops->save_attempt(s, &a, &err), 0);
	sqlite_close(db);
	s->ops->close(s);
}

#define SHARED(make)                                                           \
	EACH(make, migrates_once), EACH(make, keeps_attempts),                 \
		EACH(make, lists_newest_first), EACH(make, mirrors_marks),     \
		EACH(make, keeps_paces), EACH(make, mirrors_the_newest),       \
		EACH(make, saves_batches_whole),                               \
		EACH(make, derives_run_states), EACH(make, keeps_no_secret),   \
		EACH(make, refuses_edited_migrations),                         \
		EACH(make, refuses_newer_schemas),                             \
		EACH(make, refuses_foreign_places),                            \
		EACH(make, migrates_under_a_lock)

static int run(const struct CMUnitTest *own, size_t n,
	       const struct CMUnitTest *leases, const struct CMUnitTest *runs,
	       const struct CMUnitTest *letters,
	       const struct CMUnitTest *chunks)
{
	size_t all = n + store_leases_n + store_runs_n + store_letters_n +
		     store_chunks_n;
	struct CMUnitTest *tests = xcalloc(all, sizeof(*tests));
	int failed;

	memcpy(tests, own, n * sizeof(*tests));
	memcpy(tests + n, leases, store_leases_n * sizeof(*tests));
	n += store_leases_n;
	memcpy(tests + n, runs, store_runs_n * sizeof(*tests));
	n += store_runs_n;
	memcpy(tests + n, letters, store_letters_n * sizeof(*tests));
	n += store_letters_n;
	memcpy(tests + n, chunks, store_chunks_n * sizeof(*tests));
	failed = _cmocka_run_group_tests("store", tests, all, NULL, NULL);
	free(tests);
	return failed;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest files[] = {
		SHARED(file),
		EACH(file, makes_private_files),
		EACH(file, refuses_other_files),
		EACH(file, refuses_paths_it_cannot_make),
		EACH(file, waits_and_then_names_the_file),
	};
	const struct CMUnitTest servers[] = {
		SHARED(postgres),
		EACH(postgres, passes_by_a_locked_chunk),
	};

	if (argc == 2 && !strcmp(argv[1], "sqlite"))
		return run(files, ARRAY_SIZE(files), store_leases_file,
			   store_runs_file, store_letters_file,
			   store_chunks_file);
	if (argc != 2 || strcmp(argv[1], "postgres")) {
		fprintf(stderr, "usage: store_contract sqlite|postgres\n");
		return 2;
	}
	if (!getenv("TIDEMARK_TEST_POSTGRES")) {
		fprintf(stderr, "# SKIP postgres: TIDEMARK_TEST_POSTGRES is "
				"not set\n");
		return 77;
	}
	return run(servers, ARRAY_SIZE(servers), store_leases_postgres,
		   store_runs_postgres, store_letters_postgres,
		   store_chunks_postgres);
}
