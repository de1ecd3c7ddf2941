#include "connectors/duckdb/fill.h"

#include <string.h>

#include "core/base/clock.h"

__extension__ typedef __int128 fill_wide;
__extension__ typedef unsigned __int128 fill_unsigned;

DUCKDB_SOURCE_FILL(duckdb_source_fill_same)
{
	const uint8_t *src = (const uint8_t *)c->data + from * v->width;

	(void)err;
	memcpy(v->data + row * v->width, src, n * v->width);
	for (size_t i = 0; i < n; i++) {
		if (duckdb_source_is_null(c, from + i))
			vector_set_null(v, row + i);
		else
			vector_set_present(v, row + i);
	}
	return n;
}

static int64_t fill_integer(const struct duckdb_source_cells *c, size_t row)
{
	switch (c->type.kind) {
	case DUCK_INT8:
		return ((const int8_t *)c->data)[row];
	case DUCK_UINT8:
		return ((const uint8_t *)c->data)[row];
	case DUCK_INT16:
		return ((const int16_t *)c->data)[row];
	case DUCK_UINT16:
		return ((const uint16_t *)c->data)[row];
	case DUCK_INT32:
		return ((const int32_t *)c->data)[row];
	case DUCK_UINT32:
		return ((const uint32_t *)c->data)[row];
	default:
		return ((const int64_t *)c->data)[row];
	}
}

DUCKDB_SOURCE_FILL(duckdb_source_fill_small)
{
	(void)err;
	for (size_t i = 0; i < n; i++) {
		int64_t value;
		int32_t small;
		int16_t tiny;
		const void *src = &value;

		if (duckdb_source_is_null(c, from + i)) {
			vector_set_null(v, row + i);
			continue;
		}
		value = fill_integer(c, from + i);
		small = (int32_t)value;
		tiny = (int16_t)value;
		if (v->width == sizeof(small))
			src = &small;
		else if (v->width == sizeof(tiny))
			src = &tiny;
		vector_set_fixed(v, row + i, src);
	}
	return n;
}

/* Print the digits of a value with `scale` of them behind the point, backwards
 * from the end of `text`. Returns where they begin. */
static char *fill_digits(char *end, fill_unsigned value, unsigned scale,
			 bool below)
{
	char *p = end;

	for (unsigned i = 0; i < scale || value || i == scale; i++) {
		if (scale && i == scale)
			*--p = '.';
		*--p = (char)('0' + (int)(value % 10));
		value /= 10;
	}
	if (below)
		*--p = '-';
	return p;
}

static fill_wide fill_scaled(const struct duckdb_source_cells *c, size_t row)
{
	fill_wide wide;

	if (c->type.kind == DUCK_HUGEINT || c->type.precision > 18) {
		memcpy(&wide, (const fill_wide *)c->data + row, sizeof(wide));
		return wide;
	}
	if (c->type.precision > 9)
		return ((const int64_t *)c->data)[row];
	if (c->type.precision > 4)
		return ((const int32_t *)c->data)[row];
	return ((const int16_t *)c->data)[row];
}

DUCKDB_SOURCE_FILL(duckdb_source_fill_number)
{
	char text[64], *end = text + sizeof(text);

	for (size_t i = 0; i < n; i++) {
		fill_unsigned magnitude;
		bool below = false;
		const char *p;

		if (duckdb_source_is_null(c, from + i)) {
			vector_set_null(v, row + i);
			continue;
		}
		if (c->type.kind == DUCK_UHUGEINT) {
			memcpy(&magnitude,
			       (const fill_unsigned *)c->data + from + i,
			       sizeof(magnitude));
		} else {
			fill_wide value = fill_scaled(c, from + i);
			below = value < 0;
			magnitude = below ? 0 - (fill_unsigned)value
					  : (fill_unsigned)value;
		}
		p = fill_digits(end, magnitude, c->type.scale, below);
		if (vector_set_bytes(v, row + i, p, (size_t)(end - p), err))
			return i;
	}
	return n;
}

DUCKDB_SOURCE_FILL(duckdb_source_fill_bytes)
{
	for (size_t i = 0; i < n; i++) {
		const char *text;
		size_t size;

		if (duckdb_source_is_null(c, from + i)) {
			vector_set_null(v, row + i);
			continue;
		}
		text = duck_cell_text(c->data, from + i, &size);
		if (vector_set_bytes(v, row + i, text, size, err))
			return i;
	}
	return n;
}

/* DuckDB's -infinity is that of the positive one with its sign changed. */
DUCKDB_SOURCE_FILL(duckdb_source_fill_date)
{
	(void)err;
	for (size_t i = 0; i < n; i++) {
		int32_t days;

		if (duckdb_source_is_null(c, from + i)) {
			vector_set_null(v, row + i);
			continue;
		}
		days = ((const int32_t *)c->data)[from + i];
		if (days == -INT32_MAX)
			days = INT32_MIN;
		vector_set_fixed(v, row + i, &days);
	}
	return n;
}

DUCKDB_SOURCE_FILL(duckdb_source_fill_timestamp)
{
	int64_t unit = c->type.kind == DUCK_TIMESTAMP_S	   ? US_PER_SECOND
		       : c->type.kind == DUCK_TIMESTAMP_MS ? 1000
							   : 1;

	for (size_t i = 0; i < n; i++) {
		int64_t us;

		if (duckdb_source_is_null(c, from + i)) {
			vector_set_null(v, row + i);
			continue;
		}
		us = ((const int64_t *)c->data)[from + i];
		if (us == -INT64_MAX)
			us = INT64_MIN;
		else if (us != INT64_MAX &&
			 __builtin_mul_overflow(us, unit, &us)) {
			error_set(err, ERROR_DATA,
				  "a time beyond the year 294246");
			return i;
		}
		vector_set_fixed(v, row + i, &us);
	}
	return n;
}

struct fill_interval {
	int32_t months, days;
	int64_t us;
};

DUCKDB_SOURCE_FILL(duckdb_source_fill_interval)
{
	(void)err;
	for (size_t i = 0; i < n; i++) {
		struct fill_interval src;
		struct interval_value value;

		if (duckdb_source_is_null(c, from + i)) {
			vector_set_null(v, row + i);
			continue;
		}
		src = ((const struct fill_interval *)c->data)[from + i];
		value = (struct interval_value){ .microseconds = src.us,
						 .days = src.days,
						 .months = src.months };
		vector_set_fixed(v, row + i, &value);
	}
	return n;
}

DUCKDB_SOURCE_FILL(duckdb_source_fill_uuid)
{
	(void)err;
	for (size_t i = 0; i < n; i++) {
		const uint64_t *halves =
			(const uint64_t *)c->data + 2 * (from + i);
		uint8_t bytes[16];
		uint64_t high;

		if (duckdb_source_is_null(c, from + i)) {
			vector_set_null(v, row + i);
			continue;
		}
		high = halves[1] ^ (UINT64_C(1) << 63);
		for (int k = 0; k < 8; k++) {
			bytes[k] = (uint8_t)(high >> (56 - 8 * k));
			bytes[8 + k] = (uint8_t)(halves[0] >> (56 - 8 * k));
		}
		vector_set_fixed(v, row + i, bytes);
	}
	return n;
}
