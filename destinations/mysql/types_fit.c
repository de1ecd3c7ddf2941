#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "destinations/mysql/types.h"

#define CHAR_BYTES 4 /* utf8mb4 */

bool my_type_is_text(enum my_base base)
{
	return base == MY_CHAR || base == MY_VARCHAR || base == MY_TEXT ||
	       base == MY_ENUM || base == MY_JSON;
}

static bool fit_is_binary(enum my_base base)
{
	return base == MY_BINARY || base == MY_VARBINARY || base == MY_BLOB;
}

static enum fit fit_grows(const struct my_type *wanted, char **grown)
{
	*grown = xstrdup(wanted->name);
	return FIT_GROWS;
}

/* Decimal digits that an integer may need. */
static int fit_digits(const struct my_type *t)
{
	static const int digits[] = { 0, 3, 5, 8, 10, 0, 0, 0, 19 };

	return digits[t->width] + (t->width == 8 && t->is_unsigned);
}

static enum fit fit_integer(const struct my_type *wanted,
			    const struct my_type *actual, char **grown)
{
	if (wanted->width == actual->width &&
	    wanted->is_unsigned == actual->is_unsigned)
		return FIT_EXACT;
	if (wanted->is_unsigned == actual->is_unsigned)
		return actual->width > wanted->width ? FIT_WIDER
						     : fit_grows(wanted, grown);
	if (wanted->is_unsigned)
		return actual->width > wanted->width ? FIT_WIDER : FIT_NARROW;
	return FIT_NARROW;
}

static enum fit fit_decimal(int whole, int scale, const struct my_type *actual,
			    char **grown)
{
	int actual_whole = (int)actual->length - actual->scale;

	if (actual_whole == whole && actual->scale == scale)
		return FIT_EXACT;
	if (actual_whole >= whole && actual->scale >= scale)
		return FIT_WIDER;
	if (actual_whole > whole)
		whole = actual_whole;
	if (actual->scale > scale)
		scale = actual->scale;
	if (whole + scale > 65)
		return FIT_NARROW;
	*grown = xstrfmt("decimal(%d,%d)", whole + scale, scale);
	return FIT_GROWS;
}

static enum fit fit_number(const struct my_type *wanted,
			   const struct my_type *actual, char **grown)
{
	int whole;

	if (wanted->base == MY_INT && actual->base == MY_INT)
		return fit_integer(wanted, actual, grown);
	if (wanted->base == MY_DECIMAL && actual->base == MY_DECIMAL)
		return fit_decimal((int)wanted->length - wanted->scale,
				   wanted->scale, actual, grown);
	if (wanted->base == MY_INT && actual->base == MY_DECIMAL) {
		enum fit fit =
			fit_decimal(fit_digits(wanted), 0, actual, grown);
		return fit == FIT_EXACT ? FIT_WIDER : fit;
	}
	if (wanted->base == MY_DECIMAL && actual->base == MY_INT) {
		whole = (int)wanted->length - wanted->scale;
		if (whole < fit_digits(actual))
			whole = fit_digits(actual);
		*grown = xstrfmt("decimal(%d,%d)", whole + wanted->scale,
				 wanted->scale);
		return FIT_GROWS;
	}
	if (wanted->base == MY_FLOAT && actual->base == MY_DOUBLE)
		return FIT_WIDER;
	if (wanted->base == MY_DOUBLE && actual->base == MY_FLOAT)
		return fit_grows(wanted, grown);
	return FIT_NARROW;
}

/* Bytes that a text or binary column holds at least. */
static int64_t fit_capacity(const struct my_type *t)
{
	return t->base == MY_CHAR || t->base == MY_VARCHAR
		       ? t->length * CHAR_BYTES
		       : t->length;
}

/* CHAR drops blanks at the end, BINARY adds zeros. */
static bool fit_is_padded(enum my_base base)
{
	return base == MY_CHAR || base == MY_BINARY;
}

static enum fit fit_text(const struct my_type *wanted,
			 const struct my_type *actual, char **grown)
{
	bool holds = wanted->base == MY_TEXT || wanted->base == MY_BLOB ||
				     actual->base == MY_TEXT ||
				     actual->base == MY_BLOB
			     ? fit_capacity(actual) >= fit_capacity(wanted)
			     : actual->length >= wanted->length;

	if (fit_is_padded(actual->base) && actual->base != wanted->base)
		return fit_grows(wanted, grown);
	if (wanted->base == actual->base && wanted->length == actual->length)
		return FIT_EXACT;
	if (actual->base == MY_BINARY && actual->length != wanted->length)
		return FIT_NARROW;
	return holds ? FIT_WIDER : fit_grows(wanted, grown);
}

/* The same words mean the same, but for what they are given in brackets. */
static enum fit fit_same(const struct my_type *wanted,
			 const struct my_type *actual, char **grown)
{
	switch (wanted->base) {
	case MY_DATETIME:
	case MY_TIMESTAMP:
	case MY_TIME:
		if (wanted->scale == actual->scale)
			return FIT_EXACT;
		return actual->scale > wanted->scale ? FIT_WIDER
						     : fit_grows(wanted, grown);
	case MY_BIT:
		if (wanted->length == actual->length)
			return FIT_EXACT;
		return actual->length > wanted->length
			       ? FIT_WIDER
			       : fit_grows(wanted, grown);
	case MY_INET:
		return wanted->width == actual->width ? FIT_EXACT : FIT_NARROW;
	case MY_OTHER:
		return FIT_NARROW;
	default:
		return FIT_EXACT;
	}
}

