#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/row_values.h"
#include "core/base/strbuf.h"
#include "core/base/utf8.h"
#include "core/data/value.h"
#include "destinations/duckdb/internal.h"

/* One chunk's worth of one column. */
struct fill_cells {
	const struct duckdb_target_fill *fill;
	size_t start; /* into fill->rows */
	size_t n;
	const struct vector *v;
	size_t column; /* index in the batch */
	const struct duckdb_type *type;
	void *data;
};

static size_t fill_row(const struct duckdb_target_fill *f, size_t i)
{
	return f->rows ? f->rows[i] : i;
}

static int fill_refuse(const struct fill_cells *c, size_t row, const char *why,
		       struct error *err)
{
	const struct batch *b = c->fill->batch;
	struct strbuf key = STRBUF_INIT;
	struct strbuf value = STRBUF_INIT;
	int rc;

	value_print_key(&key, b, row);
	if (c->type->fill.kind == DUCK_DECIMAL)
		value_print(&value, c->v, row);
	rc = error_set(err, ERROR_DATA, "table %s, column %s, row %s: %s %s %s",
		       c->fill->d->target->table,
		       b->schema->columns[c->column].name, key.data,
		       value.len ? row_value(value.data) : "", why,
		       c->type->text);
	strbuf_release(&key);
	strbuf_release(&value);
	return rc;
}

static int fill_fixed(const struct fill_cells *c, struct error *err)
{
	const size_t width = c->v->width;
	uint8_t *dst = c->data;

	(void)err;
	if (!c->fill->rows) {
		memcpy(dst, c->v->data + c->start * width, c->n * width);
		return 0;
	}
	for (size_t i = 0; i < c->n; i++)
		memcpy(dst + i * width,
		       c->v->data + c->fill->rows[c->start + i] * width, width);
	return 0;
}

/* The least int32 means -infinity here, and nothing in DuckDB. */
static int fill_date(const struct fill_cells *c, struct error *err)
{
	int32_t *dst = c->data;

	fill_fixed(c, err);
	for (size_t i = 0; i < c->n; i++)
		if (dst[i] == INT32_MIN)
			dst[i] = -INT32_MAX;
	return 0;
}

static int fill_timestamp(const struct fill_cells *c, struct error *err)
{
	int64_t *dst = c->data;

	fill_fixed(c, err);
	for (size_t i = 0; i < c->n; i++)
		if (dst[i] == INT64_MIN)
			dst[i] = -INT64_MAX;
	return 0;
}

static int fill_interval(const struct fill_cells *c, struct error *err)
{
	uint8_t *dst = c->data;

	(void)err;
	for (size_t i = 0; i < c->n; i++, dst += 16) {
		size_t row = fill_row(c->fill, c->start + i);
		struct interval_value x;

		memcpy(&x, c->v->data + row * sizeof(x), sizeof(x));
		memcpy(dst, &x.months, 4);
		memcpy(dst + 4, &x.days, 4);
		memcpy(dst + 8, &x.microseconds, 8);
	}
	return 0;
}

static uint64_t fill_big_endian(const uint8_t *src)
{
	uint64_t x = 0;

	for (int i = 0; i < 8; i++)
		x = x << 8 | src[i];
	return x;
}

static int fill_uuid(const struct fill_cells *c, struct error *err)
{
	uint64_t *dst = c->data;

	(void)err;
	for (size_t i = 0; i < c->n; i++) {
		size_t row = fill_row(c->fill, c->start + i);
		const uint8_t *src = c->v->data + row * 16;

		dst[2 * i] = fill_big_endian(src + 8);
		dst[2 * i + 1] = fill_big_endian(src) ^ UINT64_C(1) << 63;
	}
	return 0;
}

static void fill_scaled(void *data, size_t i, unsigned precision,
			duckdb_hugeint x)
{
	if (precision <= 4)
		((int16_t *)data)[i] = (int16_t)x;
	else if (precision <= 9)
		((int32_t *)data)[i] = (int32_t)x;
	else if (precision <= 18)
		((int64_t *)data)[i] = (int64_t)x;
	else
		((duckdb_hugeint *)data)[i] = x;
}

static int fill_decimal(const struct fill_cells *c, struct error *err)
{
	const struct duck_type *t = &c->type->fill;

	for (size_t i = 0; i < c->n; i++) {
		size_t row = fill_row(c->fill, c->start + i), n;
		const uint8_t *text;
		duckdb_hugeint x;

		if (vector_is_null(c->v, row))
			continue;
		text = vector_bytes(c->v, row, &n);
		if (!duckdb_target_decimal_parse(text, n, t->precision,
						 t->scale, &x))
			return fill_refuse(c, row, "does not fit", err);
		fill_scaled(c->data, i, t->precision, x);
	}
	return 0;
}

static int fill_text(const struct fill_cells *c, struct error *err)
{
	const struct schema *s = c->fill->batch->schema;
	/* As text, 1.0 and 1.00 would be two keys. */
	bool trim = c->v->kind == TYPE_DECIMAL && schema_is_key(s, c->column);

	for (size_t i = 0; i < c->n; i++) {
		size_t row = fill_row(c->fill, c->start + i), n;
		const uint8_t *text;

		if (vector_is_null(c->v, row))
			continue;
		text = vector_bytes(c->v, row, &n);
		if (!utf8_is_valid((const char *)text, n))
			return fill_refuse(c, row, "not valid UTF-8 for", err);
		if (trim)
			n = duckdb_target_decimal_trim(text, n);
		duck_chunk_set_text(c->data, i, text, n);
	}
	return 0;
}

