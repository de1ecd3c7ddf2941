/*
 * What is SQLite's own among destinations: affinities, versions kept as text,
 * values that SQLite would bend, files and locks. What all destinations do
 * alike is in tests/contract.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clients/sqlite.h"
#include "clients/sqlite_errors.h"
#include "core/base/alloc.h"
#include "core/base/process.h"
#include "core/data/value.h"
#include "destinations/sqlite/internal.h"

#define SECOND INT64_C(1000000)
#define YEAR   (INT64_C(31556952) * SECOND)

struct file {
	char *directory, *path;
	struct connection conn;
	struct destination *d;
	struct schema schema;
	struct target target;
	struct error err;
	struct load_counts counts;
	struct batch batch;
	int n_batches;
	const char *delivered;
};

static int file_make(void **state)
{
	struct file *f = xcalloc(1, sizeof(*f));
	char template[] = "/tmp/tidemark-sqlite-XXXXXX";
	char *url;

	f->directory = xstrdup(mkdtemp(template));
	f->path = xstrfmt("%s/warehouse.db", f->directory);
	url = xstrfmt("sqlite:%s", f->path);
	assert_int_equal(url_parse(&f->conn.url, url, &f->err), 0);
	free(url);
	f->target = (struct target){ .pipeline = "p",
				     .table = "orders",
				     .mode = LOAD_UPSERT,
				     .schema = &f->schema,
				     .drift = { DRIFT_ADD, DRIFT_WIDEN,
						DRIFT_KEEP } };
	*state = f;
	return 0;
}

static void file_close(struct file *f)
{
	if (f->d)
		f->d->ops->close(f->d);
	f->d = NULL;
}

static int file_unmake(void **state)
{
	struct file *f = *state;
	char *command = xstrfmt("rm -r '%s'", f->directory);

	file_close(f);
	assert_int_equal(system(command), 0);
	free(command);
	if (f->batch.schema)
		batch_release(&f->batch);
	schema_release(&f->schema);
	url_release(&f->conn.url);
	free(f->directory);
	free(f->path);
	free(f);
	return 0;
}

static void file_column(struct file *f, const char *name, enum type_kind kind)
{
	struct type type = { .kind = kind, .digits = 6, .native = (char *)"" };

	schema_add(&f->schema, name, &type, f->schema.n_columns > 0);
}

/* id, and one more column, which is the mark. */
static void file_schema(struct file *f, enum type_kind key, enum type_kind v)
{
	size_t first = 0;

	if (f->batch.schema)
		batch_release(&f->batch);
	schema_release(&f->schema);
	schema_init(&f->schema);
	f->schema.engine = xstrdup("elsewhere");
	f->schema.table = xstrdup("source");
	file_column(f, "id", key);
	file_column(f, "v", v);
	schema_set_key(&f->schema, &first, 1);
	f->schema.mark = 1;
	batch_init(&f->batch, &f->schema);
}

static int file_begin(struct file *f)
{
	struct checkpoint seen;
	int rc;

	file_close(f);
	error_clear(&f->err);
	checkpoint_init(&seen);
	rc = sqlite_destination.open(&f->d, &f->conn, &f->err);
	if (!rc)
		rc = f->d->ops->prepare(f->d, &f->target, &f->err);
	if (!rc)
		rc = f->d->ops->recover(f->d, &f->target, &seen, &f->err);
	checkpoint_release(&seen);
	return -rc;
}

static void file_set(struct file *f, size_t column, const void *value, size_t n)
{
	struct vector *v = &f->batch.vectors[column];

	if (v->width)
		vector_set_fixed(v, f->batch.n_rows, value);
	else
		assert_int_equal(
			vector_set_bytes(v, f->batch.n_rows, value, n, &f->err),
			0);
}

static void file_row(struct file *f, int64_t id, const void *value, size_t n)
{
	batch_reserve_row(&f->batch);
	file_set(f, 0, &id, 8);
	if (value)
		file_set(f, 1, value, n);
	batch_row_done(&f->batch);
}

