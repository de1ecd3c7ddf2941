/* Where a store lives: it is made, migrated and kept private, and a place that
 * is none is refused. */
#include "core/store/history.h"
#include "core/store/schema.h"
#include "core/store/session.h"
#include "store_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clients/sqlite.h"
#include "core/base/alloc.h"

static void migrates_once(void **state)
{
	struct place *p = *state;
	struct error err = ERROR_INIT;
	struct store *s = NULL;
	int applied = -1, version = -1, newest;

	assert_int_equal(p->ops->open(&s, &p->conn, &err), 0);
	assert_int_equal(store_migrate(s, &applied, &newest, &err), 0);
	assert_true(newest >= 1);
	assert_int_equal(applied, newest);
	assert_int_equal(store_migrate(s, &applied, &version, &err), 0);
	assert_int_equal(applied, 0);
	assert_int_equal(version, newest);
	store_close(s);
}

static void check_refused(const struct place *p, const char *sql,
			  enum error_code code, const char *says)
{
	struct error err = ERROR_INIT;
	struct store *s = NULL;
	int applied, version;

	s = place_open(p);
	store_close(s);
	place_sql(p, sql);
	assert_int_equal(p->ops->open(&s, &p->conn, &err), 0);
	assert_int_equal(store_migrate(s, &applied, &version, &err),
			 -(int)code);
	if (!strstr(err.message, says))
		fail_msg("\"%s\" does not say \"%s\"", err.message, says);
	store_close(s);
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
				rc = store_migrate(s, &applied, &version, &err);
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
	store_close(s);
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
	store_close(s);
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
	store_close(s);
	place_sql(p, "PRAGMA journal_mode = DELETE");
	f = fopen(p->conn.url.path, "w");
	fputs(content, f);
	fclose(f);
	s = NULL;
	rc = p->ops->open(&s, &p->conn, &err);
	if (!rc)
		rc = store_migrate(s, &applied, &version, &err);
	assert_int_equal(rc, -(int)ERROR_ACCESS);
	assert_non_null(strstr(err.message, p->conn.url.path));
	if (!strstr(err.message, says))
		fail_msg("%s", err.message);
	if (s)
		store_close(s);
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
	assert_int_equal(store_attempt_save(s, &a, &err),
			 -(int)ERROR_TRANSIENT);
	assert_non_null(strstr(err.message, p->conn.url.path));
	sqlite_rollback(db);
	error_clear(&err);
	assert_int_equal(store_attempt_save(s, &a, &err), 0);
	sqlite_close(db);
	store_close(s);
}

#define SHARED(make)                                                           \
	EACH(make, migrates_once), EACH(make, refuses_edited_migrations),      \
		EACH(make, refuses_newer_schemas),                             \
		EACH(make, refuses_foreign_places),                            \
		EACH(make, migrates_under_a_lock)

const struct CMUnitTest store_places_file[] = { SHARED(file) };
const struct CMUnitTest store_places_postgres[] = { SHARED(postgres) };
const size_t store_places_n = ARRAY_SIZE(store_places_file);
const struct CMUnitTest store_files[] = {
	EACH(file, makes_private_files),
	EACH(file, refuses_other_files),
	EACH(file, refuses_paths_it_cannot_make),
	EACH(file, waits_and_then_names_the_file),
};
const size_t store_files_n = ARRAY_SIZE(store_files);
