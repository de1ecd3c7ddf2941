#include "destinations/mysql/format.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "clients/mysql.h"
#include "core/base/clock.h"
#include "core/base/row_values.h"
#include "core/data/value.h"
#include "destinations/mysql/json.h"

/* Room for the digits of any 64-bit number. */
#define DIGITS_MOST  20
#define STAMP_LENGTH 26 /* 2026-01-31 12:00:00.000001 */
/* MariaDB's TIME ends a microsecond before this, MySQL's a second, and says
 * so. */
#define TIME_END_US (INT64_C(839) * 3600 * US_PER_SECOND)

static void format_unsigned(struct strbuf *out, uint64_t x)
{
	char digits[DIGITS_MOST];
	size_t n = 0;
	char *to;

	do
		digits[n++] = (char)('0' + x % 10);
	while (x /= 10);
	to = strbuf_reserve(out, n);
	out->len += n;
	while (n)
		*to++ = digits[--n];
}

static void format_signed(struct strbuf *out, int64_t x)
{
	if (x < 0)
		strbuf_addch(out, '-');
	format_unsigned(out, x < 0 ? -(uint64_t)x : (uint64_t)x);
}

static void format_integer(struct strbuf *out, const struct vector *v,
			   size_t row)
{
	uint64_t whole;
	int16_t small;

	switch (v->width) {
	case 1:
		format_unsigned(out, v->data[row]);
		break;
	case 2:
		memcpy(&small, v->data + row * 2, 2);
		format_signed(out, small);
		break;
	case 4:
		format_signed(out, vector_i32(v, row));
		break;
	default:
		memcpy(&whole, v->data + row * 8, 8);
		if (v->kind == TYPE_UINT64)
			format_unsigned(out, whole);
		else
			format_signed(out, (int64_t)whole);
	}
}

/* `n` digits of x, with zeros in front. */
static char *format_padded(char *to, uint64_t x, int n)
{
	for (int i = n; i > 0; i--) {
		to[i - 1] = (char)('0' + x % 10);
		x /= 10;
	}
	return to + n;
}

static int format_refuse(const struct vector *v, size_t row, struct error *err)
{
	struct strbuf text = STRBUF_INIT;
	int rc;

	value_print(&text, v, row);
	rc = error_set(err, ERROR_DATA,
		       "%.60s has no equal there (only finite numbers, and "
		       "years from 1 to 9999)",
		       row_value(text.data));
	strbuf_release(&text);
	return rc;
}

static int format_float(struct strbuf *out, const struct vector *v, size_t row,
			struct error *err)
{
	double x;
	float narrow;

	if (v->kind == TYPE_FLOAT32) {
		memcpy(&narrow, v->data + row * 4, 4);
		x = (double)narrow;
	} else {
		memcpy(&x, v->data + row * 8, 8);
	}
	if (!isfinite(x))
		return format_refuse(v, row, err);
	/* A float's own shortest text may lie beyond the largest float. */
	value_print_float64(out, x);
	return 0;
}

static int format_decimal(struct strbuf *out, const struct vector *v,
			  size_t row, struct error *err)
{
	size_t n;
	const char *text = (const char *)vector_bytes(v, row, &n);
	size_t sign = n && *text == '-';

	if (n == sign || text[sign] == 'N' || text[sign] == 'I')
		return format_refuse(v, row, err);
	strbuf_add(out, text, n);
	return 0;
}

/* Floor, for times before 1970. */
static int64_t format_days(int64_t us)
{
	return us / US_PER_DAY - (us % US_PER_DAY < 0);
}

/* False: no day of the server's calendar. */
static bool format_day(char **to, int64_t days)
{
	int64_t year;
	unsigned month, day;

	civil_from_days(days, &year, &month, &day);
	if (year < 1 || year > 9999)
		return false;
	*to = format_padded(*to, (uint64_t)year, 4);
	*(*to)++ = '-';
	*to = format_padded(*to, month, 2);
	*(*to)++ = '-';
	*to = format_padded(*to, day, 2);
	return true;
}

static int format_date(struct strbuf *out, const struct vector *v, size_t row,
		       struct error *err)
{
	char *start = strbuf_reserve(out, STAMP_LENGTH), *to = start;

	if (!format_day(&to, vector_i32(v, row)))
		return format_refuse(v, row, err);
	out->len += (size_t)(to - start);
	return 0;
}

/* The server reads byte by byte: what says nothing is left out. */
static char *format_seconds(char *to, uint64_t us)
{
	to = format_padded(to, us / (60 * US_PER_SECOND) % 60, 2);
	*to++ = ':';
	to = format_padded(to, us / US_PER_SECOND % 60, 2);
	if (us % US_PER_SECOND == 0)
		return to;
	*to++ = '.';
	return format_padded(to, us % US_PER_SECOND, 6);
}

static int format_instant(struct strbuf *out, const struct vector *v,
			  size_t row, struct error *err)
{
	char *start = strbuf_reserve(out, STAMP_LENGTH), *to = start;
	int64_t us = vector_i64(v, row), days = format_days(us);
	uint64_t clock = (uint64_t)(us - days * US_PER_DAY);

	if (us == INT64_MIN || us == INT64_MAX || !format_day(&to, days))
		return format_refuse(v, row, err);
	*to++ = ' ';
	to = format_padded(to, clock / (3600 * (uint64_t)US_PER_SECOND), 2);
	*to++ = ':';
	to = format_seconds(to, clock);
	out->len += (size_t)(to - start);
	return 0;
}

