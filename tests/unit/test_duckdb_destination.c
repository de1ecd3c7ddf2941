/* What the DuckDB destination decides and converts by itself; what it has in
 * common with the others is in the contract suite. */
#include <stdio.h>
#include <unistd.h>

#include "clients/duckdb_errors.h"
#include "core/data/value.h"
#include "destinations/common/names.h"
#include "destinations/duckdb/internal.h"
#include "tests/unit/unit.h"

/* text, precision, scale, value as it comes out; NULL: refused */
static const struct decimal_case {
	const char *text;
	unsigned precision, scale;
	const char *value;
} decimals[] = {
	{ "0", 4, 2, "0" },
	{ "-0.00", 4, 2, "0" },
	{ "12.34", 4, 2, "1234" },
	{ "-12.34", 4, 2, "-1234" },
	{ "12.3", 4, 2, "1230" },
	{ "12.340", 4, 2, "1234" },
	{ "12.345", 4, 2, NULL },
	{ "123.45", 4, 2, NULL },
	{ "100", 4, 2, NULL },
	{ "0.05", 2, 2, "5" },
	{ ".5", 2, 1, "5" },
	{ "007", 1, 0, "7" },
	{ "99999999999999999999999999999999999999", 38, 0,
	  "99999999999999999999999999999999999999" },
	{ "-9.9999999999999999999999999999999999999", 38, 37,
	  "-99999999999999999999999999999999999999" },
	{ "100000000000000000000000000000000000000", 38, 0, NULL },
	{ "99999999999999999999999999999999999999999", 38, 0, NULL },
	{ "9999999999999999999999999999", 38, 20, NULL },
	{ "NaN", 10, 2, NULL },
	{ "Infinity", 10, 2, NULL },
	{ "-", 10, 2, NULL },
	{ "", 10, 2, NULL },
	{ ".", 10, 2, NULL },
	{ "1.2.3", 10, 2, NULL },
	{ "1e3", 10, 2, NULL },
	{ "+1", 10, 2, NULL },
	{ " 1", 10, 2, NULL },
};

/* What DuckDB says, and as an appender says it: type and text apart. */
static const struct {
	const char *text;
	int type; /* of enum duckdb_error_type */
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

static const char *decimal_text(duckdb_hugeint x, char out[48])
{
	bool negative = x < 0;
	char *at = out + 47;

	*at = '\0';
	do {
		int digit = (int)(x % 10);

		*--at = (char)('0' + (digit < 0 ? -digit : digit));
		x /= 10;
	} while (x);
	if (negative)
		*--at = '-';
	return at;
}

static void test_decimal(void **state)
{
	char text[48];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(decimals); i++) {
		const struct decimal_case *c = &decimals[i];
		duckdb_hugeint x = 0;
		bool ok = duckdb_decimal_parse((const uint8_t *)c->text,
					       strlen(c->text), c->precision,
					       c->scale, &x);

		if (ok != (c->value != NULL))
			fail_msg("%s: %s", c->text, ok ? "taken" : "refused");
		if (ok)
			assert_string_equal(decimal_text(x, text), c->value);
	}
}

/* text, what stays */
static const char *const trims[][2] = {
	{ "1.10", "1.1" }, { "1.00", "1" },  { "100", "100" },
	{ "0.0", "0" },	   { "NaN", "NaN" }, { "-2.50", "-2.5" },
};

static void test_trim(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(trims); i++)
		assert_int_equal(
			duckdb_decimal_trim((const uint8_t *)trims[i][0],
					    strlen(trims[i][0])),
			strlen(trims[i][1]));
}