/* Load what file_row has gathered. */
static int file_load(struct file *f)
{
	struct checkpoint next;
	int rc;

	checkpoint_init(&next);
	next.watermark = xstrdup("{}");
	next.batch_id = xstrfmt("batch-%d", ++f->n_batches);
	next.delivered = xstrdup(f->delivered);
	error_clear(&f->err);
	rc = f->d->ops->load(f->d, &f->batch, &next, &f->counts, &f->err);
	checkpoint_release(&next);
	batch_reset(&f->batch);
	return -rc;
}

static void file_sync(struct file *f, int64_t id, const void *value, size_t n)
{
	if (file_begin(f))
		fail_msg("%s", f->err.message);
	file_row(f, id, value, n);
	if (file_load(f))
		fail_msg("%s", f->err.message);
	file_close(f);
}

static struct sqlite *file_look(struct file *f)
{
	static const struct sqlite_options options = { .create = true,
						       .busy_timeout_us =
							       1000 };
	struct sqlite *db = NULL;

	if (sqlite_open(&db, f->path, &options, &f->err))
		fail_msg("%s", f->err.message);
	return db;
}

static void file_exec(struct file *f, const char *sql)
{
	struct sqlite *db = file_look(f);

	if (sqlite_exec(db, sql, &f->err))
		fail_msg("%s", f->err.message);
	sqlite_close(db);
}

/* The first value of the first row. */
static void file_expect(struct file *f, const char *sql, const char *expected)
{
	struct sqlite *db = file_look(f);
	struct sqlite_statement *st = NULL;

	if (sqlite_prepare(db, &st, sql, &f->err))
		fail_msg("%s", f->err.message);
	assert_int_equal(sqlite_step(st, &f->err), 1);
	assert_string_equal(sqlite_str(st, 0) ? sqlite_str(st, 0) : "NULL",
			    expected);
	sqlite_finalize(st);
	sqlite_close(db);
}

