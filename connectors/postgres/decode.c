#include "connectors/postgres/decode.h"

#include <endian.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/utf8.h"

/* PostgreSQL counts from 2000-01-01. */
#define DECODE_EPOCH_DAYS INT32_C(10957)
#define DECODE_EPOCH_US	  (DECODE_EPOCH_DAYS * US_PER_DAY)

static uint16_t decode_u16(const uint8_t *p)
{
	uint16_t x;

	memcpy(&x, p, sizeof(x));
	return be16toh(x);
}

static uint32_t decode_u32(const uint8_t *p)
{
	uint32_t x;

	memcpy(&x, p, sizeof(x));
	return be32toh(x);
}

static uint64_t decode_u64(const uint8_t *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof(x));
	return be64toh(x);
}

static int decode_bad_length(size_t n, size_t expected, struct error *err)
{
	return error_set(err, ERROR_DATA,
			 "a value of %zu bytes where its type has %zu", n,
			 expected);
}

int postgres_source_decode_bool(struct vector *v, size_t row,
				const uint8_t *bytes, size_t n,
				struct error *err)
{
	uint8_t value;

	if (n != 1)
		return decode_bad_length(n, 1, err);
	value = bytes[0] != 0;
	vector_set_fixed(v, row, &value);
	return 0;
}

int postgres_source_decode_int2(struct vector *v, size_t row,
				const uint8_t *bytes, size_t n,
				struct error *err)
{
	uint16_t value;

	if (n != 2)
		return decode_bad_length(n, 2, err);
	value = decode_u16(bytes);
	vector_set_present(v, row);
	memcpy(v->data + row * sizeof(value), &value, sizeof(value));
	return 0;
}

int postgres_source_decode_int4(struct vector *v, size_t row,
				const uint8_t *bytes, size_t n,
				struct error *err)
{
	uint32_t value;

	if (n != 4)
		return decode_bad_length(n, 4, err);
	value = decode_u32(bytes);
	vector_set_present(v, row);
	memcpy(v->data + row * sizeof(value), &value, sizeof(value));
	return 0;
}

static void decode_put64(struct vector *v, size_t row, uint64_t value)
{
	vector_set_present(v, row);
	memcpy(v->data + row * sizeof(value), &value, sizeof(value));
}

int postgres_source_decode_int8(struct vector *v, size_t row,
				const uint8_t *bytes, size_t n,
				struct error *err)
{
	if (n != 8)
		return decode_bad_length(n, 8, err);
	decode_put64(v, row, decode_u64(bytes));
	return 0;
}

int postgres_source_decode_oid(struct vector *v, size_t row,
			       const uint8_t *bytes, size_t n,
			       struct error *err)
{
	if (n != 4)
		return decode_bad_length(n, 4, err);
	decode_put64(v, row, decode_u32(bytes));
	return 0;
}

int postgres_source_decode_bytes(struct vector *v, size_t row,
				 const uint8_t *bytes, size_t n,
				 struct error *err)
{
	return vector_set_bytes(v, row, bytes, n, err);
}

static bool decode_is_utf8(const char *text, size_t n)
{
	while (n) {
		size_t one = utf8_char_length(text, n);
		if (!one)
			return false;
		text += one;
		n -= one;
	}
	return true;
}

int postgres_source_decode_text_checked(struct vector *v, size_t row,
					const uint8_t *bytes, size_t n,
					struct error *err)
{
	if (!decode_is_utf8((const char *)bytes, n))
		return error_set(err, ERROR_DATA,
				 "text that is not UTF-8 (the database's "
				 "encoding is SQL_ASCII)");
	return vector_set_bytes(v, row, bytes, n, err);
}

int postgres_source_decode_jsonb(struct vector *v, size_t row,
				 const uint8_t *bytes, size_t n,
				 struct error *err)
{
	if (n < 1 || bytes[0] != 1)
		return error_set(err, ERROR_DATA,
				 "jsonb in an unknown version of its form");
	return vector_set_bytes(v, row, bytes + 1, n - 1, err);
}

int postgres_source_decode_date(struct vector *v, size_t row,
				const uint8_t *bytes, size_t n,
				struct error *err)
{
	int32_t days;

	if (n != 4)
		return decode_bad_length(n, 4, err);
	days = (int32_t)decode_u32(bytes);
	/* Infinity is the same number on both sides. */
	if (days != INT32_MAX && days != INT32_MIN &&
	    __builtin_add_overflow(days, DECODE_EPOCH_DAYS, &days))
		return error_set(err, ERROR_DATA, "a date out of range");
	vector_set_fixed(v, row, &days);
	return 0;
}

int postgres_source_decode_time(struct vector *v, size_t row,
				const uint8_t *bytes, size_t n,
				struct error *err)
{
	uint64_t us;

	if (n != 8)
		return decode_bad_length(n, 8, err);
	us = decode_u64(bytes);
	if (us > (uint64_t)US_PER_DAY)
		return error_set(err, ERROR_DATA, "a time of day out of range");
	decode_put64(v, row, us);
	return 0;
}

/* The server's range ends 54 years behind ours, in the year 294276. */
int postgres_source_decode_timestamp(struct vector *v, size_t row,
				     const uint8_t *bytes, size_t n,
				     struct error *err)
{
	int64_t us;

	if (n != 8)
		return decode_bad_length(n, 8, err);
	us = (int64_t)decode_u64(bytes);
	if (us != INT64_MAX && us != INT64_MIN &&
	    (__builtin_add_overflow(us, DECODE_EPOCH_US, &us) ||
	     us == INT64_MAX))
		return error_set(err, ERROR_DATA,
				 "a timestamp behind the year 294246");
	decode_put64(v, row, (uint64_t)us);
	return 0;
}

int postgres_source_decode_interval(struct vector *v, size_t row,
				    const uint8_t *bytes, size_t n,
				    struct error *err)
{
	struct interval_value value;

	if (n != 16)
		return decode_bad_length(n, 16, err);
	value.microseconds = (int64_t)decode_u64(bytes);
	value.days = (int32_t)decode_u32(bytes + 8);
	value.months = (int32_t)decode_u32(bytes + 12);
	vector_set_fixed(v, row, &value);
	return 0;
}

int postgres_source_decode_uuid(struct vector *v, size_t row,
				const uint8_t *bytes, size_t n,
				struct error *err)
{
	if (n != 16)
		return decode_bad_length(n, 16, err);
	vector_set_fixed(v, row, bytes);
	return 0;
}
