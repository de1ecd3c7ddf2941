#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/schema.h"

static void build(struct schema *s)
{
	char native[] = "numeric(10,2)";
	struct type id = { .kind = TYPE_INT64 };
	struct type price = { .kind = TYPE_DECIMAL,
			      .precision = 10,
			      .scale = 2,
			      .native = native };
	size_t key[] = { 2, 0 };

	schema_init(s);
	s->engine = xstrdup("postgres");
	s->table = xstrdup("public.orders");
	schema_add(s, "id", &id, false);
	schema_add(s, "price", &price, true)->expression = xstrdup("a + b");
	schema_add(s, "Id", &id, false);
	schema_set_key(s, key, 2);
	s->mark = 1;
	s->row_estimate = 42;
	memset(native, 'x', sizeof(native) - 1); /* the schema has its own */
}

static void check(const struct schema *s)
{
	assert_int_equal(s->n_columns, 3);
	assert_string_equal(s->engine, "postgres");
	assert_string_equal(s->table, "public.orders");
	assert_string_equal(s->columns[1].type.native, "numeric(10,2)");
	assert_int_equal(s->columns[1].type.precision, 10);
	assert_int_equal(s->columns[1].type.scale, 2);
	assert_string_equal(s->columns[1].expression, "a + b");
	assert_true(s->columns[1].nullable);
	assert_null(s->columns[0].expression);
	assert_int_equal(s->n_key, 2);
	assert_int_equal(s->key[0], 2);
	assert_int_equal(s->key[1], 0);
	assert_int_equal(s->mark, 1);
	assert_int_equal(s->row_estimate, 42);
	assert_int_equal(s->byte_estimate, -1);
}

static void test_add_and_find(void **state)
{
	struct schema s;

	(void)state;
	build(&s);
	check(&s);
	assert_int_equal(schema_find(&s, "id"), 0);
	assert_int_equal(schema_find(&s, "Id"), 2); /* names are not folded */
	assert_int_equal(schema_find(&s, "ID"), -1);
	assert_true(schema_is_key(&s, 0));
	assert_false(schema_is_key(&s, 1));
	assert_true(schema_is_key(&s, 2));
	schema_release(&s);
	assert_int_equal(s.n_columns, 0);
	assert_int_equal(s.mark, -1);
}

static void test_copy_owns_everything(void **state)
{
	struct schema s, copy;

	(void)state;
	build(&s);
	schema_copy(&copy, &s);
	schema_release(&s);
	check(&copy);
	schema_release(&copy);
}

static void test_set_key_from_itself(void **state)
{
	struct schema s;

	(void)state;
	build(&s);
	schema_set_key(&s, s.key, 1);
	assert_int_equal(s.n_key, 1);
	assert_int_equal(s.key[0], 2);
	schema_set_key(&s, NULL, 0);
	assert_int_equal(s.n_key, 0);
	assert_null(s.key);
	schema_release(&s);
}

static void test_many_columns(void **state)
{
	struct type type = { .kind = TYPE_TEXT };
	struct schema s;

	(void)state;
	schema_init(&s);
	for (int i = 0; i < 1600; i++) {
		char *name = xstrfmt("c%d", i);
		schema_add(&s, name, &type, true);
		free(name);
	}
	assert_int_equal(schema_find(&s, "c1599"), 1599);
	schema_release(&s);
	schema_release(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add_and_find),
		cmocka_unit_test(test_copy_owns_everything),
		cmocka_unit_test(test_set_key_from_itself),
		cmocka_unit_test(test_many_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