/* kind, precision, scale, existing type, how it fits, what it grows to */
static const struct fit_case {
	enum type_kind kind;
	int precision, scale;
	const char *actual;
	enum fit fit;
	const char *grown;
} fits[] = {
	{ TYPE_INT32, 0, 0, "INTEGER", FIT_EXACT, "" },
	{ TYPE_INT32, 0, 0, "BIGINT", FIT_WIDER, "" },
	{ TYPE_INT32, 0, 0, "HUGEINT", FIT_WIDER, "" },
	{ TYPE_INT32, 0, 0, "DECIMAL(10,0)", FIT_WIDER, "" },
	{ TYPE_INT32, 0, 0, "DECIMAL(10,1)", FIT_GROWS, "DECIMAL(11,1)" },
	{ TYPE_INT32, 0, 0, "DOUBLE", FIT_WIDER, "" },
	{ TYPE_INT64, 0, 0, "DOUBLE", FIT_NARROW, "" },
	{ TYPE_INT64, 0, 0, "INTEGER", FIT_GROWS, "BIGINT" },
	{ TYPE_UINT64, 0, 0, "BIGINT", FIT_GROWS, "DECIMAL(20,0)" },
	{ TYPE_FLOAT64, 0, 0, "FLOAT", FIT_GROWS, "DOUBLE" },
	{ TYPE_FLOAT32, 0, 0, "DOUBLE", FIT_WIDER, "" },
	{ TYPE_DECIMAL, 12, 2, "DECIMAL(12,2)", FIT_EXACT, "" },
	{ TYPE_DECIMAL, 12, 2, "DECIMAL(14,3)", FIT_WIDER, "" },
	{ TYPE_DECIMAL, 12, 2, "DECIMAL(12,3)", FIT_GROWS, "DECIMAL(13,3)" },
	{ TYPE_DECIMAL, 12, 2, "DOUBLE", FIT_NARROW, "" },
	{ TYPE_DECIMAL, 0, 0, "DECIMAL(38,10)", FIT_GROWS, "VARCHAR" },
	{ TYPE_DECIMAL, 0, 0, "VARCHAR", FIT_EXACT, "" },
	{ TYPE_DECIMAL, 3, -2, "DECIMAL(5,0)", FIT_EXACT, "" },
	{ TYPE_DECIMAL, 2, 4, "DECIMAL(4,4)", FIT_EXACT, "" },
	{ TYPE_DECIMAL, 39, 0, "VARCHAR", FIT_EXACT, "" },
	{ TYPE_TEXT, 0, 0, "INTEGER", FIT_GROWS, "VARCHAR" },
	{ TYPE_TEXT, 0, 0, "BLOB", FIT_NARROW, "" },
	{ TYPE_BYTES, 0, 0, "VARCHAR", FIT_NARROW, "" },
	{ TYPE_TIMESTAMPTZ, 0, 0, "TIMESTAMP", FIT_NARROW, "" },
	{ TYPE_UUID, 0, 0, "VARCHAR", FIT_WIDER, "" },
	{ TYPE_JSON, 0, 0, "JSON", FIT_EXACT, "" },
};

static void test_fit(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fits); i++) {
		const struct fit_case *c = &fits[i];
		struct type type = { c->kind, c->precision, c->scale, 6, NULL };
		char grown[DUCKDB_TYPE_SIZE] = "";
		struct duckdb_type wanted;
		enum fit fit;

		duckdb_type_of(&wanted, &type, true);
		fit = duckdb_type_fit(&wanted, c->actual, grown);
		if (fit != c->fit || strcmp(grown, c->grown) != 0)
			fail_msg("%s into %s: %d %s", wanted.text, c->actual,
				 fit, grown);
	}
}

/* One row with a value of each kind that has no text of its own. */
struct values {
	struct schema schema;
	struct batch batch;
};

static void values_column(struct values *v, const char *name,
			  enum type_kind kind, int precision)
{
	struct type type = { kind, precision, 2, 6, (char *)"" };

	schema_add(&v->schema, name, &type, true);
}

