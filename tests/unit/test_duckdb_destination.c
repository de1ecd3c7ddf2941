/* Decisions of the DuckDB destination alone: who writes, which row is newer,
 * the traces of a refresh, the files that it accepts. Values are in
 * test_duckdb_destination_values.c. The contract suite tests behaviour that it
 * shares with the others. */
#include <unistd.h>

#include "clients/duckdb_errors.h"
#include "core/data/value.h"
#include "destinations/common/names.h"
#include "tests/unit/duckdb_destination_world.h"

/* DuckDB's errors, and the same from an appender: type and text apart. */
static const struct {
	const char *text;
	int type; /* an enum duckdb_error_type */
	enum error_code code, appended;
} errors[] = {
	{ "IO Error: Could not set lock on file \"w\": Conflicting lock is "
	  "held in python3 (PID 7)",
	  28, ERROR_STATE, ERROR_STATE },
	{ "IO Error: Could not set lock on file \"w\": Conflicting lock is "
	  "held in python3 (PID 7). However, you would be able to open this "
	  "database in read-only mode",
	  28, ERROR_STATE, ERROR_STATE },
	{ "IO Error: No space left on device", 28, ERROR_ACCESS, ERROR_ACCESS },
	{ "TransactionContext Error: Conflict on update!", 10, ERROR_CONFLICT,
	  ERROR_CONFLICT },
	{ "TransactionContext Error: Catalog write-write conflict on alter "
	  "with \"t\"",
	  10, ERROR_CONFLICT, ERROR_CONFLICT },
	{ "TransactionContext Error: Failed to commit: PRIMARY KEY or UNIQUE "
	  "constraint violation: violates primary key constraint",
	  10, ERROR_DATA, ERROR_DATA },
	{ "TransactionContext Error: Failed to commit: no room", 10,
	  ERROR_ACCESS, ERROR_ACCESS },
	{ "Constraint Error: NOT NULL constraint failed: t.v", 18, ERROR_DATA,
	  ERROR_DATA },
	{ "Catalog Error: Table with name t does not exist!", 13, ERROR_SCHEMA,
	  ERROR_SCHEMA },
	{ "INTERRUPT Error: Interrupted!", 29, ERROR_STOPPED, ERROR_STOPPED },
	{ "HTTP Error: 503", 38, ERROR_UNKNOWN, ERROR_UNKNOWN },
	{ "no reason given", 0, ERROR_UNKNOWN, ERROR_UNKNOWN },
	{ "no reason given", 33, ERROR_UNKNOWN, ERROR_ACCESS },
};

static void test_errors(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		const char *text = errors[i].text;

		if (duck_error_code(text) != errors[i].code ||
		    duck_error_type_code(errors[i].type, text) !=
			    errors[i].appended)
			fail_msg("%s: %s", text,
				 error_code_name(duck_error_code(text)));
	}
}

/* The file's lock keeps other processes out; what is left is a second writer
 * in this one. */
static void test_other_writer(void **state)
{
	const struct destination_ops *ops = &duckdb_target_destination;
	struct file *f = *state;
	struct destination *a = NULL, *b = NULL;
	const int64_t one = 1;

	file_schema(f, TYPE_INT64);
	f->schema.mark = -1;
	assert_int_equal(ops->open(&a, &f->conn, &f->err), 0);
	assert_int_equal(ops->prepare(a, &f->target, &f->err), 0);
	assert_int_equal(ops->open(&b, &f->conn, &f->err), 0);
	assert_int_equal(ops->prepare(b, &f->target, &f->err), 0);
	f->d = a;
	assert_int_equal(file_load(f, 1, &one, NULL), 0);
	assert_int_equal(f->counts.inserted, 1);
	f->d = b;
	assert_int_equal(file_load(f, 1, &one, NULL), ERROR_STATE);
	f->d = a;
	assert_int_equal(file_load(f, 1, &one, NULL), 0);
	assert_int_equal(f->counts.unchanged, 1);
	file_close(f);
	f->d = b;
}

