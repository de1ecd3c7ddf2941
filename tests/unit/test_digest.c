#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/canonical.h"
#include "core/data/digest_rows.h"

/* text, canonical form */
static const char *const numbers[][2] = {
	{ "0", "0" },
	{ "-0", "0" },
	{ "0.00", "0" },
	{ "-0.0e7", "0" },
	{ "000", "0" },
	{ "1", "1" },
	{ "1.10", "11e-1" },
	{ "01.1", "11e-1" },
	{ "+1.1", "11e-1" },
	{ "11e-1", "11e-1" },
	{ ".5", "5e-1" },
	{ "5.", "5" },
	{ "0.001", "1e-3" },
	{ "1e3", "1e3" },
	{ "1E+03", "1e3" },
	{ "1000", "1e3" },
	{ "-1000.000", "1e3-" },
	{ "100.001", "100001e-3" },
	{ "123456789012345678901234567890.10",
	  "1234567890123456789012345678901e-1" },
	{ "NaN", "NaN" },
	{ "Infinity", "Infinity" },
	{ "-Infinity", "-Infinity" },
	{ "", "" },
	{ "-", "-" },
	{ ".", "." },
	{ "1.2.3", "1.2.3" },
	{ "1e", "1e" },
	{ "1e99999999999999999999", "1e99999999999999999999" },
};

/* JSON, canonical form */
static const char *const documents[][2] = {
	{ "null", "null" },
	{ " true ", "true" },
	{ "1.10", "11e-1" },
	{ "\"a\"", "\"a\"" },
	{ "[ ]", "[]" },
	{ "{ }", "{}" },
	{ "[1, 2.0,\"x\"]", "[1,2,\"x\",]" },
	{ "{\"b\": 1, \"a\": [ ]}", "{\"a\":[],\"b\":1,}" },
	{ "{\"a\": [], \"b\": 1.0}", "{\"a\":[],\"b\":1,}" },
	{ "{\"aa\":1,\"a\":2,\"B\":3}", "{\"B\":3,\"a\":2,\"aa\":1,}" },
	{ "{\"a\":1,\"a\":2}", "{\"a\":2,}" },
	{ "{\"a\":1,\"b\":0,\"a\":2}", "{\"a\":2,\"b\":0,}" },
	{ "{\"z\":{\"y\":1,\"x\":{\"b\":1,\"a\":2}},\"a\":0}",
	  "{\"a\":0,\"z\":{\"x\":{\"a\":2,\"b\":1,},\"y\":1,},}" },
	{ "\"\\u0041\\/\\n\\\"\\\\\"", "\"A/\n\\\"\\\\\"" },
	{ "\"\\u00e9\"", "\"\xc3\xa9\"" },
	{ "\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\"" },
	{ "\"\\ud83dx\"", "\"\xed\xa0\xbdx\"" },
	{ "\"\\ud83d\\u0041\"", "\"\xed\xa0\xbd"
				"A\"" },
	{ "{\"\\u0062\":1,\"a\":2}", "{\"a\":2,\"b\":1,}" },
	{ "[12345678901234567890123, 0.1000000000000000000000001]",
	  "[12345678901234567890123,1000000000000000000000001e-25,]" },
	/* A text that is not JSON stays as it is, marked. */
	{ "", "\xff" },
	{ "nul", "\xffnul" },
	{ "{", "\xff{" },
	{ "[1,]", "\xff[1,]" },
	{ "[1] x", "\xff[1] x" },
	{ "{\"a\"}", "\xff{\"a\"}" },
	{ "{a:1}", "\xff{a:1}" },
	{ "\"a", "\xff\"a" },
	{ "\"\\x\"", "\xff\"\\x\"" },
	{ "\"\\u12\"", "\xff\"\\u12\"" },
	{ "\"\\", "\xff\"\\" },
	{ "+1", "\xff+1" },
};