static int fill_bytes(const struct fill_cells *c, struct error *err)
{
	(void)err;
	for (size_t i = 0; i < c->n; i++) {
		size_t row = fill_row(c->fill, c->start + i), n;
		const uint8_t *src;

		if (vector_is_null(c->v, row))
			continue;
		src = vector_bytes(c->v, row, &n);
		duck_chunk_set_text(c->data, i, src, n);
	}
	return 0;
}

static int (*const fill_kinds[DUCK_KINDS])(const struct fill_cells *,
					   struct error *) = {
	[DUCK_BOOL] = fill_fixed,	   [DUCK_INT16] = fill_fixed,
	[DUCK_INT32] = fill_fixed,	   [DUCK_INT64] = fill_fixed,
	[DUCK_UINT64] = fill_fixed,	   [DUCK_FLOAT32] = fill_fixed,
	[DUCK_FLOAT64] = fill_fixed,	   [DUCK_DECIMAL] = fill_decimal,
	[DUCK_TEXT] = fill_text,	   [DUCK_BYTES] = fill_bytes,
	[DUCK_DATE] = fill_date,	   [DUCK_TIME] = fill_fixed,
	[DUCK_TIMESTAMP] = fill_timestamp, [DUCK_TIMESTAMPTZ] = fill_timestamp,
	[DUCK_INTERVAL] = fill_interval,   [DUCK_UUID] = fill_uuid,
};

static void fill_validity(const struct fill_cells *c, uint64_t *bits)
{
	/* Chunks are a multiple of 64 rows, so all but the rows of a list
	 * begin on a byte. */
	if (!c->fill->rows) {
		memcpy(bits, c->v->validity + c->start / 8, (c->n + 7) / 8);
		return;
	}
	for (size_t i = 0; i < c->n; i++)
		if (vector_is_null(c->v, c->fill->rows[c->start + i]))
			bits[i >> 6] &= ~(UINT64_C(1) << (i & 63));
}

static int fill_column(struct duck_appender *a,
		       const struct duckdb_target_fill *f, size_t field,
		       size_t start, size_t n, struct error *err)
{
	size_t column = f->fields[field].column;
	struct fill_cells c = {
		.fill = f,
		.start = start,
		.n = n,
		.v = &f->batch->vectors[column],
		.column = column,
		.type = &f->d->types[column],
		.data = duck_chunk_data(a, field),
	};

	if (c.v->n_nulls)
		fill_validity(&c, duck_chunk_validity(a, field));
	return fill_kinds[c.type->fill.kind](&c, err);
}

static void fill_generated(struct duck_appender *a,
			   const struct duckdb_target_fill *f, size_t field,
			   size_t start, size_t n)
{
	enum duckdb_target_field_from from = f->fields[field].from;
	void *data = duck_chunk_data(a, field);
	int64_t *dst = data;

	for (size_t i = 0; i < n; i++) {
		size_t row = fill_row(f, start + i);

		if (from == FIELD_BATCH)
			duck_chunk_set_text(data, i,
					    (const uint8_t *)f->batch_id,
					    strlen(f->batch_id));
		else if (from == FIELD_MATCHED)
			dst[i] = f->matched[row];
		else if (from == FIELD_LOADED)
			dst[i] = f->loaded_at;
		else
			dst[i] =
				(from == FIELD_SEQ ? f->seq : 0) + (int64_t)row;
	}
}

static int fill_chunk(struct duck_appender *a,
		      const struct duckdb_target_fill *f, size_t start,
		      size_t n, struct error *err)
{
	for (size_t i = 0; i < f->n_fields; i++) {
		if (f->fields[i].from != FIELD_COLUMN) {
			fill_generated(a, f, i, start, n);
			continue;
		}
		int rc = fill_column(a, f, i, start, n, err);
		if (rc)
			return rc;
	}
	return duck_chunk_append(a, n, err);
}

static int fill_open(struct duck *db, struct duck_appender **out,
		     const struct duckdb_target_fill *f, struct error *err)
{
	static const struct duck_type generated[] = {
		[FIELD_ROW] = { DUCK_INT64, 0, 0 },
		[FIELD_MATCHED] = { DUCK_INT64, 0, 0 },
		[FIELD_BATCH] = { DUCK_TEXT, 0, 0 },
		[FIELD_SEQ] = { DUCK_INT64, 0, 0 },
		[FIELD_LOADED] = { DUCK_TIMESTAMPTZ, 0, 0 },
	};
	const char **names = xcalloc(f->n_fields, sizeof(*names));
	struct duck_type *types = xcalloc(f->n_fields, sizeof(*types));
	int rc;

	for (size_t i = 0; i < f->n_fields; i++) {
		const struct duckdb_target_field *field = &f->fields[i];

		names[i] = field->name;
		types[i] = field->from == FIELD_COLUMN
				   ? f->d->types[field->column].fill
				   : generated[field->from];
	}
	rc = duck_appender_open(db, out, f->catalog, f->schema, f->table, names,
				types, f->n_fields, err);
	free(names);
	free(types);
	return rc;
}

int duckdb_target_fill_table(struct duck *db,
			     const struct duckdb_target_fill *fill,
			     struct error *err)
{
	const size_t step = duck_chunk_rows();
	struct duck_appender *a = NULL;
	int rc;

	if (!fill->n_rows)
		return 0;
	rc = fill_open(db, &a, fill, err);
	for (size_t at = 0; !rc && at < fill->n_rows; at += step) {
		size_t left = fill->n_rows - at;

		rc = fill_chunk(a, fill, at, left < step ? left : step, err);
	}
	if (rc) {
		duck_appender_drop(a);
		return rc;
	}
	return duck_appender_finish(a, err);
}
