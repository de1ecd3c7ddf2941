#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/batch.h"

enum { COLUMN_ID, COLUMN_NAME, COLUMN_FLAG, COLUMNS };

static void build_schema(struct schema *s)
{
	struct type id = { .kind = TYPE_INT64 };
	struct type name = { .kind = TYPE_TEXT };
	struct type flag = { .kind = TYPE_BOOL };

	schema_init(s);
	schema_add(s, "id", &id, false);
	schema_add(s, "name", &name, true);
	schema_add(s, "flag", &flag, true);
}

/* Row i: id i, name "n<i>" but NULL when i % 3 == 0, flag NULL if i odd. */
static void append(struct batch *b, int64_t i)
{
	char *name = xstrfmt("n%d", (int)i);
	uint8_t flag = 1;
	size_t row;

	batch_reserve_row(b);
	row = b->n_rows;
	vector_set_fixed(&b->vectors[COLUMN_ID], row, &i);
	if (i % 3 == 0)
		vector_set_null(&b->vectors[COLUMN_NAME], row);
	else
		assert_int_equal(vector_set_bytes(&b->vectors[COLUMN_NAME], row,
						  name, strlen(name), NULL),
				 0);
	if (i % 2)
		vector_set_null(&b->vectors[COLUMN_FLAG], row);
	else
		vector_set_fixed(&b->vectors[COLUMN_FLAG], row, &flag);
	batch_row_done(b);
	free(name);
}

static void check_row(const struct batch *b, size_t row, int64_t i)
{
	const struct vector *name = &b->vectors[COLUMN_NAME];
	char *expected = xstrfmt("n%d", (int)i);
	const uint8_t *bytes;
	size_t n;

	assert_int_equal(vector_i64(&b->vectors[COLUMN_ID], row), i);
	assert_int_equal(vector_is_null(name, row), i % 3 == 0);
	bytes = vector_bytes(name, row, &n);
	if (i % 3 == 0) {
		assert_int_equal(n, 0);
	} else {
		assert_int_equal(n, strlen(expected));
		assert_memory_equal(bytes, expected, n);
	}
	assert_int_equal(vector_is_null(&b->vectors[COLUMN_FLAG], row), i % 2);
	assert_int_equal(b->vectors[COLUMN_FLAG].data[row], i % 2 ? 0 : 1);
	free(expected);
}

static void test_rows_come_back(void **state)
{
	struct schema schema;
	struct batch b;

	(void)state;
	build_schema(&schema);
	batch_init(&b, &schema);
	for (int round = 0; round < 2; round++) {
		for (int64_t i = 0; i < 5000; i++)
			append(&b, i + round);
		assert_int_equal(b.n_rows, 5000);
		for (size_t row = 0; row < 5000; row++)
			check_row(&b, row, (int64_t)row + round);
		assert_int_equal(b.vectors[COLUMN_ID].n_nulls, 0);
		assert_int_equal(b.vectors[COLUMN_NAME].n_nulls,
				 round ? 1666 : 1667);
		assert_int_equal(b.vectors[COLUMN_FLAG].n_nulls, 2500);
		batch_reset(&b);
		assert_int_equal(b.n_rows, 0);
		assert_int_equal(b.vectors[COLUMN_FLAG].n_nulls, 0);
	}
	batch_release(&b);
	batch_release(&b);
	schema_release(&schema);
}

static void test_undo_leaves_no_trace(void **state)
{
	struct schema schema;
	struct batch b;
	size_t bytes;

	(void)state;
	build_schema(&schema);
	batch_init(&b, &schema);
	append(&b, 1);
	bytes = batch_bytes(&b);
	batch_reserve_row(&b);
	assert_int_equal(
		vector_set_bytes(&b.vectors[COLUMN_NAME], 1, "gone", 4, NULL),
		0);
	vector_set_present(&b.vectors[COLUMN_FLAG], 1);
	batch_row_undo(&b);
	assert_int_equal(b.n_rows, 1);
	assert_int_equal(batch_bytes(&b), bytes);
	append(&b, 3); /* NULL name, NULL flag */
	check_row(&b, 0, 1);
	check_row(&b, 1, 3);
	assert_int_equal(b.vectors[COLUMN_NAME].n_nulls, 1);
	batch_release(&b);
	schema_release(&schema);
}

/* A connector that sets no value has appended a NULL, not rubbish. */
static void test_unset_is_null(void **state)
{
	struct schema schema;
	struct batch b;
	size_t n;

	(void)state;
	build_schema(&schema);
	batch_init(&b, &schema);
	for (int i = 0; i < 20; i++)
		append(&b, 4);
	batch_reset(&b);
	for (size_t row = 0; row < 20; row++) {
		batch_reserve_row(&b);
		batch_row_done(&b);
		assert_true(vector_is_null(&b.vectors[COLUMN_NAME], row));
		vector_bytes(&b.vectors[COLUMN_NAME], row, &n);
		assert_int_equal(n, 0);
		assert_true(vector_is_null(&b.vectors[COLUMN_ID], row));
		assert_int_equal(vector_i64(&b.vectors[COLUMN_ID], row), 0);
	}
	assert_int_equal(b.vectors[COLUMN_ID].n_nulls, 20);
	batch_release(&b);
	schema_release(&schema);
}