static void test_canonical(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		strbuf_reset(&sb);
		strbuf_addstr(&sb, "before:");
		canonical_number(&sb, numbers[i][0], strlen(numbers[i][0]));
		assert_memory_equal(sb.data, "before:", 7);
		assert_string_equal(sb.data + 7, numbers[i][1]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
		strbuf_reset(&sb);
		strbuf_addstr(&sb, "before:");
		canonical_json(&sb, documents[i][0], strlen(documents[i][0]));
		assert_memory_equal(sb.data, "before:", 7);
		assert_string_equal(sb.data + 7, documents[i][1]);
	}
	strbuf_release(&sb);
}

static void test_deep_json(void **state)
{
	const size_t depth = 100000;
	struct strbuf sb = STRBUF_INIT;
	char *text = xmalloc(depth);

	(void)state;
	memset(text, '[', depth);
	canonical_json(&sb, text, depth);
	assert_int_equal(sb.len, depth + 1);
	free(text);
	strbuf_release(&sb);
}

/* A value of one column, as the tables below write it. */
struct cell {
	enum type_kind kind;
	const char *text; /* variable, NULL: SQL NULL */
	double number; /* fixed */
};

static void put_number(struct vector *v, size_t row, double number)
{
	int16_t i16 = (int16_t)number;
	int32_t i32 = (int32_t)number;
	int64_t i64 = (int64_t)number;
	uint8_t flag = number != 0;
	float f32 = (float)number;

	switch (v->kind) {
	case TYPE_BOOL:
		vector_set_fixed(v, row, &flag);
		break;
	case TYPE_INT16:
		vector_set_fixed(v, row, &i16);
		break;
	case TYPE_INT32:
	case TYPE_DATE:
		vector_set_fixed(v, row, &i32);
		break;
	case TYPE_FLOAT32:
		vector_set_fixed(v, row, &f32);
		break;
	case TYPE_FLOAT64:
		vector_set_fixed(v, row, &number);
		break;
	default:
		vector_set_fixed(v, row, &i64);
	}
}

static void put_cell(struct vector *v, size_t row, const struct cell *cell)
{
	bool is_nan = cell->text && isnan(cell->number);

	if (v->width && (is_nan || !isnan(cell->number)))
		put_number(v, row, cell->number);
	else if (cell->text)
		vector_set_bytes(v, row, cell->text, strlen(cell->text), NULL);
	else
		vector_set_null(v, row);
}

/* Rows of `n_columns` cells. */
static void fill(struct batch *b, struct schema *schema,
		 const struct cell *cells, size_t n_rows, size_t n_columns)
{
	schema_init(schema);
	for (size_t i = 0; i < n_columns; i++) {
		struct type type = { .kind = cells[i].kind };
		schema_add(schema, "c", &type, true);
	}
	batch_init(b, schema);
	for (size_t row = 0; row < n_rows; row++) {
		batch_reserve_row(b);
		for (size_t i = 0; i < n_columns; i++)
			put_cell(&b->vectors[i], row,
				 &cells[row * n_columns + i]);
		batch_row_done(b);
	}
}

static struct digest digest_of(const struct cell *cells, size_t n_rows,
			       size_t n_columns)
{
	struct digest d = { 0, 0, 0 };
	struct schema schema;
	struct batch b;

	fill(&b, &schema, cells, n_rows, n_columns);
	digest_add_batch(&d, &b);
	batch_release(&b);
	schema_release(&schema);
	return d;
}

/* In a batch that has had other rows before. */
static struct digest memory_of(const struct cell *cells, size_t n_rows)
{
	struct digest d;
	struct schema schema;
	struct batch b;

	fill(&b, &schema, cells, n_rows, 2);
	batch_reserve_row(&b);
	for (size_t i = 0; i < 2; i++)
		put_cell(&b.vectors[i], n_rows, &cells[i]);
	digest_batch_memory(&d, &b);
	batch_release(&b);
	schema_release(&schema);
	return d;
}