static int format_clock(struct strbuf *out, const struct vector *v, size_t row,
			struct error *err)
{
	struct interval_value x;
	char text[16], *to = text;
	uint64_t us;

	memcpy(&x, v->data + row * sizeof(x), sizeof(x));
	if (x.months || x.days || x.microseconds >= TIME_END_US ||
	    x.microseconds <= -TIME_END_US)
		return error_set(err, ERROR_DATA,
				 "an interval that is no TIME (838:59:59 at "
				 "most)");
	us = (uint64_t)(x.microseconds < 0 ? -x.microseconds : x.microseconds);
	if (x.microseconds < 0)
		strbuf_addch(out, '-');
	to = format_padded(to, us / (3600 * (uint64_t)US_PER_SECOND), 3);
	*to++ = ':';
	to = format_seconds(to, us);
	strbuf_add(out, text, (size_t)(to - text));
	return 0;
}

/* Characters that mean something to LOAD DATA, and NUL, for the sake of old
 * servers. */
static char format_escape(uint8_t c)
{
	switch (c) {
	case '\\':
		return '\\';
	case '\t':
		return 't';
	case '\n':
		return 'n';
	case '\0':
		return '0';
	default:
		return '\0';
	}
}

static void format_escaped(struct strbuf *out, const uint8_t *src, size_t n)
{
	char *to = strbuf_reserve(out, 2 * n), *start = to;

	for (size_t i = 0; i < n; i++) {
		/* Few bytes are below, and the compiler sees to the rest. */
		char escape = src[i] > '\n' && src[i] != '\\'
				      ? '\0'
				      : format_escape(src[i]);

		if (escape)
			*to++ = '\\';
		*to++ = escape ? escape : (char)src[i];
	}
	out->len += (size_t)(to - start);
}

static int format_bytes(struct strbuf *out, enum mysql_target_form form,
			const struct vector *v, size_t row, bool escape,
			struct error *err)
{
	size_t n;
	const uint8_t *bytes = vector_bytes(v, row, &n);

	if (form == FORM_JSON &&
	    mysql_target_json_check((const char *)bytes, n, err))
		return -(int)err->code;
	if (escape)
		format_escaped(out, bytes, n);
	else
		strbuf_add(out, bytes, n);
	return 0;
}

int mysql_target_format_value(struct strbuf *out, enum mysql_target_form form,
			      const struct vector *v, size_t row,
			      struct error *err)
{
	switch (form) {
	case FORM_BYTES:
	case FORM_JSON:
		return format_bytes(out, form, v, row, false, err);
	case FORM_INTEGER:
		format_integer(out, v, row);
		return 0;
	case FORM_FLOAT:
		return format_float(out, v, row, err);
	case FORM_DECIMAL:
		return format_decimal(out, v, row, err);
	case FORM_DATE:
		return format_date(out, v, row, err);
	case FORM_INSTANT:
		return format_instant(out, v, row, err);
	case FORM_CLOCK:
		return format_clock(out, v, row, err);
	default:
		value_print(out, v, row);
		return 0;
	}
}

static int format_field(struct strbuf *out, enum mysql_target_form form,
			const struct vector *v, size_t row, struct error *err)
{
	if (vector_is_null(v, row)) {
		strbuf_add(out, "\\N", 2);
		return 0;
	}
	if (form == FORM_BYTES || form == FORM_JSON)
		return format_bytes(out, form, v, row, true, err);
	return mysql_target_format_value(out, form, v, row, err);
}

int mysql_target_format_row(struct strbuf *out,
			    const enum mysql_target_form *forms,
			    const struct batch *b, size_t row, size_t *column,
			    struct error *err)
{
	size_t n = b->schema->n_columns;
	int rc;

	for (size_t i = 0; i < n; i++) {
		rc = format_field(out, forms[i], &b->vectors[i], row, err);
		if (rc) {
			*column = i;
			return rc;
		}
		strbuf_addch(out, i + 1 < n ? '\t' : '\n');
	}
	return 0;
}

static bool format_is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789.-")];
}

void mysql_target_format_mark(struct strbuf *sb, enum type_kind kind,
			      const char *text)
{
	int64_t us;

	switch (kind) {
	case TYPE_TIMESTAMP:
	case TYPE_TIMESTAMPTZ:
		if (!value_parse_timestamp(text, &us) || us == INT64_MIN ||
		    us == INT64_MAX) {
			strbuf_addstr(sb, "NULL");
			break;
		}
		strbuf_addstr(sb, "CAST('");
		value_print_timestamp(sb, us, false);
		strbuf_addstr(sb, "' AS DATETIME(6))");
		break;
	case TYPE_INT16:
	case TYPE_INT32:
	case TYPE_INT64:
	case TYPE_UINT64:
	case TYPE_DECIMAL:
		strbuf_addstr(sb, format_is_number(text) ? text : "NULL");
		break;
	default:
		mysql_client_quote(sb, text);
	}
}
