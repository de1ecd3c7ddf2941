/* Types and values in the DuckDB destination: decimals, how a type fits an
 * existing one, a row with a value of each kind. */
#include <stdio.h>
#include <unistd.h>

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
		bool ok = duckdb_target_decimal_parse(
			(const uint8_t *)c->text, strlen(c->text), c->precision,
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
			duckdb_target_decimal_trim((const uint8_t *)trims[i][0],
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

		duckdb_target_type_of(&wanted, &type, true);
		fit = duckdb_target_type_fit(&wanted, c->actual, grown);
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
	const struct destination_ops *ops = &duckdb_target_destination;
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
			duck_query(((struct duckdb_target_destination *)d)->db,
				   &r,
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decimal),
		cmocka_unit_test(test_trim),
		cmocka_unit_test(test_fit),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_value_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