static bool same(struct digest a, struct digest b)
{
	return a.low == b.low && a.high == b.high && a.rows == b.rows;
}

#define NO_NUMBER (double)NAN
#define TEXT(s)                                                                \
	{                                                                      \
		TYPE_TEXT, s, NO_NUMBER                                        \
	}

/* Two spellings of one value. */
static const struct cell equal[][2] = {
	{ { TYPE_INT16, NULL, 7 }, { TYPE_INT32, NULL, 7 } },
	{ { TYPE_INT32, NULL, -7 }, { TYPE_INT64, NULL, -7 } },
	{ { TYPE_INT64, NULL, 7 }, { TYPE_UINT64, NULL, 7 } },
	{ { TYPE_FLOAT32, NULL, 1.5 }, { TYPE_FLOAT64, NULL, 1.5 } },
	{ { TYPE_FLOAT64, NULL, -0.0 }, { TYPE_FLOAT64, NULL, 0.0 } },
	{ { TYPE_FLOAT32, NULL, -0.0 }, { TYPE_FLOAT64, NULL, 0.0 } },
	{ { TYPE_FLOAT64, "NaN", (double)NAN },
	  { TYPE_FLOAT64, "NaN", -(double)NAN } },
	{ { TYPE_FLOAT32, "NaN", (double)NAN },
	  { TYPE_FLOAT64, "NaN", (double)NAN } },
	{ { TYPE_DECIMAL, "1.10", NO_NUMBER },
	  { TYPE_DECIMAL, "01.1", NO_NUMBER } },
	{ { TYPE_DECIMAL, "-0", NO_NUMBER },
	  { TYPE_DECIMAL, "0.00", NO_NUMBER } },
	{ { TYPE_JSON, "{\"a\":1,\"b\":2}", NO_NUMBER },
	  { TYPE_JSON, "{ \"b\": 2.0, \"a\": 1 }", NO_NUMBER } },
	{ { TYPE_TEXT, "[1,4)", NO_NUMBER },
	  { TYPE_NATIVE, "[1,4)", NO_NUMBER } },
	{ { TYPE_TEXT, NULL, NO_NUMBER }, { TYPE_INT64, NULL, NO_NUMBER } },
};

/* Values that only look alike. */
static const struct cell different[][2] = {
	{ { TYPE_TEXT, NULL, NO_NUMBER }, TEXT("") },
	{ { TYPE_INT32, NULL, NO_NUMBER }, { TYPE_INT32, NULL, 0 } },
	{ { TYPE_INT32, NULL, 7 }, { TYPE_INT32, NULL, 8 } },
	{ { TYPE_INT64, NULL, 1 }, { TYPE_INT64, NULL, -1 } },
	{ { TYPE_INT64, NULL, 1 }, { TYPE_BOOL, NULL, 1 } },
	{ { TYPE_INT64, NULL, 1 }, { TYPE_FLOAT64, NULL, 1 } },
	{ { TYPE_TIMESTAMP, NULL, 1 }, { TYPE_TIMESTAMPTZ, NULL, 1 } },
	{ { TYPE_FLOAT32, NULL, 0.1 }, { TYPE_FLOAT64, NULL, 0.1 } },
	{ TEXT("a"), TEXT("a ") },
	{ TEXT("a"), TEXT("A") },
	{ TEXT("1.10"), TEXT("1.1") },
	{ TEXT("a"), { TYPE_BYTES, "a", NO_NUMBER } },
	{ { TYPE_DECIMAL, "1", NO_NUMBER }, { TYPE_DECIMAL, "10", NO_NUMBER } },
	{ { TYPE_DECIMAL, "1", NO_NUMBER }, { TYPE_DECIMAL, "-1", NO_NUMBER } },
	{ { TYPE_DECIMAL, "12345678901234567890.1", NO_NUMBER },
	  { TYPE_DECIMAL, "12345678901234567890.2", NO_NUMBER } },
	{ { TYPE_JSON, "12345678901234567890", NO_NUMBER },
	  { TYPE_JSON, "12345678901234567891", NO_NUMBER } },
	{ { TYPE_JSON, "{\"a\":1,\"b\":2}", NO_NUMBER },
	  { TYPE_JSON, "{\"a\":2,\"b\":1}", NO_NUMBER } },
	{ { TYPE_JSON, "[1,2]", NO_NUMBER },
	  { TYPE_JSON, "[2,1]", NO_NUMBER } },
	{ { TYPE_JSON, "null", NO_NUMBER }, { TYPE_JSON, NULL, NO_NUMBER } },
	{ { TYPE_JSON, "1", NO_NUMBER }, { TYPE_JSON, "\"1\"", NO_NUMBER } },
};

