#include "tests/unit/gate_world.h"

#include "core/data/value.h"
#include "tests/unit/unit.h"

void world_init(struct world *w, enum type_kind kind)
{
	struct type id = { .kind = TYPE_INT64 }, v = { .kind = kind };
	size_t key = 0;

	memset(w, 0, sizeof(*w));
	schema_init(&w->schema);
	schema_add(&w->schema, "id", &id, false);
	schema_add(&w->schema, "v", &v, true);
	schema_set_key(&w->schema, &key, 1);
	batch_init(&w->batch, &w->schema);
	w->p.name = (char *)"orders";
	w->p.source_table = (char *)"public.t";
}

void world_release(struct world *w)
{
	strlist_release(&w->p.gate.not_null);
	strlist_release(&w->p.gate.unique);
	batch_release(&w->batch);
	schema_release(&w->schema);
}

static void world_put(struct vector *v, size_t row, const char *text)
{
	int64_t i64;
	int32_t i32;
	int16_t i16;
	double f64;
	float f32;

	switch (v->kind) {
	case TYPE_INT16:
		i16 = (int16_t)strtol(text, NULL, 10);
		vector_set_fixed(v, row, &i16);
		break;
	case TYPE_INT32:
		i32 = (int32_t)strtol(text, NULL, 10);
		vector_set_fixed(v, row, &i32);
		break;
	case TYPE_DATE:
		assert_true(value_parse_date(text, &i32));
		vector_set_fixed(v, row, &i32);
		break;
	case TYPE_FLOAT32:
		f32 = strtof(text, NULL);
		vector_set_fixed(v, row, &f32);
		break;
	case TYPE_FLOAT64:
		f64 = strtod(text, NULL);
		vector_set_fixed(v, row, &f64);
		break;
	case TYPE_TIMESTAMP:
	case TYPE_TIMESTAMPTZ:
		assert_true(value_parse_timestamp(text, &i64));
		vector_set_fixed(v, row, &i64);
		break;
	case TYPE_UINT64:
		i64 = (int64_t)strtoull(text, NULL, 10);
		vector_set_fixed(v, row, &i64);
		break;
	case TYPE_INT64:
	case TYPE_TIME:
		i64 = strtoll(text, NULL, 10);
		vector_set_fixed(v, row, &i64);
		break;
	default:
		vector_set_bytes(v, row, text, strlen(text), NULL);
	}
}

void world_row(struct world *w, int64_t id, const char *text)
{
	batch_reserve_row(&w->batch);
	vector_set_fixed(&w->batch.vectors[0], w->batch.n_rows, &id);
	if (*text)
		world_put(&w->batch.vectors[1], w->batch.n_rows, text);
	batch_row_done(&w->batch);
}

const char *world_check(struct world *w, struct gate *g, struct error *err)
{
	error_clear(err);
	if (gate_check(g, &w->batch, err))
		assert_int_equal(err->code, ERROR_DATA);
	return err->message;
}