static void test_fit(void **state)
{
	static const struct {
		enum type_kind kind;
		const char *declared;
		bool strict;
		enum fit fit;
	} cases[] = {
		{ TYPE_INT64, "INTEGER", false, FIT_EXACT },
		{ TYPE_INT64, "bigint", false, FIT_EXACT },
		{ TYPE_INT64, "numeric", false, FIT_WIDER },
		{ TYPE_INT64, "", false, FIT_WIDER },
		{ TYPE_INT64, "varchar(20)", false, FIT_WIDER },
		{ TYPE_INT64, "REAL", false, FIT_NARROW },
		{ TYPE_INT32, "REAL", false, FIT_WIDER },
		{ TYPE_BOOL, "BOOLEAN", false, FIT_EXACT },
		{ TYPE_FLOAT64, "DOUBLE PRECISION", false, FIT_EXACT },
		{ TYPE_FLOAT64, "INTEGER", false, FIT_NARROW },
		{ TYPE_FLOAT64, "TEXT", false, FIT_NARROW },
		{ TYPE_DECIMAL, "TEXT", false, FIT_EXACT },
		{ TYPE_DECIMAL, "NUMERIC(10,2)", false, FIT_NARROW },
		{ TYPE_DECIMAL, "DECIMAL", false, FIT_NARROW },
		{ TYPE_DECIMAL, "BLOB", false, FIT_WIDER },
		{ TYPE_UINT64, "INTEGER", false, FIT_GROWS },
		{ TYPE_DECIMAL, "INTEGER", false, FIT_GROWS },
		{ TYPE_DECIMAL, "INTEGER", true, FIT_NARROW },
		{ TYPE_TEXT, "varchar(10)", false, FIT_WIDER },
		{ TYPE_TEXT, "INTEGER", false, FIT_NARROW },
		{ TYPE_TEXT, "STRING", false, FIT_NARROW },
		{ TYPE_JSON, "JSON", false, FIT_NARROW },
		{ TYPE_TIMESTAMPTZ, "TIMESTAMP", false, FIT_WIDER },
		{ TYPE_TIMESTAMPTZ, "INTEGER", false, FIT_NARROW },
		{ TYPE_DATE, "DATE", false, FIT_WIDER },
		{ TYPE_INTERVAL, "INTERVAL", false, FIT_NARROW },
		{ TYPE_UUID, "UUID", false, FIT_WIDER },
		{ TYPE_BYTES, "BLOB", false, FIT_EXACT },
		{ TYPE_BYTES, "INTEGER", false, FIT_NARROW },
		{ TYPE_INT64, "INT", true, FIT_EXACT },
		{ TYPE_INT64, "TEXT", true, FIT_NARROW },
		{ TYPE_TEXT, "BLOB", true, FIT_NARROW },
		{ TYPE_BYTES, "TEXT", true, FIT_NARROW },
		{ TYPE_UUID, "ANY", true, FIT_WIDER },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (type_fit(cases[i].kind, cases[i].declared,
			     cases[i].strict) != cases[i].fit)
			fail_msg("%s in %s", type_kind_name(cases[i].kind),
				 cases[i].declared);
}

static void test_versions(void **state)
{
	static const struct {
		enum version_order order;
		const char *older, *newer; /* equal: one is as new */
	} cases[] = {
		{ VERSION_INSTANT, "2026-01-31", "2026-02-01" },
		{ VERSION_INSTANT, "2026-01-31 12:00:00+00:00",
		  "2026-01-31 12:00:00.000001+00:00" },
		{ VERSION_INSTANT, "2026-01-31 12:00:00.12+00:00",
		  "2026-01-31 12:00:00.123+00:00" },
		{ VERSION_INSTANT, "9999-12-31 23:59:59+00:00",
		  "10000-01-01 00:00:00+00:00" },
		{ VERSION_INSTANT, "0044-03-15 12:00:00+00:00 BC",
		  "0001-01-01 00:00:00+00:00" },
		{ VERSION_INSTANT, "0045-03-15 12:00:00+00:00 BC",
		  "0044-03-15 12:00:00+00:00 BC" },
		{ VERSION_INSTANT, "-infinity", "0044-03-15 12:00:00 BC" },
		{ VERSION_INSTANT, "290000-12-31 00:00:00", "infinity" },
		{ VERSION_INSTANT, "2026-01-31 12:00:00+05:00",
		  "2026-01-31 12:00:00+00:00" },
		{ VERSION_NUMBER, "9", "10" },
		{ VERSION_NUMBER, "9999999999999999999",
		  "10000000000000000000" },
		{ VERSION_NUMBER, "-10", "-9" },
		{ VERSION_NUMBER, "-0.5", "0" },
		{ VERSION_NUMBER, "0.09", "0.1" },
		{ VERSION_NUMBER, "007.5", "7.50001" },
		{ VERSION_NUMBER, "-Infinity", "-5" },
		{ VERSION_NUMBER, "12", "Infinity" },
		{ VERSION_NUMBER, "Infinity", "NaN" },
		{ VERSION_TEXT, "a", "b" },
		{ VERSION_TEXT, "a", "aa" },
	};
	static const char *const same[][2] = { { "1.5", "1.500" },
					       { "0", "-0.00" },
					       { "0.0", "0" },
					       { "100", "100.0" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *a = cases[i].older, *b = cases[i].newer;

		if (!version_is_current(cases[i].order, b, strlen(b), a,
					strlen(a)))
			fail_msg("%s is not newer than %s", b, a);
		if (version_is_current(cases[i].order, a, strlen(a), b,
				       strlen(b)))
			fail_msg("%s is not older than %s", a, b);
	}
	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		for (int k = 0; k < 2; k++)
			assert_true(version_is_current(
				VERSION_NUMBER, same[i][k], strlen(same[i][k]),
				same[i][!k], strlen(same[i][!k])));
	assert_true(version_is_current(VERSION_TEXT, NULL, 0, NULL, 0));
	assert_true(version_is_current(VERSION_TEXT, "", 0, NULL, 0));
	assert_false(version_is_current(VERSION_TEXT, NULL, 0, "", 0));
}

static void check_double(struct file *f, int64_t id, double x,
			 const char *expected)
{
	char *sql = xstrfmt("SELECT v FROM orders WHERE id = %d", (int)id);

	f->schema.mark = -1;
	file_sync(f, id, &x, 8);
	file_sync(f, id, &x, 8);
	assert_int_equal(f->counts.unchanged, 1);
	file_expect(f, sql, expected);
	free(sql);
}

/* SQLite would make NULL of NaN. */
static void test_floats(void **state)
{
	struct file *f = *state;

	file_schema(f, TYPE_INT64, TYPE_FLOAT64);
	check_double(f, 1, NAN, "NaN");
	check_double(f, 2, INFINITY, "Inf");
	check_double(f, 3, -INFINITY, "-Inf");
	check_double(f, 4, 5e-324, "4.94065645841247e-324");
	check_double(f, 5, -0.0, "0.0");
	file_expect(f, "SELECT typeof(v) FROM orders WHERE id = 2", "real");
}

static void test_uint64(void **state)
{
	struct file *f = *state;
	uint64_t big = UINT64_MAX, small = 9;

	file_schema(f, TYPE_INT64, TYPE_UINT64);
	file_sync(f, 1, &big, 8);
	file_expect(f, "SELECT v FROM orders", "18446744073709551615");
	/* 9 sorts behind 1844... as text, but is older. */
	file_sync(f, 1, &small, 8);
	assert_int_equal(f->counts.unchanged, 1);
	file_expect(f, "SELECT v FROM orders", "18446744073709551615");
}

static void test_instants(void **state)
{
	struct file *f = *state;
	int64_t bc = -2100 * YEAR, far = 9000 * YEAR, most = INT64_MAX;

	file_schema(f, TYPE_INT64, TYPE_TIMESTAMPTZ);
	file_sync(f, 1, &bc, 8);
	file_expect(f, "SELECT v FROM orders WHERE v LIKE '%+00:00 BC'",
		    "0132-12-31 18:00:00+00:00 BC");
	file_sync(f, 1, &far, 8);
	assert_int_equal(f->counts.updated, 1);
	file_sync(f, 1, &bc, 8);
	assert_int_equal(f->counts.unchanged, 1);
	file_sync(f, 1, &most, 8);
	file_expect(f, "SELECT v FROM orders", "infinity");
	file_sync(f, 1, &far, 8);
	assert_int_equal(f->counts.unchanged, 1);
}

/* Of rows read one after the other the last is the newest, whatever its
 * mark. A row that is like it is not appended. */
static void test_append_order(void **state)
{
	struct file *f = *state;
	static const int64_t steps[] = { 5, 4, 4, 6, 4 };
	static const char *const rows[] = { "1", "2", "2", "3", "4" };

	f->target.mode = LOAD_APPEND;
	file_schema(f, TYPE_INT64, TYPE_INT64);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		char *expected = xstrfmt("%d", (int)steps[i]);

		file_sync(f, 1, &steps[i], 8);
		file_expect(f, "SELECT count(*) FROM orders_raw", rows[i]);
		file_expect(f, "SELECT v FROM orders", expected);
		free(expected);
	}
	file_sync(f, 1, NULL, 0);
	file_expect(f, "SELECT v FROM orders", "NULL");
}

/* Written by a version of Tidemark that put the highest mark first. */
static void test_older_view(void **state)
{
	struct file *f = *state;
	int64_t five = 5, four = 4;

	f->target.mode = LOAD_APPEND;
	file_schema(f, TYPE_INT64, TYPE_INT64);
	file_sync(f, 1, &five, 8);
	file_exec(f, "DROP VIEW orders; CREATE VIEW orders AS\n"
		     "SELECT id, v FROM orders_raw ORDER BY v DESC LIMIT 1");
	file_sync(f, 1, &four, 8);
	file_expect(f, "SELECT v FROM orders", "4");
}

/* The kind, texts of stored, new and delivered, and whether new replaces. */
static const struct delivered_case {
	enum type_kind kind;
	const char *stored, *fresh, *delivered;
	bool replaces;
} delivered_cases[] = {
	{ TYPE_INT64, "5", "4", "5", true },
	{ TYPE_INT64, "5", "4", "40", true },
	{ TYPE_INT64, "9", "6", "6", false },
	{ TYPE_INT64, "10", "6", "9", false },
	{ TYPE_INT64, "5", "4", NULL, false },
	{ TYPE_INT64, "9007199254740993", "1", "9007199254740993", true },
	{ TYPE_INT64, "9007199254740993", "1", "9007199254740992", false },
	{ TYPE_UINT64, "10", "4", "10", true },
	{ TYPE_UINT64, "10", "4", "9", false },
	{ TYPE_TIMESTAMPTZ, "2026-01-31 12:00:00.5+00",
	  "2026-01-31 11:00:00+00", "2026-01-31 12:00:00.5+00", true },
	{ TYPE_TIMESTAMPTZ, "2026-01-31 12:00:00+00", "2026-01-31 11:00:00+00",
	  "2026-01-31 12:00:00+00", true },
	{ TYPE_TIMESTAMPTZ, "2026-01-31 12:00:00.500001+00",
	  "2026-01-31 11:00:00+00", "2026-01-31 12:00:00.5+00", false },
	{ TYPE_TIMESTAMPTZ, "2026-01-31 12:00:00+00", "2026-01-31 11:00:00+00",
	  "no time", false },
	{ TYPE_TIMESTAMP, "2026-01-31 12:00:00", "2026-01-31 11:00:00",
	  "2026-01-31 12:00:00", true },
	{ TYPE_TIMESTAMP, "2026-01-31 12:00:00.000001", "2026-01-31 11:00:00",
	  "2026-01-31 12:00:00", false },
};

static void delivered_sync(struct file *f, enum type_kind kind,
			   const char *text, const char *delivered)
{
	int64_t value;

	if (kind == TYPE_INT64 || kind == TYPE_UINT64)
		value = strtoll(text, NULL, 10);
	else
		assert_true(value_parse_timestamp(text, &value));
	f->delivered = delivered;
	file_sync(f, 1, &value, 8);
	f->delivered = NULL;
}

static void check_delivered(struct file *f, enum load_mode mode)
{
	f->target.mode = mode;
	for (size_t i = 0; i < ARRAY_SIZE(delivered_cases); i++) {
		const struct delivered_case *c = &delivered_cases[i];

		file_schema(f, TYPE_INT64, c->kind);
		delivered_sync(f, c->kind, c->stored, NULL);
		delivered_sync(f, c->kind, c->fresh, c->delivered);
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
	check_delivered(*state, LOAD_UPSERT);
}

static void test_delivered_delete_insert(void **state)
{
	check_delivered(*state, LOAD_DELETE_INSERT);
}

static void test_blob_and_empty(void **state)
{
	struct file *f = *state;

	file_schema(f, TYPE_INT64, TYPE_BYTES);
	f->schema.mark = -1;
	file_sync(f, 1, "", 0);
	file_expect(f, "SELECT typeof(v) || length(v) FROM orders", "blob0");
	file_sync(f, 1, "\0x\xff", 3);
	file_expect(f, "SELECT hex(v) FROM orders", "0078FF");
	file_schema(f, TYPE_INT64, TYPE_TEXT);
	f->schema.mark = -1;
	f->target.table = "texts";
	file_sync(f, 1, "", 0);
	file_expect(f, "SELECT typeof(v) || length(v) FROM texts", "text0");
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

static void test_refuses_bending_types(void **state)
{
	struct file *f = *state;

	file_exec(f, "CREATE TABLE orders (id INTEGER PRIMARY KEY,"
		     " v NUMERIC(10,2))");
	file_schema(f, TYPE_INT64, TYPE_DECIMAL);
	assert_int_equal(file_begin(f), ERROR_SCHEMA);
	assert_non_null(strstr(f->err.message, "column v"));
	assert_non_null(strstr(f->err.message, "orders"));
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

/* What is on the old table is on the new one; views go on by name. */
static void test_refresh_keeps_what_hangs_on_it(void **state)
{
	struct file *f = *state;
	struct checkpoint next;

	file_schema(f, TYPE_INT64, TYPE_TEXT);
	f->schema.mark = -1;
	file_sync(f, 1, "a", 1);
	file_exec(f, "ALTER TABLE orders ADD COLUMN mine TEXT DEFAULT 'd';"
		     "CREATE INDEX by_v ON orders (v);"
		     "CREATE TABLE seen (id);"
		     "CREATE TRIGGER note AFTER INSERT ON orders BEGIN"
		     "  INSERT INTO seen VALUES (NEW.id); END;"
		     "CREATE VIEW loud AS SELECT upper(v) AS v FROM orders");
	f->target.refresh = true;
	assert_int_equal(file_begin(f), 0);
	file_row(f, 2, "b", 1);
	assert_int_equal(file_load(f), 0);
	checkpoint_init(&next);
	next.batch_id = xstrdup("last");
	assert_int_equal(f->d->ops->finish(f->d, &next, &f->err), 0);
	checkpoint_release(&next);
	f->target.refresh = false;
	file_expect(f, "SELECT id || v || mine FROM orders", "2bd");
	file_expect(f, "SELECT v FROM loud", "B");
	file_expect(f,
		    "SELECT count(*) FROM sqlite_schema"
		    " WHERE name IN ('by_v', 'note') AND tbl_name = 'orders'",
		    "2");
	file_sync(f, 3, "c", 1);
	file_expect(f, "SELECT group_concat(id) FROM seen", "3");
}

static int file_finish(struct file *f)
{
	struct checkpoint next;
	int rc;

	checkpoint_init(&next);
	next.watermark = xstrdup("{}");
	next.batch_id = xstrdup("finished");
	error_clear(&f->err);
	rc = f->d->ops->finish(f->d, &next, &f->err);
	checkpoint_release(&next);
	return -rc;
}

/* A table with the row 1a, and a refresh of it that has read 1b. */
static void file_refresh(struct file *f)
{
	file_schema(f, TYPE_INT64, TYPE_TEXT);
	f->schema.mark = -1;
	file_sync(f, 1, "a", 1);
	f->target.refresh = true;
	assert_int_equal(file_begin(f), 0);
	file_row(f, 1, "b", 1);
	assert_int_equal(file_load(f), 0);
}

/* The second of one process may take over: it is the retry of the first. */
static void test_refresh_overtaken(void **state)
{
	struct file *f = *state;
	struct destination *first, *second;

	file_refresh(f);
	first = f->d;
	f->d = NULL;
	assert_int_equal(file_begin(f), 0);
	second = f->d;
	file_row(f, 2, "c", 1);
	assert_int_equal(file_load(f), 0);
	f->d = first;
	file_row(f, 3, "d", 1);
	assert_int_equal(file_load(f), ERROR_STATE);
	assert_non_null(strstr(f->err.message, "another run of p has taken"));
	assert_int_equal(file_finish(f), ERROR_STATE);
	file_close(f);
	f->d = second;
	file_expect(f, "SELECT group_concat(id || v) FROM orders", "1a");
	assert_int_equal(file_finish(f), 0);
	file_expect(f, "SELECT group_concat(id || v) FROM orders", "2c");
	file_expect(f, "SELECT batch_id FROM _tidemark_watermark", "finished");
}

static void file_set_owner(struct file *f, int64_t pid, const char *start)
{
	char *sql = xstrfmt("UPDATE _tidemark_watermark SET batch_id ="
			    " 'refresh-0123456789abcdef-%d-%s'",
			    (int)pid, start);

	file_exec(f, sql);
	free(sql);
}

/* One that lives is left alone by every other process. */
static void test_refresh_of_live_process(void **state)
{
	struct file *f = *state;
	char *start = process_start(getppid());
	char *pid = xstrfmt("process %d ", (int)getppid());

	file_refresh(f);
	file_set_owner(f, getppid(), start);
	for (int refresh = 0; refresh < 2; refresh++) {
		f->target.refresh = refresh;
		assert_int_equal(file_begin(f), ERROR_STATE);
		assert_non_null(strstr(f->err.message, pid));
		file_expect(f,
			    "SELECT count(*) FROM sqlite_schema"
			    " WHERE name LIKE '_tidemark_stage%'",
			    "1");
	}
	free(start);
	free(pid);
}

static void test_refresh_of_dead_process(void **state)
{
	struct file *f = *state;

	file_refresh(f);
	/* The number is taken again, by a process of another start. */
	file_set_owner(f, getppid(), "boot/1");
	f->target.refresh = false;
	assert_int_equal(file_begin(f), 0);
	file_expect(f,
		    "SELECT count(*) FROM sqlite_schema"
		    " WHERE name LIKE '_tidemark_stage%'",
		    "0");
	file_row(f, 2, "c", 1);
	assert_int_equal(file_load(f), 0);
	file_expect(f, "SELECT group_concat(id || v) FROM orders", "1a,2c");
}

static void test_refresh_ends_early(void **state)
{
	struct file *f = *state;

	file_refresh(f);
	file_close(f);
	file_expect(f,
		    "SELECT substr(batch_id, 1, 13) FROM _tidemark_watermark",
		    "left-refresh-");
	file_expect(f, "SELECT watermark FROM _tidemark_watermark", "{}");
}

static void test_refresh_counts_rows(void **state)
{
	struct file *f = *state;
	char *stage = name_stage("p");
	char *sql = xstrfmt("DELETE FROM %s", stage);

	file_refresh(f);
	file_exec(f, sql);
	assert_int_equal(file_finish(f), ERROR_BUG);
	assert_non_null(strstr(f->err.message, "0 rows, but 1"));
	file_expect(f, "SELECT group_concat(id || v) FROM orders", "1a");
	free(sql);
	free(stage);
}

/* A table that is built anew for a wider type keeps what hangs on it. */
static void test_widened_table_is_whole(void **state)
{
	struct file *f = *state;
	int64_t big = INT64_MAX;

	file_schema(f, TYPE_INT64, TYPE_INT64);
	f->schema.mark = -1;
	file_sync(f, 1, &big, 8);
	file_exec(f, "ALTER TABLE orders ADD COLUMN note TEXT DEFAULT 'mine';"
		     "CREATE INDEX by_v ON orders (v);"
		     "CREATE VIEW seen AS SELECT note, v FROM orders;"
		     "CREATE TRIGGER t AFTER INSERT ON orders "
		     "BEGIN UPDATE orders SET note = 'new' WHERE id = NEW.id; "
		     "END");
	file_schema(f, TYPE_INT64, TYPE_DECIMAL);
	f->schema.mark = -1;
	file_sync(f, 2, "9223372036854775807.01", 22);
	file_expect(f, "SELECT group_concat(v || note) FROM seen",
		    "9223372036854775807mine,9223372036854775807.01new");
	file_expect(f,
		    "SELECT group_concat(typeof(v)) FROM orders INDEXED BY "
		    "by_v WHERE v > ''",
		    "text,text");
	file_expect(f, "SELECT count(*) FROM sqlite_schema", "6");
	assert_int_equal(file_begin(f), 0);
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

#define IN_FILE(f) cmocka_unit_test_setup_teardown(f, file_make, file_unmake)

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_fit),
		cmocka_unit_test(test_versions),
		IN_FILE(test_floats),
		IN_FILE(test_uint64),
		IN_FILE(test_instants),
		IN_FILE(test_append_order),
		IN_FILE(test_older_view),
		IN_FILE(test_delivered),
		IN_FILE(test_delivered_delete_insert),
		IN_FILE(test_blob_and_empty),
		IN_FILE(test_looking_makes_no_file),
		IN_FILE(test_journal_mode),
		IN_FILE(test_key_without_case),
		IN_FILE(test_column_without_case),
		IN_FILE(test_conflict_clauses),
		IN_FILE(test_value_of_an_expression),
		IN_FILE(test_refuses_bending_types),
		IN_FILE(test_names_differ_by_case),
		IN_FILE(test_other_schema),
		IN_FILE(test_refresh_keeps_what_hangs_on_it),
		IN_FILE(test_refresh_overtaken),
		IN_FILE(test_refresh_of_live_process),
		IN_FILE(test_refresh_of_dead_process),
		IN_FILE(test_refresh_ends_early),
		IN_FILE(test_refresh_counts_rows),
		IN_FILE(test_widened_table_is_whole),
		IN_FILE(test_full_disk),
		IN_FILE(test_busy_file),
		IN_FILE(test_other_files),
		IN_FILE(test_interrupt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
