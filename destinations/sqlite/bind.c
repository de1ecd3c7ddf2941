#include <math.h>
#include <string.h>

#include "core/data/value.h"
#include "destinations/sqlite/internal.h"

/* The longest text of a fixed-width value is an interval's: six fields. */
#define BIND_TEXT_MOST 128

static void bind_text(struct sqlite_target *d, struct sqlite_statement *st,
		      int at, size_t start)
{
	sqlite_bind_str(st, at, d->texts.data + start,
			(int64_t)(d->texts.len - start));
}

/* "+00:00" goes before "BC", as Postgres writes and reads it. */
void sqlite_target_bind_print_instant(struct strbuf *sb, int64_t us)
{
	if (us == INT64_MAX || us == INT64_MIN) {
		value_print_timestamp(sb, us, false);
		return;
	}
	value_print_timestamp(sb, us, false);
	if (sb->data[sb->len - 1] != 'C') {
		strbuf_add(sb, "+00:00", 6);
		return;
	}
	sb->len -= 3;
	strbuf_add(sb, "+00:00 BC", 9);
}

/* SQLite takes NaN for NULL. */
static void bind_float(struct sqlite_statement *st, int at, double x)
{
	if (isnan(x))
		sqlite_bind_str(st, at, "NaN", 3);
	else
		sqlite_bind_f64(st, at, x);
}

static void bind_number(struct sqlite_target *d, struct sqlite_statement *st,
			int at, const struct vector *v, size_t row)
{
	const uint8_t *data = v->data + row * v->width;
	size_t start = d->texts.len;
	int16_t i16;
	float f32;
	double f64;

	switch (v->kind) {
	case TYPE_BOOL:
		sqlite_bind_i64(st, at, *data);
		break;
	case TYPE_INT16:
		memcpy(&i16, data, sizeof(i16));
		sqlite_bind_i64(st, at, i16);
		break;
	case TYPE_INT32:
		sqlite_bind_i64(st, at, vector_i32(v, row));
		break;
	case TYPE_INT64:
		sqlite_bind_i64(st, at, vector_i64(v, row));
		break;
	case TYPE_FLOAT32:
		memcpy(&f32, data, sizeof(f32));
		bind_float(st, at, f32);
		break;
	case TYPE_FLOAT64:
		memcpy(&f64, data, sizeof(f64));
		bind_float(st, at, f64);
		break;
	case TYPE_TIMESTAMPTZ:
		sqlite_target_bind_print_instant(&d->texts, vector_i64(v, row));
		bind_text(d, st, at, start);
		break;
	default:
		value_print(&d->texts, v, row);
		bind_text(d, st, at, start);
	}
}

static void bind_value(struct sqlite_target *d, struct sqlite_statement *st,
		       int at, const struct vector *v, size_t row)
{
	const uint8_t *bytes;
	size_t n;

	if (vector_is_null(v, row)) {
		sqlite_bind_null_at(st, at);
	} else if (v->width) {
		bind_number(d, st, at, v, row);
	} else {
		bytes = vector_bytes(v, row, &n);
		if (v->kind == TYPE_BYTES)
			sqlite_bind_bytes(st, at, bytes, n);
		else
			sqlite_bind_str(st, at, (const char *)bytes,
					(int64_t)n);
	}
}

void sqlite_target_bind_row(struct sqlite_target *d,
			    struct sqlite_statement *st, const struct batch *b,
			    size_t row)
{
	size_t n = b->schema->n_columns;

	/* Reserved for the whole row: the texts must not move. */
	strbuf_reset(&d->texts);
	strbuf_reserve(&d->texts, n * BIND_TEXT_MOST);
	for (size_t i = 0; i < n; i++)
		bind_value(d, st, (int)i + 1, &b->vectors[i], row);
}