#define ORDERS "SELECT string_agg(id || ':' || v, ' ' ORDER BY id) FROM orders"
#define STAGES                                                                 \
	"SELECT count(*)::VARCHAR FROM duckdb_tables() WHERE "                 \
	"starts_with(table_name, '_tidemark_stage')"

/* A table with the row 1:1, and a refresh of it that has read 1:2. */
static void file_refresh(struct file *f)
{
	const int64_t one = 1, two = 2;

	file_schema(f, TYPE_INT64);
	file_sync(f, 1, &one, NULL);
	f->target.refresh = true;
	assert_int_equal(file_begin(f), 0);
	assert_int_equal(file_load(f, 1, &two, NULL), 0);
}

static void test_refresh_overtaken(void **state)
{
	struct file *f = *state;
	struct destination *first, *second;
	const int64_t three = 3;

	file_refresh(f);
	first = f->d;
	f->d = NULL;
	assert_int_equal(file_begin(f), 0);
	second = f->d;
	assert_int_equal(file_load(f, 2, &three, NULL), 0);
	f->d = first;
	assert_int_equal(file_load(f, 3, &three, NULL), ERROR_STATE);
	assert_non_null(strstr(f->err.message, "another run of p has taken"));
	assert_int_equal(file_finish(f), ERROR_STATE);
	file_close(f);
	f->d = second;
	file_expect(f, ORDERS, "1:1");
	assert_int_equal(file_finish(f), 0);
	file_expect(f, ORDERS, "2:3");
	file_expect(f, "SELECT batch_id FROM _tidemark_watermark", "finished");
}

static void test_refresh_left_behind(void **state)
{
	struct file *f = *state;
	const int64_t three = 3;

	file_refresh(f);
	file_close(f);
	file_expect(f, STAGES, "1");
	file_expect(f, "SELECT watermark FROM _tidemark_watermark", "{}");
	f->target.refresh = false;
	file_sync(f, 2, &three, NULL);
	file_expect(f, STAGES, "0");
	file_expect(f, ORDERS, "1:1 2:3");
}

static void test_refresh_counts_rows(void **state)
{
	struct file *f = *state;
	char *stage = name_stage("p");
	char *sql = xstrfmt("DELETE FROM %s", stage);

	file_refresh(f);
	file_exec(f, sql);
	assert_int_equal(file_finish(f), ERROR_DATA);
	assert_non_null(strstr(f->err.message, "0 rows, but 1"));
	file_expect(f, ORDERS, "1:1");
	free(sql);
	free(stage);
}

/* The kind, texts of stored, new and delivered, and whether new replaces. */
static const struct delivered_case {
	enum type_kind kind;
	const char *stored, *fresh, *delivered;
	bool replaces;
} delivered_cases[] = {
	{ TYPE_INT64, "5", "4", "5", true },
	{ TYPE_INT64, "9", "6", "6", false },
	{ TYPE_INT64, "10", "6", "9", false },
	{ TYPE_INT64, "5", "4", NULL, false },
	{ TYPE_INT64, "5", "4", "no number", false },
	{ TYPE_TIMESTAMPTZ, "2026-01-31 12:00:00.5+00",
	  "2026-01-31 11:00:00+00", "2026-01-31 12:00:00.5+00", true },
	{ TYPE_TIMESTAMPTZ, "2026-01-31 12:00:00.500001+00",
	  "2026-01-31 11:00:00+00", "2026-01-31 12:00:00.5+00", false },
	{ TYPE_TIMESTAMP, "2026-01-31 12:00:00", "2026-01-31 11:00:00",
	  "2026-01-31 12:00:00", true },
	{ TYPE_TIMESTAMP, "2026-01-31 12:00:00.000001", "2026-01-31 11:00:00",
	  "2026-01-31 12:00:00", false },
};

static int64_t delivered_value(enum type_kind kind, const char *text)
{
	int64_t value = strtoll(text, NULL, 10);

	if (kind != TYPE_INT64)
		assert_true(value_parse_timestamp(text, &value));
	return value;
}