static void test_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(equal); i++) {
		if (!same(digest_of(&equal[i][0], 1, 1),
			  digest_of(&equal[i][1], 1, 1)))
			fail_msg("equal %zu differs", i);
	}
	for (size_t i = 0; i < ARRAY_SIZE(different); i++) {
		if (same(digest_of(&different[i][0], 1, 1),
			 digest_of(&different[i][1], 1, 1)))
			fail_msg("different %zu is the same", i);
	}
}

/* Two rows of two texts on each side. */
static const struct {
	bool equal;
	struct cell left[4], right[4];
} tables[] = {
	/* The order of rows does not count, */
	{ true,
	  { TEXT("a"), TEXT("b"), TEXT("c"), TEXT("d") },
	  { TEXT("c"), TEXT("d"), TEXT("a"), TEXT("b") } },
	/* the order of columns does, */
	{ false,
	  { TEXT("a"), TEXT("b"), TEXT("c"), TEXT("d") },
	  { TEXT("b"), TEXT("a"), TEXT("d"), TEXT("c") } },
	/* and so do values that changed places, */
	{ false,
	  { TEXT("a"), TEXT("b"), TEXT("c"), TEXT("d") },
	  { TEXT("a"), TEXT("d"), TEXT("c"), TEXT("b") } },
	/* a byte that moved from one column to the next, */
	{ false,
	  { TEXT("ab"), TEXT("c"), TEXT("x"), TEXT("y") },
	  { TEXT("a"), TEXT("bc"), TEXT("x"), TEXT("y") } },
	/* a NULL that moved, */
	{ false,
	  { TEXT("a"), TEXT(NULL), TEXT("x"), TEXT("y") },
	  { TEXT(NULL), TEXT("a"), TEXT("x"), TEXT("y") } },
	/* and pairs that an XOR would lose. */
	{ false,
	  { TEXT("a"), TEXT("b"), TEXT("a"), TEXT("b") },
	  { TEXT("c"), TEXT("d"), TEXT("c"), TEXT("d") } },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		assert_int_equal(same(digest_of(tables[i].left, 2, 2),
				      digest_of(tables[i].right, 2, 2)),
				 tables[i].equal);
}

/* Without its NULLs, wherever they are, a row is like one that never had
 * those columns; its neighbours are what they were. */
static void test_squeeze(void **state)
{
	const struct cell cells[] = {
		TEXT("a"),  TEXT("b"),	TEXT("c"), /* none */
		TEXT(NULL), TEXT("b"),	TEXT("c"), /* first */
		TEXT("a"),  TEXT(NULL), TEXT("c"), /* in between */
		TEXT("a"),  TEXT("b"),	TEXT(NULL), /* last */
		TEXT(NULL), TEXT(NULL), TEXT("c"), /* two */
	};
	const struct cell left[] = { TEXT("a"), TEXT("b"), TEXT("c"), TEXT("b"),
				     TEXT("c"), TEXT("a"), TEXT("c"), TEXT("a"),
				     TEXT("b"), TEXT("c") };
	const size_t n_left[] = { 3, 2, 2, 2, 1 }, rows[] = { 0, 1, 2, 3, 4 };
	struct digest_rows slots = DIGEST_ROWS_INIT;
	const struct cell *next = left;
	struct schema schema;
	struct batch b;

	(void)state;
	fill(&b, &schema, cells, 5, 3);
	digest_rows_begin(&slots, 3, rows, 5);
	for (size_t i = 0; i < 3; i++)
		digest_rows_put(&slots, i, &b.vectors[i]);
	for (size_t i = 0; i < 5; next += n_left[i++])
		assert_true(same(digest_rows_squeeze(&slots, i, 3),
				 digest_of(next, 1, n_left[i])));
	digest_rows_release(&slots);
	batch_release(&b);
	schema_release(&schema);
}