static bool fit_is_number(enum my_base base)
{
	return base == MY_INT || base == MY_DECIMAL || base == MY_FLOAT ||
	       base == MY_DOUBLE;
}

static bool fit_is_string(enum my_base base)
{
	return base == MY_CHAR || base == MY_VARCHAR || base == MY_TEXT;
}

/* A wanted TIMESTAMP or YEAR is a value of that range in a wider type too. */
static enum fit fit_other(const struct my_type *wanted,
			  const struct my_type *actual, char **grown)
{
	if (wanted->base == MY_TIMESTAMP && actual->base == MY_DATETIME)
		return actual->scale >= wanted->scale
			       ? FIT_WIDER
			       : fit_same(
					 &(struct my_type){
						 .base = MY_DATETIME,
						 .name = wanted->name,
						 .scale = wanted->scale },
					 actual, grown);
	if (wanted->base == MY_DATETIME && actual->base == MY_TIMESTAMP)
		return fit_grows(wanted, grown);
	if (wanted->base == MY_YEAR && actual->base == MY_INT)
		return actual->width > 1 ? FIT_WIDER : FIT_NARROW;
	if (wanted->base == MY_BIT && actual->base == MY_INT)
		return actual->width == 8 && (actual->is_unsigned ||
					      wanted->length < 64)
			       ? FIT_WIDER
			       : FIT_NARROW;
	if (wanted->base == MY_JSON && actual->base == MY_TEXT)
		return actual->length >= wanted->length ? FIT_WIDER
							: FIT_NARROW;
	return FIT_NARROW;
}

enum fit my_type_fit(const struct my_type *wanted, const struct my_type *actual,
		     char **grown)
{
	*grown = NULL;
	if (fit_is_number(wanted->base) && fit_is_number(actual->base) &&
	    (wanted->base != actual->base || wanted->base == MY_INT ||
	     wanted->base == MY_DECIMAL))
		return fit_number(wanted, actual, grown);
	if (fit_is_string(wanted->base) && fit_is_string(actual->base))
		return fit_text(wanted, actual, grown);
	if (fit_is_binary(wanted->base) && fit_is_binary(actual->base))
		return fit_text(wanted, actual, grown);
	if (wanted->base == actual->base)
		return fit_same(wanted, actual, grown);
	/* Anything that is not bytes has a text. */
	if (actual->base == MY_TEXT && actual->length >= UINT32_MAX &&
	    !fit_is_binary(wanted->base))
		return FIT_WIDER;
	return fit_other(wanted, actual, grown);
}

bool my_type_keeps_order(enum type_kind kind, const struct my_type *actual)
{
	return !my_type_is_text(actual->base) || kind == TYPE_TEXT;
}

static enum my_form form_of_kind(enum type_kind kind, enum my_base base)
{
	switch (kind) {
	case TYPE_BOOL:
	case TYPE_INT16:
	case TYPE_INT32:
	case TYPE_INT64:
	case TYPE_UINT64:
		return FORM_INTEGER;
	case TYPE_FLOAT32:
	case TYPE_FLOAT64:
		return FORM_FLOAT;
	case TYPE_DECIMAL:
		return FORM_DECIMAL;
	case TYPE_DATE:
		return FORM_DATE;
	case TYPE_TIMESTAMP:
	case TYPE_TIMESTAMPTZ:
		return FORM_INSTANT;
	case TYPE_INTERVAL:
		return base == MY_TIME ? FORM_CLOCK : FORM_PRINTED;
	case TYPE_TEXT:
	case TYPE_BYTES:
	case TYPE_JSON:
	case TYPE_NATIVE:
		return FORM_BYTES;
	default:
		return FORM_PRINTED;
	}
}

enum my_form my_type_form(enum type_kind kind, const struct my_type *actual)
{
	bool text = kind == TYPE_TEXT || kind == TYPE_JSON ||
		    kind == TYPE_NATIVE || kind == TYPE_DECIMAL;

	if (actual->base == MY_JSON && text)
		return FORM_JSON;
	if (my_type_is_text(actual->base))
		return text ? FORM_BYTES : FORM_PRINTED;
	return form_of_kind(kind, actual->base);
}

/* A variable of LOAD DATA is bytes: it has to be told what they mean. */
bool my_type_needs_cast(const struct my_type *actual, const char *charset)
{
	switch (actual->base) {
	case MY_BIT:
	case MY_YEAR:
	case MY_JSON:
	case MY_UUID:
	case MY_INET:
	case MY_ENUM:
		return true;
	default:
		return charset && *charset && strcmp(charset, "utf8mb4") != 0;
	}
}

/* A number as text is no bits, and the year "0" is 2000. MySQL reads no text as
 * a number beyond 63 bits. */
void my_type_cast(struct strbuf *sb, const struct my_type *actual,
		  const char *charset, const char *value)
{
	if (!my_type_needs_cast(actual, charset))
		strbuf_addstr(sb, value);
	else if (actual->base == MY_BIT)
		strbuf_addf(sb, "CAST(CAST(%s AS DECIMAL(20)) AS UNSIGNED)",
			    value);
	else if (actual->base == MY_YEAR)
		strbuf_addf(sb, "CAST(%s AS SIGNED)", value);
	else
		strbuf_addf(sb, "CONVERT(%s USING utf8mb4)", value);
}