/* A `mine` of the user's makes that rows are updated where they are. */
static void check_delivered(struct file *f, bool in_place)
{
	for (size_t i = 0; i < ARRAY_SIZE(delivered_cases); i++) {
		const struct delivered_case *c = &delivered_cases[i];
		int64_t stored = delivered_value(c->kind, c->stored);
		int64_t fresh = delivered_value(c->kind, c->fresh);

		file_schema(f, c->kind);
		file_sync(f, 1, &stored, NULL);
		if (in_place)
			file_exec(f, "ALTER TABLE orders ADD mine VARCHAR");
		file_sync(f, 1, &fresh, c->delivered);
		if (f->counts.updated != c->replaces)
			fail_msg("%s over %s, delivered %s", c->fresh,
				 c->stored,
				 c->delivered ? c->delivered : "nothing");
		assert_int_equal(f->counts.unchanged, !c->replaces);
		file_exec(f, "DROP TABLE orders");
	}
}

static void test_delivered(void **state)
{
	check_delivered(*state, false);
}

static void test_delivered_in_place(void **state)
{
	check_delivered(*state, true);
}

/* Rows are read one after the other, and the last is the newest, whatever its
 * mark. A row that is like it is not appended. */
static void test_append_order(void **state)
{
	struct file *f = *state;
	static const int64_t steps[] = { 5, 4, 4, 6, 4 };
	static const char *const rows[] = { "1", "2", "2", "3", "4" };

	f->target.mode = LOAD_APPEND;
	file_schema(f, TYPE_INT64);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		char *expected = xstrfmt("1:%d", (int)steps[i]);

		file_sync(f, 1, &steps[i], NULL);
		file_expect(f, "SELECT count(*)::VARCHAR FROM orders_raw",
			    rows[i]);
		file_expect(f, ORDERS, expected);
		free(expected);
	}
	file_sync(f, 1, NULL, NULL);
	file_expect(f, "SELECT v::VARCHAR FROM orders", "NULL");
}

/* Written by a version of Tidemark that put the highest mark first. */
static void test_older_view(void **state)
{
	struct file *f = *state;
	const int64_t five = 5, four = 4;
	struct inspection found;

	f->target.mode = LOAD_APPEND;
	file_schema(f, TYPE_INT64);
	file_sync(f, 1, &five, NULL);
	file_exec(f, "CREATE OR REPLACE VIEW orders AS SELECT id, v FROM "
		     "orders_raw QUALIFY row_number() OVER (PARTITION BY id "
		     "ORDER BY v DESC NULLS LAST, _tidemark_seq DESC) = 1");
	file_sync(f, 1, &four, NULL);
	file_expect(f, ORDERS, "1:4");
	/* One that is as it should be is let be. */
	inspection_init(&found);
	assert_int_equal(
		duckdb_target_destination.open(&f->d, &f->conn, &f->err), 0);
	assert_int_equal(f->d->ops->inspect(f->d, &f->target, &found, &f->err),
			 0);
	assert_int_equal(found.ddl.n, 0);
	inspection_release(&found);
}

static void file_warns(struct file *f, const char *code)
{
	struct inspection found;

	inspection_init(&found);
	assert_int_equal(
		duckdb_target_destination.open(&f->d, &f->conn, &f->err), 0);
	assert_int_equal(f->d->ops->inspect(f->d, &f->target, &found, &f->err),
			 0);
	assert_int_equal(problems_to_error(&found.problems, &f->err), 0);
	assert_int_equal(found.problems.n, code ? 1 : 0);
	if (code)
		assert_string_equal(found.problems.items[0].code, code);
	inspection_release(&found);
	f->d->ops->close(f->d);
	f->d = NULL;
}

/* A key that verify cannot compare is named before the first run. */
static void test_key_without_order(void **state)
{
	struct file *f = *state;

	file_schema(f, TYPE_INT64);
	file_warns(f, NULL);
	f->schema.columns[0].type.kind = TYPE_INTERVAL;
	file_warns(f, "key-without-order");
	file_exec(f, "CREATE TABLE orders (id VARCHAR, v BIGINT)");
	file_warns(f, NULL);
}