static void values_init(struct values *v, const char *amount)
{
	static const uint8_t uuid[16] = { 0xa0, 0xee, 0xbc, 0x99, 0x9c, 0x0b,
					  0x4e, 0xf8, 0xbb, 0x6d, 0x6b, 0xb9,
					  0xbd, 0x38, 0x0a, 0x11 };
	const struct interval_value interval = { -1, -2, 14 };
	const int64_t id = 7, day_end = INT64_C(86400000000);
	const int32_t never = INT32_MIN;
	const int64_t ever = INT64_MAX;
	size_t key = 0;

	schema_init(&v->schema);
	values_column(v, "id", TYPE_INT64, 0);
	values_column(v, "u", TYPE_UUID, 0);
	values_column(v, "i", TYPE_INTERVAL, 0);
	values_column(v, "d", TYPE_DATE, 0);
	values_column(v, "t", TYPE_TIMESTAMPTZ, 0);
	values_column(v, "h", TYPE_TIME, 0);
	values_column(v, "b", TYPE_BYTES, 0);
	values_column(v, "m", TYPE_DECIMAL, 30);
	schema_set_key(&v->schema, &key, 1);
	v->schema.mark = -1;
	batch_init(&v->batch, &v->schema);
	batch_reserve_row(&v->batch);
	vector_set_fixed(&v->batch.vectors[0], 0, &id);
	vector_set_fixed(&v->batch.vectors[1], 0, uuid);
	vector_set_fixed(&v->batch.vectors[2], 0, &interval);
	vector_set_fixed(&v->batch.vectors[3], 0, &never);
	vector_set_fixed(&v->batch.vectors[4], 0, &ever);
	vector_set_fixed(&v->batch.vectors[5], 0, &day_end);
	vector_set_bytes(&v->batch.vectors[6], 0, "\0\xff", 2, NULL);
	vector_set_bytes(&v->batch.vectors[7], 0, amount, strlen(amount), NULL);
	batch_row_done(&v->batch);
}

/* The code of the load; `text` (may be NULL) gets the row as DuckDB prints
 * it. */
static int values_load(struct values *v, char **text, struct error *err)
{
	char directory[] = "/tmp/tidemark-duckdb-XXXXXX";
	char *path = xstrfmt("%s/w.db", mkdtemp(directory));
	char *url = xstrfmt("duckdb:%s", path);
	struct connection conn = { .name = (char *)"w" };
	struct target target = { .pipeline = "p",
				 .table = "v",
				 .schema = &v->schema };
	struct checkpoint next = { .watermark = (char *)"{}",
				   .batch_id = (char *)"b" };
	const struct destination_ops *ops = &duckdb_destination;
	struct destination *d = NULL;
	struct duck_result *r = NULL;
	struct load_counts counts;
	int rc;

	assert_int_equal(url_parse(&conn.url, url, err), 0);
	assert_int_equal(ops->open(&d, &conn, err), 0);
	assert_int_equal(ops->prepare(d, &target, err), 0);
	rc = ops->load(d, &v->batch, &next, &counts, err);
	if (text) {
		assert_int_equal(
			duck_query(((struct duckdb_destination *)d)->db, &r,
				   "SELECT concat_ws('|', u, i, d, t, h, b, m) "
				   "FROM v",
				   NULL, 0, err),
			0);
		assert_true(duck_next(r));
		*text = duck_str(r, 0);
		duck_result_free(r);
	}
	ops->close(d);
	unlink(path);
	rmdir(directory);
	url_release(&conn.url);
	free(url);
	free(path);
	return rc;
}

static void values_release(struct values *v)
{
	batch_release(&v->batch);
	schema_release(&v->schema);
}

static void test_values(void **state)
{
	struct error err = ERROR_INIT;
	struct values v;
	char *text = NULL;

	(void)state;
	values_init(&v, "-1234567890123456789012345678.90");
	assert_int_equal(values_load(&v, &text, &err), 0);
	assert_string_equal(text, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11|"
				  "1 year 2 months -2 days -00:00:00.000001|"
				  "-infinity|infinity|24:00:00|\\x00\\xFF|"
				  "-1234567890123456789012345678.90");
	free(text);
	values_release(&v);
}

static void test_value_refused(void **state)
{
	static const char *const amounts[] = {
		"NaN", "1.001", "99999999999999999999999999999"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(amounts); i++) {
		struct error err = ERROR_INIT;
		struct values v;

		values_init(&v, amounts[i]);
		assert_int_equal(values_load(&v, NULL, &err), -ERROR_DATA);
		assert_non_null(strstr(err.message, "column m"));
		assert_non_null(strstr(err.message, "id=7"));
		assert_non_null(strstr(err.message, "DECIMAL(30,2)"));
		values_release(&v);
	}
}

/* The file's lock keeps other processes out; what is left is a second writer
 * in this one. */
