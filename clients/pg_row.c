#include "clients/pg_row.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

static const uint8_t row_signature[11] = "PGCOPY\n\377\r\n";

/* The unread rest of a message. */
struct row_bytes {
	const uint8_t *at;
	size_t n;
};

static bool row_take(struct row_bytes *b, size_t n, const uint8_t **out)
{
	if (b->n < n)
		return false;
	*out = b->at;
	b->at += n;
	b->n -= n;
	return true;
}

static bool row_take_int16(struct row_bytes *b, int32_t *out)
{
	const uint8_t *p;
	uint16_t x;

	if (!row_take(b, sizeof(x), &p))
		return false;
	memcpy(&x, p, sizeof(x));
	*out = (int16_t)be16toh(x);
	return true;
}

static bool row_take_int32(struct row_bytes *b, int32_t *out)
{
	const uint8_t *p;
	uint32_t x;

	if (!row_take(b, sizeof(x), &p))
		return false;
	memcpy(&x, p, sizeof(x));
	*out = (int32_t)be32toh(x);
	return true;
}

static bool row_take_header(struct row_bytes *b)
{
	const uint8_t *signature, *extension;
	int32_t flags, n;

	/* A reader must understand the upper half of the flags. */
	return row_take(b, sizeof(row_signature), &signature) &&
	       !memcmp(signature, row_signature, sizeof(row_signature)) &&
	       row_take_int32(b, &flags) && !(flags & ~0xffff) &&
	       row_take_int32(b, &n) && n >= 0 &&
	       row_take(b, (size_t)n, &extension);
}

static bool row_take_fields(struct row_bytes *b, struct pg_row *row)
{
	struct pg_field_bytes *f = row->fields, *end = f + row->n_fields;

	for (; f < end; f++) {
		int32_t n;

		if (!row_take_int32(b, &n) || n < -1)
			return false;
		f->data = NULL;
		f->n = n < 0 ? 0 : (size_t)n;
		if (n >= 0 && !row_take(b, f->n, &f->data))
			return false;
	}
	return !b->n;
}

static int pg_row_refuse(struct pg_row *row, int32_t count, size_t n,
			 struct error *err)
{
	row->n_fields = 0;
	if (count >= 0 && (size_t)count != row->width)
		return error_set(err, ERROR_TRANSIENT,
				 "the server sent a row of %d columns, and not "
				 "of the %zu that were asked for",
				 (int)count, row->width);
	return error_set(err, ERROR_TRANSIENT,
			 "the server sent %zu bytes that are no row of a "
			 "binary COPY",
			 n);
}

int pg_row_read(struct pg_row *row, const uint8_t *data, size_t n,
		struct error *err)
{
	struct row_bytes b = { data, n };
	int32_t count = -2;
	bool ok = row->begun || row_take_header(&b);

	row->begun = true;
	row->n_fields = 0;
	ok = ok && row_take_int16(&b, &count);
	if (ok && count == -1 && !b.n)
		return 0;
	if (!ok || count < 0 || (size_t)count != row->width)
		return pg_row_refuse(row, count, n, err);
	row->n_fields = row->width;
	row->fields = xgrow(row->fields, &row->capacity, row->n_fields,
			    sizeof(*row->fields));
	return row_take_fields(&b, row) ? 1 : pg_row_refuse(row, -1, n, err);
}

void pg_row_release(struct pg_row *row)
{
	free(row->fields);
	memset(row, 0, sizeof(*row));
}
