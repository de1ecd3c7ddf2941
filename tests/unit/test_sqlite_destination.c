/*
 * SQLite's own behaviour among destinations: its files and locks, what a table
 * may say of its columns and rows, its error codes. Values are in
 * test_sqlite_destination_values.c. tests/contract tests behaviour that all
 * destinations share.
 */
#include <stdio.h>
#include <unistd.h>

#include "clients/sqlite_errors.h"
#include "core/base/pool.h"
#include "tests/unit/sqlite_destination_world.h"

static const struct {
	int code;
	enum error_code error;
} errors[] = {
	{ 5, ERROR_STATE }, /* BUSY */
	{ 261, ERROR_STATE }, /* BUSY_RECOVERY */
	{ 517, ERROR_CONFLICT }, /* BUSY_SNAPSHOT */
	{ 6, ERROR_CONFLICT }, /* LOCKED */
	{ 262, ERROR_CONFLICT }, /* LOCKED_SHAREDCACHE */
	{ 15, ERROR_TRANSIENT }, /* PROTOCOL */
	{ 9, ERROR_STOPPED }, /* INTERRUPT */
	{ 13, ERROR_ACCESS }, /* FULL */
	{ 778, ERROR_ACCESS }, /* IOERR_WRITE */
	{ 1032, ERROR_ACCESS }, /* READONLY_DBMOVED */
	{ 11, ERROR_ACCESS }, /* CORRUPT */
	{ 19, ERROR_DATA }, /* CONSTRAINT */
	{ 2067, ERROR_DATA }, /* CONSTRAINT_UNIQUE */
	{ 1, ERROR_SCHEMA }, /* ERROR */
	{ 21, ERROR_BUG }, /* MISUSE */
	{ 99, ERROR_UNKNOWN },
};

static void test_errors(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (sqlite_error_code(errors[i].code) != errors[i].error)
			fail_msg("%d is %s", errors[i].code,
				 error_code_name(
					 sqlite_error_code(errors[i].code)));
}

static void test_looking_makes_no_file(void **state)
{
	struct file *f = *state;
	struct inspection found;

	file_schema(f, TYPE_INT64, TYPE_TEXT);
	inspection_init(&found);
	assert_int_equal(sqlite_destination.open(&f->d, &f->conn, &f->err), 0);
	assert_int_equal(f->d->ops->inspect(f->d, &f->target, &found, &f->err),
			 0);
	assert_int_equal(found.ddl.n, 2);
	inspection_release(&found);
	assert_int_equal(access(f->path, F_OK), -1);
}

static void test_journal_mode(void **state)
{
	struct file *f = *state;

	file_schema(f, TYPE_INT64, TYPE_TEXT);
	file_sync(f, 1, "a", 1);
	file_expect(f, "PRAGMA journal_mode", "wal");
	pool_pause(0);
	file_exec(f, "PRAGMA journal_mode = DELETE");
	file_sync(f, 2, "b", 1);
	file_expect(f, "PRAGMA journal_mode", "delete");
}

static void test_key_without_case(void **state)
{
	struct file *f = *state;

	file_exec(f, "CREATE TABLE orders (id TEXT PRIMARY KEY COLLATE NOCASE,"
		     " v TEXT)");
	file_schema(f, TYPE_TEXT, TYPE_TEXT);
	assert_int_equal(file_begin(f), ERROR_SCHEMA);
	assert_non_null(strstr(f->err.message, "BINARY"));
}

/* A column's collation must not hide a change. */
static void test_column_without_case(void **state)
{
	struct file *f = *state;

	file_exec(f, "CREATE TABLE orders (id INTEGER PRIMARY KEY,"
		     " v TEXT COLLATE NOCASE)");
	file_schema(f, TYPE_INT64, TYPE_TEXT);
	f->schema.mark = -1;
	file_sync(f, 1, "a", 1);
	file_sync(f, 1, "A", 1);
	assert_int_equal(f->counts.updated, 1);
	file_expect(f, "SELECT v FROM orders", "A");
}

/* A row that the table refuses is refused, whatever the table says is to be
 * done in its place. */
static void test_conflict_clauses(void **state)
{
	static const char *const clauses[] = { "NOT NULL ON CONFLICT IGNORE",
					       "UNIQUE ON CONFLICT IGNORE",
					       "UNIQUE ON CONFLICT REPLACE" };
	struct file *f = *state;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(clauses); i++) {
		char *sql = xstrfmt("DROP TABLE IF EXISTS orders;"
				    "DROP TABLE IF EXISTS _tidemark_watermark;"
				    "CREATE TABLE orders (id INTEGER PRIMARY "
				    "KEY, v TEXT %s)",
				    clauses[i / 2]);

		file_exec(f, sql);
		free(sql);
		file_schema(f, TYPE_INT64, TYPE_TEXT);
		f->target.mode = i % 2 ? LOAD_DELETE_INSERT : LOAD_UPSERT;
		file_sync(f, 1, "a", 1);
		assert_int_equal(file_begin(f), 0);
		file_row(f, 2, i / 2 ? "a" : NULL, 1);
		assert_int_equal(file_load(f), ERROR_DATA);
		file_close(f);
		file_expect(f, "SELECT id FROM orders", "1");
	}
}