static void test_other_writer(void **state)
{
	const struct destination_ops *ops = &duckdb_destination;
	char directory[] = "/tmp/tidemark-duckdb-XXXXXX";
	char *path = xstrfmt("%s/w.db", mkdtemp(directory));
	char *url = xstrfmt("duckdb:%s", path);
	struct connection conn = { .name = (char *)"w" };
	struct checkpoint next = { .watermark = (char *)"{}",
				   .batch_id = (char *)"first" };
	struct destination *a = NULL, *b = NULL;
	struct error err = ERROR_INIT;
	struct load_counts counts;
	struct values v;

	(void)state;
	values_init(&v, "1.00");
	struct target target = { .pipeline = "p",
				 .table = "v",
				 .schema = &v.schema };
	assert_int_equal(url_parse(&conn.url, url, &err), 0);
	assert_int_equal(ops->open(&a, &conn, &err), 0);
	assert_int_equal(ops->prepare(a, &target, &err), 0);
	assert_int_equal(ops->open(&b, &conn, &err), 0);
	assert_int_equal(ops->prepare(b, &target, &err), 0);
	assert_int_equal(ops->load(a, &v.batch, &next, &counts, &err), 0);
	assert_int_equal(counts.inserted, 1);
	next.batch_id = (char *)"second";
	assert_int_equal(ops->load(b, &v.batch, &next, &counts, &err),
			 -ERROR_STATE);
	error_clear(&err);
	next.batch_id = (char *)"third";
	assert_int_equal(ops->load(a, &v.batch, &next, &counts, &err), 0);
	assert_int_equal(counts.unchanged, 1);
	ops->close(a);
	ops->close(b);
	unlink(path);
	rmdir(directory);
	url_release(&conn.url);
	free(url);
	free(path);
	values_release(&v);
}

/* A file, a source's table (id; v, the mark), and what was loaded last. */
struct file {
	char *directory, *path;
	struct connection conn;
	struct schema schema;
	struct target target;
	struct destination *d;
	struct error err;
	struct load_counts counts;
	int n_batches;
};

static int file_make(void **state)
{
	struct file *f = xcalloc(1, sizeof(*f));
	char template[] = "/tmp/tidemark-duckdb-XXXXXX";
	char *url;

	f->directory = xstrdup(mkdtemp(template));
	f->path = xstrfmt("%s/w.db", f->directory);
	url = xstrfmt("duckdb:%s", f->path);
	assert_int_equal(url_parse(&f->conn.url, url, &f->err), 0);
	free(url);
	f->target = (struct target){ .pipeline = "p",
				     .table = "orders",
				     .schema = &f->schema };
	*state = f;
	return 0;
}

static void file_close(struct file *f)
{
	duckdb_destination.close(f->d);
	f->d = NULL;
}

static int file_unmake(void **state)
{
	struct file *f = *state;
	char *command = xstrfmt("rm -r '%s'", f->directory);

	file_close(f);
	assert_int_equal(system(command), 0);
	free(command);
	schema_release(&f->schema);
	url_release(&f->conn.url);
	free(f->directory);
	free(f->path);
	free(f);
	return 0;
}

static void file_schema(struct file *f, enum type_kind mark)
{
	struct type id = { .kind = TYPE_INT64, .native = (char *)"" };
	struct type v = { .kind = mark, .digits = 6, .native = (char *)"" };
	size_t key = 0;

	schema_release(&f->schema);
	schema_init(&f->schema);
	schema_add(&f->schema, "id", &id, false);
	schema_add(&f->schema, "v", &v, true);
	schema_set_key(&f->schema, &key, 1);
	f->schema.mark = 1;
}

static int file_begin(struct file *f)
{
	struct checkpoint seen;
	int rc;

	error_clear(&f->err);
	checkpoint_init(&seen);
	rc = duckdb_destination.open(&f->d, &f->conn, &f->err);
	if (!rc)
		rc = f->d->ops->prepare(f->d, &f->target, &f->err);
	if (!rc)
		rc = f->d->ops->recover(f->d, &f->target, &seen, &f->err);
	checkpoint_release(&seen);
	return -rc;
}

