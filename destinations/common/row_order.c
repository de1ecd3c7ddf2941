#include "destinations/common/row_order.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"
#include "core/data/value.h"

struct integer_key {
	int64_t key;
	uint32_t row;
};

static int order_compare_i64(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int64_t order_integer(const struct vector *v, size_t row)
{
	int16_t small;

	switch (v->width) {
	case 8:
		return vector_i64(v, row);
	case 4:
		return vector_i32(v, row);
	case 2:
		memcpy(&small, v->data + row * 2, 2);
		return small;
	default:
		return v->data[row];
	}
}

static bool order_is_integer(enum type_kind kind)
{
	switch (kind) {
	case TYPE_BOOL:
	case TYPE_INT16:
	case TYPE_INT32:
	case TYPE_INT64:
	case TYPE_DATE:
	case TYPE_TIME:
	case TYPE_TIMESTAMP:
	case TYPE_TIMESTAMPTZ:
		return true;
	default:
		return false;
	}
}

static int order_compare_bytes(const struct vector *v, uint32_t a, uint32_t b)
{
	size_t na, nb;
	const uint8_t *pa = vector_bytes(v, a, &na);
	const uint8_t *pb = vector_bytes(v, b, &nb);
	int c = memcmp(pa, pb, na < nb ? na : nb);

	return c ? c : (na > nb) - (na < nb);
}

static int order_compare_column(const struct vector *v, uint32_t a, uint32_t b)
{
	if (order_is_integer(v->kind))
		return order_compare_i64(order_integer(v, a),
					 order_integer(v, b));
	if (!v->width)
		return order_compare_bytes(v, a, b);
	return memcmp(v->data + (size_t)a * v->width,
		      v->data + (size_t)b * v->width, v->width);
}

/* Equal keys compare as 0 here; sorting breaks the tie by row number. */
static int order_compare_keys(const struct batch *b, uint32_t x, uint32_t y)
{
	int c = 0;

	for (size_t i = 0; !c && i < b->schema->n_key; i++)
		c = order_compare_column(&b->vectors[b->schema->key[i]], x, y);
	return c;
}

static int order_compare_rows(const void *px, const void *py, void *batch)
{
	uint32_t x = *(const uint32_t *)px, y = *(const uint32_t *)py;
	int c = order_compare_keys(batch, x, y);

	return c ? c : order_compare_i64(x, y);
}

static int order_compare_integers(const void *px, const void *py)
{
	const struct integer_key *x = px, *y = py;
	int c = order_compare_i64(x->key, y->key);

	return c ? c : order_compare_i64(x->row, y->row);
}

static bool order_is_ascending(const struct batch *b)
{
	for (uint32_t row = 1; row < b->n_rows; row++)
		if (order_compare_keys(b, row - 1, row) >= 0)
			return false;
	return true;
}

/* One integer key: sort pairs, the comparison then touches no other memory. */
static void order_sort_integers(struct row_order *o, const struct batch *b)
{
	const struct vector *v = &b->vectors[b->schema->key[0]];
	struct integer_key *pairs = xreallocarray(NULL, o->n, sizeof(*pairs));

	for (uint32_t row = 0; row < o->n; row++)
		pairs[row] = (struct integer_key){ order_integer(v, row), row };
	qsort(pairs, o->n, sizeof(*pairs), order_compare_integers);
	for (size_t i = 0; i < o->n; i++)
		o->rows[i] = pairs[i].row;
	free(pairs);
}

static void order_drop_duplicates(struct row_order *o, const struct batch *b)
{
	size_t kept = 0;

	for (size_t i = 0; i < o->n; i++) {
		if (i + 1 < o->n &&
		    !order_compare_keys(b, o->rows[i], o->rows[i + 1]))
			continue;
		o->rows[kept++] = o->rows[i];
	}
	o->n_duplicates = o->n - kept;
	o->n = kept;
}

static int order_refuse_null(const struct batch *b, size_t column,
			     struct error *err)
{
	const struct vector *v = &b->vectors[column];
	struct strbuf key = STRBUF_INIT;
	size_t row = 0;

	while (row + 1 < b->n_rows && !vector_is_null(v, row))
		row++;
	value_print_key(&key, b, row);
	error_set(err, ERROR_DATA, "table %s: key column %s is NULL in row %s",
		  b->schema->table, b->schema->columns[column].name, key.data);
	strbuf_release(&key);
	return -ERROR_DATA;
}

int row_order_build(struct row_order *o, const struct batch *b,
		    struct error *err)
{
	const struct schema *s = b->schema;

	o->rows = xgrow(o->rows, &o->capacity, b->n_rows ? b->n_rows : 1,
			sizeof(*o->rows));
	o->n = b->n_rows;
	o->n_duplicates = 0;
	for (size_t i = 0; i < s->n_key; i++)
		if (b->vectors[s->key[i]].n_nulls)
			return order_refuse_null(b, s->key[i], err);
	for (uint32_t row = 0; row < o->n; row++)
		o->rows[row] = row;
	if (!s->n_key || order_is_ascending(b))
		return 0;
	if (s->n_key == 1 && order_is_integer(b->vectors[s->key[0]].kind))
		order_sort_integers(o, b);
	else
		qsort_r(o->rows, o->n, sizeof(*o->rows), order_compare_rows,
			(void *)(uintptr_t)b);
	order_drop_duplicates(o, b);
	return 0;
}

void row_order_release(struct row_order *o)
{
	free(o->rows);
	*o = (struct row_order)ROW_ORDER_INIT;
}