/* Filled by another process a moment later, or by none. */
static void test_file_in_making(void **state)
{
	struct file *f = *state;
	const int64_t one = 1;
	char *half = xstrfmt("head -c 4096 /dev/zero >'%s'", f->path);
	char *made = xstrfmt("(sleep 0.1; rm '%s') &", f->path);

	file_schema(f, TYPE_INT64);
	assert_int_equal(system(half), 0);
	assert_int_equal(file_begin(f), ERROR_ACCESS);
	assert_int_equal(system(half), 0);
	assert_int_equal(system(made), 0);
	file_sync(f, 1, &one, NULL);
	free(half);
	free(made);
}

static void test_url_options(void **state)
{
	static const char *const urls[] = {
		"duckdb:/tmp/x.db?memory=1GB",
		"duckdb:/tmp/x.db?threads",
		"duckdb:/tmp/x.db?threads=none",
		"duckdb:/tmp/x.db?memory_limit=lots",
		"duckdb::memory:",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
		struct connection conn = { .name = (char *)"w" };
		struct destination *d = NULL;
		struct error err = ERROR_INIT;

		assert_int_equal(url_parse(&conn.url, urls[i], &err), 0);
		assert_int_equal(
			duckdb_target_destination.open(&d, &conn, &err),
			-ERROR_CONFIG);
		assert_null(d);
		url_release(&conn.url);
	}
	assert_int_not_equal(access("/tmp/x.db", F_OK), 0);
}

/* `check` shows the DDL of a file that is not there yet: with the name that
 * DuckDB gives to the file's database. */
static void catalog_of_new_file(struct file *f, const char *name)
{
	char *path = xstrfmt("%s/%s", f->directory, name), *start;
	char *url = xstrfmt("duckdb:%s", path);
	struct connection conn = { .name = (char *)"w" };
	struct destination *d = NULL;
	struct inspection found;
	struct duck_result *r = NULL;
	struct duck *db = NULL;

	assert_int_equal(url_parse(&conn.url, url, &f->err), 0);
	assert_int_equal(duckdb_target_destination.open(&d, &conn, &f->err), 0);
	inspection_init(&found);
	assert_int_equal(d->ops->inspect(d, &f->target, &found, &f->err), 0);
	duckdb_target_destination.close(d);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(duck_open(&db, path, NULL, 0, &f->err), 0);
	assert_int_equal(duck_query(db, &r,
				    "SELECT 'CREATE TABLE \"' || "
				    "current_database() || '\".\"main\".'",
				    NULL, 0, &f->err),
			 0);
	assert_true(duck_next(r));
	start = duck_str(r, 0);
	assert_true(found.ddl.n > 0);
	if (strncmp(found.ddl.items[0], start, strlen(start)) != 0)
		fail_msg("%s: %s, not %s", name, found.ddl.items[0], start);
	duck_result_free(r);
	duck_close(db);
	inspection_release(&found);
	url_release(&conn.url);
	free(start);
	free(url);
	free(path);
}

static void test_catalog_of_new_file(void **state)
{
	static const char *const names[] = {
		"orders.duckdb", "a.b.db",	 "plain",
		"main.db",	 "temp.db",	 "system.db",
		"memory",	 "two words.db", "select.db",
	};
	struct file *f = *state;

	file_schema(f, TYPE_INT64);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		catalog_of_new_file(f, names[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),
		IN_FILE(test_other_writer),
		IN_FILE(test_refresh_overtaken),
		IN_FILE(test_refresh_left_behind),
		IN_FILE(test_refresh_counts_rows),
		IN_FILE(test_delivered),
		IN_FILE(test_delivered_in_place),
		IN_FILE(test_append_order),
		IN_FILE(test_older_view),
		IN_FILE(test_key_without_order),
		IN_FILE(test_file_in_making),
		IN_FILE(test_catalog_of_new_file),
		cmocka_unit_test(test_url_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