/* One row; `value` NULL: its mark is NULL. */
static int file_load(struct file *f, int64_t id, const int64_t *value,
		     const char *delivered)
{
	char *batch_id = xstrfmt("batch-%d", ++f->n_batches);
	struct checkpoint next = { .watermark = (char *)"{}",
				   .batch_id = batch_id,
				   .rows_total = f->n_batches,
				   .delivered = (char *)delivered };
	struct batch b;
	int rc;

	batch_init(&b, &f->schema);
	batch_reserve_row(&b);
	vector_set_fixed(&b.vectors[0], 0, &id);
	if (value)
		vector_set_fixed(&b.vectors[1], 0, value);
	else
		vector_set_null(&b.vectors[1], 0);
	batch_row_done(&b);
	error_clear(&f->err);
	rc = f->d->ops->load(f->d, &b, &next, &f->counts, &f->err);
	batch_release(&b);
	free(batch_id);
	return -rc;
}

static int file_finish(struct file *f)
{
	struct checkpoint next = { .watermark = (char *)"{}",
				   .batch_id = (char *)"finished" };

	error_clear(&f->err);
	return -f->d->ops->finish(f->d, &next, &f->err);
}

static void file_sync(struct file *f, int64_t id, const int64_t *value,
		      const char *delivered)
{
	if (file_begin(f) || file_load(f, id, value, delivered))
		fail_msg("%s", f->err.message);
	file_close(f);
}

/* Through the destination's own handle while there is one. */
static struct duck *file_look(struct file *f)
{
	struct duck *db = NULL;

	error_clear(&f->err);
	if (f->d)
		return ((struct duckdb_destination *)f->d)->db;
	if (duck_open(&db, f->path, NULL, 0, &f->err))
		fail_msg("%s", f->err.message);
	return db;
}

static void file_exec(struct file *f, const char *sql)
{
	struct duck *db = file_look(f);

	if (duck_exec(db, sql, &f->err))
		fail_msg("%s", f->err.message);
	if (!f->d)
		duck_close(db);
}

/* The first value of the first row. */
static void file_expect(struct file *f, const char *sql, const char *expected)
{
	struct duck *db = file_look(f);
	struct duck_result *r = NULL;
	char *text;

	if (duck_query(db, &r, sql, NULL, 0, &f->err))
		fail_msg("%s", f->err.message);
	assert_true(duck_next(r));
	text = duck_is_null(r, 0) ? xstrdup("NULL") : duck_str(r, 0);
	duck_result_free(r);
	if (!f->d)
		duck_close(db);
	assert_string_equal(text, expected);
	free(text);
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
	assert_int_equal(file_finish(f), ERROR_BUG);
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

/* Of rows read one after the other the last is the newest, whatever its
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
	assert_int_equal(duckdb_destination.open(&f->d, &f->conn, &f->err), 0);
	assert_int_equal(f->d->ops->inspect(f->d, &f->target, &found, &f->err),
			 0);
	assert_int_equal(found.ddl.n, 0);
	inspection_release(&found);
}

static void file_warns(struct file *f, const char *code)
{
	struct inspection found;

	inspection_init(&found);
	assert_int_equal(duckdb_destination.open(&f->d, &f->conn, &f->err), 0);
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
		assert_int_equal(duckdb_destination.open(&d, &conn, &err),
				 -ERROR_CONFIG);
		assert_null(d);
		url_release(&conn.url);
	}
	assert_int_not_equal(access("/tmp/x.db", F_OK), 0);
}

#define IN_FILE(f) cmocka_unit_test_setup_teardown(f, file_make, file_unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_decimal),
		cmocka_unit_test(test_trim),
		cmocka_unit_test(test_fit),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_value_refused),
		cmocka_unit_test(test_other_writer),
		IN_FILE(test_refresh_overtaken),
		IN_FILE(test_refresh_left_behind),
		IN_FILE(test_refresh_counts_rows),
		IN_FILE(test_delivered),
		IN_FILE(test_delivered_in_place),
		IN_FILE(test_append_order),
		IN_FILE(test_older_view),
		IN_FILE(test_key_without_order),
		IN_FILE(test_file_in_making),
		cmocka_unit_test(test_url_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