/* An index or a generated column stumbles over a value. */
static void test_value_of_an_expression(void **state)
{
	struct file *f = *state;

	file_exec(f, "CREATE TABLE orders (id INTEGER PRIMARY KEY, v TEXT);"
		     "CREATE INDEX x ON orders (json_extract(v, '$.x'))");
	file_schema(f, TYPE_INT64, TYPE_TEXT);
	assert_int_equal(file_begin(f), 0);
	file_row(f, 1, "{", 1);
	assert_int_equal(file_load(f), ERROR_DATA);
	assert_non_null(strstr(f->err.message, "id=1"));
}

static void test_names_differ_by_case(void **state)
{
	struct file *f = *state;

	file_schema(f, TYPE_INT64, TYPE_TEXT);
	batch_release(&f->batch);
	file_column(f, "V", TYPE_TEXT);
	batch_init(&f->batch, &f->schema);
	assert_int_equal(file_begin(f), ERROR_SCHEMA);
	assert_non_null(strstr(f->err.message, "one name"));
}

static void test_other_schema(void **state)
{
	struct file *f = *state;

	file_schema(f, TYPE_INT64, TYPE_TEXT);
	f->target.table = "main.orders";
	assert_int_equal(file_begin(f), 0);
	f->target.table = "public.orders";
	assert_int_equal(file_begin(f), ERROR_CONFIG);
}

static void test_full_disk(void **state)
{
	struct file *f = *state;
	char text[4000];

	memset(text, 'x', sizeof(text));
	file_schema(f, TYPE_INT64, TYPE_TEXT);
	f->schema.mark = -1;
	file_sync(f, 1, "a", 1);
	assert_int_equal(file_begin(f), 0);
	assert_int_equal(sqlite_exec(((struct sqlite_target *)f->d)->db,
				     "PRAGMA max_page_count = 20", &f->err),
			 0);
	for (int64_t id = 0; id < 100; id++)
		file_row(f, id, text, sizeof(text));
	assert_int_equal(file_load(f), ERROR_ACCESS);
	assert_non_null(strstr(f->err.message, f->path));
	file_close(f);
	file_expect(f, "SELECT count(*) || v FROM orders", "1a");
}

/* Another process holds the file for longer than we wait. */
static void test_busy_file(void **state)
{
	struct file *f = *state;
	struct sqlite *db;

	file_schema(f, TYPE_INT64, TYPE_TEXT);
	f->schema.mark = -1;
	assert_int_equal(file_begin(f), 0);
	db = file_look(f);
	assert_int_equal(sqlite_begin(db, &f->err), 0);
	file_row(f, 1, "a", 1);
	assert_int_equal(file_load(f), ERROR_STATE);
	assert_non_null(strstr(f->err.message, f->path));
	sqlite_close(db);
	file_row(f, 1, "a", 1);
	assert_int_equal(file_load(f), 0);
}

static void test_other_files(void **state)
{
	struct file *f = *state;
	char text[4096];
	FILE *file = fopen(f->path, "w");

	memset(text, 'x', sizeof(text));
	assert_int_equal(fwrite(text, 1, sizeof(text), file), sizeof(text));
	fclose(file);
	file_schema(f, TYPE_INT64, TYPE_TEXT);
	assert_int_equal(file_begin(f), ERROR_ACCESS);
	assert_non_null(strstr(f->err.message, f->path));
	url_release(&f->conn.url);
	assert_int_equal(
		url_parse(&f->conn.url, "sqlite:/nowhere/x.db", &f->err), 0);
	assert_int_equal(file_begin(f), ERROR_ACCESS);
	assert_non_null(strstr(f->err.message, "/nowhere"));
}

static void test_interrupt(void **state)
{
	struct file *f = *state;

	file_schema(f, TYPE_INT64, TYPE_TEXT);
	assert_int_equal(file_begin(f), 0);
	f->d->ops->interrupt(f->d);
	file_row(f, 1, "a", 1);
	assert_int_equal(file_load(f), ERROR_STOPPED);
	file_close(f);
	file_expect(f, "SELECT count(*) FROM orders", "0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),
		IN_FILE(test_looking_makes_no_file),
		IN_FILE(test_journal_mode),
		IN_FILE(test_key_without_case),
		IN_FILE(test_column_without_case),
		IN_FILE(test_conflict_clauses),
		IN_FILE(test_value_of_an_expression),
		IN_FILE(test_names_differ_by_case),
		IN_FILE(test_other_schema),
		IN_FILE(test_full_disk),
		IN_FILE(test_busy_file),
		IN_FILE(test_other_files),
		IN_FILE(test_interrupt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