static void test_bounds(void **state)
{
	struct schema schema;
	struct batch b;
	int64_t rows;

	(void)state;
	build_schema(&schema);
	batch_init(&b, &schema);
	assert_false(batch_is_full(&b));
	b.max_rows = 3;
	for (rows = 0; !batch_is_full(&b); rows++)
		append(&b, rows);
	assert_int_equal(rows, 3);

	batch_reset(&b);
	assert_int_equal(b.max_rows, 3);
	b.max_rows = 0;
	b.max_bytes = 100;
	for (rows = 0; !batch_is_full(&b); rows++)
		append(&b, 1); /* 8 + 4 + 1 fixed, "n1" */
	assert_int_equal(rows, 7);
	assert_int_equal(batch_bytes(&b), 105);

	/* A bound below one row still lets one row through. */
	batch_reset(&b);
	b.max_bytes = 1;
	assert_false(batch_is_full(&b));
	append(&b, 1);
	assert_true(batch_is_full(&b));
	batch_release(&b);
	schema_release(&schema);
}

static void test_reset_clears_what_next_sets(void **state)
{
	struct schema schema;
	struct batch b;

	(void)state;
	build_schema(&schema);
	batch_init(&b, &schema);
	assert_true(b.progress < 0);
	b.watermark.value = xstrdup("7");
	b.n_tail = 4;
	b.progress = 0.5;
	batch_reset(&b);
	assert_null(b.watermark.value);
	assert_int_equal(b.n_tail, 0);
	assert_true(b.progress < 0);
	batch_release(&b);
	schema_release(&schema);
}

/* Buffers stay over a reset, but not those of a giant. */
static void test_memory_is_given_back(void **state)
{
	const size_t giant = (size_t)65 << 20, large = (size_t)40 << 20;
	struct schema schema;
	struct vector *name;
	struct batch b;
	uint8_t *out;

	(void)state;
	build_schema(&schema);
	batch_init(&b, &schema);
	name = &b.vectors[COLUMN_NAME];
	batch_reserve_row(&b);
	assert_int_equal(vector_reserve(name, 0, large, &out, NULL), 0);
	vector_commit(name, 0, large);
	batch_row_done(&b);
	assert_true(batch_bytes(&b) > large);
	batch_reset(&b);
	assert_true(name->data_capacity >= large);
	batch_reserve_row(&b);
	assert_int_equal(vector_reserve(name, 0, giant, &out, NULL), 0);
	vector_commit(name, 0, giant);
	batch_row_done(&b);
	batch_reset(&b);
	assert_true(name->data_capacity < large);
	append(&b, 1);
	check_row(&b, 0, 1);
	batch_release(&b);
	schema_release(&schema);
}

static void test_two_gib_is_refused(void **state)
{
	struct error err = ERROR_INIT;
	struct schema schema;
	struct batch b;
	uint8_t *out;

	(void)state;
	build_schema(&schema);
	batch_init(&b, &schema);
	append(&b, 1);
	batch_reserve_row(&b);
	assert_int_equal(vector_reserve(&b.vectors[COLUMN_NAME], 1,
					(size_t)INT32_MAX - 1, &out, &err),
			 -ERROR_DATA);
	assert_non_null(strstr(err.message, "2 GiB"));
	assert_int_equal(vector_reserve(&b.vectors[COLUMN_NAME], 1, SIZE_MAX,
					&out, NULL),
			 -ERROR_DATA);
	batch_row_undo(&b);
	append(&b, 2);
	check_row(&b, 1, 2);
	batch_release(&b);
	schema_release(&schema);
}

static void test_copies_rows(void **state)
{
	static const uint32_t some[] = { 9, 3, 3, 70, 8 };
	struct schema schema;
	struct batch src, dst;

	(void)state;
	build_schema(&schema);
	batch_init(&src, &schema);
	batch_init(&dst, &schema);
	for (int i = 0; i < 100; i++)
		append(&src, i);
	append(&dst, 1);
	batch_copy_rows(&dst, &src, some, ARRAY_SIZE(some));
	assert_int_equal(dst.n_rows, ARRAY_SIZE(some));
	for (size_t i = 0; i < ARRAY_SIZE(some); i++)
		check_row(&dst, i, (int)some[i]);
	/* Counts and bytes are those of the same rows, appended. */
	batch_reset(&src);
	for (size_t i = 0; i < ARRAY_SIZE(some); i++)
		append(&src, (int)some[i]);
	assert_int_equal(batch_bytes(&dst), batch_bytes(&src));
	for (size_t i = 0; i < schema.n_columns; i++)
		assert_int_equal(dst.vectors[i].n_nulls,
				 src.vectors[i].n_nulls);
	batch_copy_rows(&dst, &src, some, 0);
	assert_int_equal(dst.n_rows, 0);
	assert_int_equal(batch_bytes(&dst), 0);
	batch_release(&src);
	batch_release(&dst);
	schema_release(&schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_come_back),
		cmocka_unit_test(test_undo_leaves_no_trace),
		cmocka_unit_test(test_unset_is_null),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_reset_clears_what_next_sets),
		cmocka_unit_test(test_memory_is_given_back),
		cmocka_unit_test(test_two_gib_is_refused),
		cmocka_unit_test(test_copies_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