static void test_sum(void **state)
{
	const struct cell cells[] = { TEXT("a"), TEXT("b"), TEXT("c") };
	struct digest all = digest_of(cells, 3, 1), sum = { 0, 0, 0 };
	struct digest carry = { UINT64_MAX, 0, 1 }, one = { 1, 0, 1 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct digest part = digest_of(&cells[i], 1, 1);
		digest_add(&sum, &part);
	}
	assert_true(same(all, sum));
	digest_add(&carry, &one);
	assert_true(carry.low == 0 && carry.high == 1 && carry.rows == 2);
}

/* Stored by earlier runs and other machines: these may never change. */
static void test_text(void **state)
{
	const struct cell cells[] = {
		{ TYPE_INT64, NULL, 7 },
		TEXT("seven"),
		{ TYPE_DECIMAL, "7.0", NO_NUMBER },
		{ TYPE_FLOAT64, NULL, 7.5 },
		{ TYPE_TIMESTAMPTZ, NULL, 7000000 },
		{ TYPE_JSON, "{\"b\":[7],\"a\":null}", NO_NUMBER },
		TEXT(NULL),
	};
	struct digest d = digest_of(cells, 1, ARRAY_SIZE(cells));
	struct digest small = { 0xa, 0x1, 1 };
	char text[DIGEST_TEXT_SIZE];

	(void)state;
	digest_text(&small, text);
	assert_string_equal(text, "0000000000000001000000000000000a");
	digest_text(&d, text);
	assert_string_equal(text, "1d70ec1b554cfe846e497d663d13339b");
	/* xxhsum -H128 of the same bytes. */
	digest_hash_text("tidemark", 8, text);
	assert_string_equal(text, "4cee4796e60b0c9e327e5f0227a23053");
	digest_hash_text("", 0, text);
	assert_string_equal(text, "99aa06d3014798d86001c324468d497f");
}

static void test_memory(void **state)
{
	const struct cell cells[] = {
		TEXT("ab"),
		{ TYPE_INT64, NULL, 1 },
		TEXT("c"),
		{ TYPE_INT64, NULL, 2 },
	};
	const struct cell others[][4] = {
		{ TEXT("ab"), cells[1], TEXT("d"), cells[3] },
		{ TEXT("a"), cells[1], TEXT("bc"), cells[3] },
		{ TEXT("ab"), cells[3], TEXT("c"), cells[1] },
		{ TEXT("c"), cells[3], TEXT("ab"), cells[1] },
		{ TEXT("ab"), cells[1], TEXT(NULL), cells[3] },
	};
	const struct cell empty[] = { TEXT("ab"), cells[1], TEXT(""),
				      cells[3] };
	struct digest d = memory_of(cells, 2);

	(void)state;
	assert_true(same(d, memory_of(cells, 2)));
	assert_int_equal(d.rows, 2);
	assert_false(same(d, memory_of(cells, 1)));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(same(d, memory_of(others[i], 2)));
	assert_false(same(memory_of(empty, 2), memory_of(others[4], 2)));
	assert_int_equal(memory_of(cells, 0).rows, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_canonical),
		cmocka_unit_test(test_deep_json),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_squeeze),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_sum),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
