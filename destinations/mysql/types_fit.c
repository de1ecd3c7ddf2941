#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "destinations/mysql/types.h"

#define CHAR_BYTES 4 /* utf8mb4 */

bool mysql_target_type_is_text(enum mysql_target_base base)
{
	return base == MYSQL_TARGET_CHAR || base == MYSQL_TARGET_VARCHAR ||
	       base == MYSQL_TARGET_TEXT || base == MYSQL_TARGET_ENUM ||
	       base == MYSQL_TARGET_JSON;
}

static bool fit_is_binary(enum mysql_target_base base)
{
	return base == MYSQL_TARGET_BINARY || base == MYSQL_TARGET_VARBINARY ||
	       base == MYSQL_TARGET_BLOB;
}

static enum fit fit_grows(const struct mysql_target_type *wanted, char **grown)
{
	*grown = xstrdup(wanted->name);
	return FIT_GROWS;
}

/* Decimal digits that an integer may need. */
static int fit_digits(const struct mysql_target_type *t)
{
	static const int digits[] = { 0, 3, 5, 8, 10, 0, 0, 0, 19 };

	return digits[t->width] + (t->width == 8 && t->is_unsigned);
}

static enum fit fit_integer(const struct mysql_target_type *wanted,
			    const struct mysql_target_type *actual,
			    char **grown)
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

static enum fit fit_decimal(int whole, int scale,
			    const struct mysql_target_type *actual,
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

static enum fit fit_number(const struct mysql_target_type *wanted,
			   const struct mysql_target_type *actual, char **grown)
{
	int whole;

	if (wanted->base == MYSQL_TARGET_INT &&
	    actual->base == MYSQL_TARGET_INT)
		return fit_integer(wanted, actual, grown);
	if (wanted->base == MYSQL_TARGET_DECIMAL &&
	    actual->base == MYSQL_TARGET_DECIMAL)
		return fit_decimal((int)wanted->length - wanted->scale,
				   wanted->scale, actual, grown);
	if (wanted->base == MYSQL_TARGET_INT &&
	    actual->base == MYSQL_TARGET_DECIMAL) {
		enum fit fit =
			fit_decimal(fit_digits(wanted), 0, actual, grown);
		return fit == FIT_EXACT ? FIT_WIDER : fit;
	}
	if (wanted->base == MYSQL_TARGET_DECIMAL &&
	    actual->base == MYSQL_TARGET_INT) {
		whole = (int)wanted->length - wanted->scale;
		if (whole < fit_digits(actual))
			whole = fit_digits(actual);
		*grown = xstrfmt("decimal(%d,%d)", whole + wanted->scale,
				 wanted->scale);
		return FIT_GROWS;
	}
	if (wanted->base == MYSQL_TARGET_FLOAT &&
	    actual->base == MYSQL_TARGET_DOUBLE)
		return FIT_WIDER;
	if (wanted->base == MYSQL_TARGET_DOUBLE &&
	    actual->base == MYSQL_TARGET_FLOAT)
		return fit_grows(wanted, grown);
	return FIT_NARROW;
}

/* Bytes that a text or binary column holds at least. */
static int64_t fit_capacity(const struct mysql_target_type *t)
{
	return t->base == MYSQL_TARGET_CHAR || t->base == MYSQL_TARGET_VARCHAR
		       ? t->length * CHAR_BYTES
		       : t->length;
}

/* CHAR drops blanks at the end, BINARY adds zeros. */
static bool fit_is_padded(enum mysql_target_base base)
{
	return base == MYSQL_TARGET_CHAR || base == MYSQL_TARGET_BINARY;
}

static enum fit fit_text(const struct mysql_target_type *wanted,
			 const struct mysql_target_type *actual, char **grown)
{
	bool holds = wanted->base == MYSQL_TARGET_TEXT ||
				     wanted->base == MYSQL_TARGET_BLOB ||
				     actual->base == MYSQL_TARGET_TEXT ||
				     actual->base == MYSQL_TARGET_BLOB
			     ? fit_capacity(actual) >= fit_capacity(wanted)
			     : actual->length >= wanted->length;

	if (fit_is_padded(actual->base) && actual->base != wanted->base)
		return fit_grows(wanted, grown);
	if (wanted->base == actual->base && wanted->length == actual->length)
		return FIT_EXACT;
	if (actual->base == MYSQL_TARGET_BINARY &&
	    actual->length != wanted->length)
		return FIT_NARROW;
	return holds ? FIT_WIDER : fit_grows(wanted, grown);
}

/* The same words mean the same, but for what they are given in brackets. */
static enum fit fit_same(const struct mysql_target_type *wanted,
			 const struct mysql_target_type *actual, char **grown)
{
	switch (wanted->base) {
	case MYSQL_TARGET_DATETIME:
	case MYSQL_TARGET_TIMESTAMP:
	case MYSQL_TARGET_TIME:
		if (wanted->scale == actual->scale)
			return FIT_EXACT;
		return actual->scale > wanted->scale ? FIT_WIDER
						     : fit_grows(wanted, grown);
	case MYSQL_TARGET_BIT:
		if (wanted->length == actual->length)
			return FIT_EXACT;
		return actual->length > wanted->length
			       ? FIT_WIDER
			       : fit_grows(wanted, grown);
	case MYSQL_TARGET_INET:
		return wanted->width == actual->width ? FIT_EXACT : FIT_NARROW;
	case MYSQL_TARGET_OTHER:
		return FIT_NARROW;
	default:
		return FIT_EXACT;
	}
}

static bool fit_is_number(enum mysql_target_base base)
{
	return base == MYSQL_TARGET_INT || base == MYSQL_TARGET_DECIMAL ||
	       base == MYSQL_TARGET_FLOAT || base == MYSQL_TARGET_DOUBLE;
}

static bool fit_is_string(enum mysql_target_base base)
{
	return base == MYSQL_TARGET_CHAR || base == MYSQL_TARGET_VARCHAR ||
	       base == MYSQL_TARGET_TEXT;
}

/* A wanted TIMESTAMP or YEAR is a value of that range in a wider type too. */
static enum fit fit_other(const struct mysql_target_type *wanted,
			  const struct mysql_target_type *actual, char **grown)
{
	if (wanted->base == MYSQL_TARGET_TIMESTAMP &&
	    actual->base == MYSQL_TARGET_DATETIME)
		return actual->scale >= wanted->scale
			       ? FIT_WIDER
			       : fit_same(
					 &(struct mysql_target_type){
						 .base = MYSQL_TARGET_DATETIME,
						 .name = wanted->name,
						 .scale = wanted->scale },
					 actual, grown);
	if (wanted->base == MYSQL_TARGET_DATETIME &&
	    actual->base == MYSQL_TARGET_TIMESTAMP)
		return fit_grows(wanted, grown);
	if (wanted->base == MYSQL_TARGET_YEAR &&
	    actual->base == MYSQL_TARGET_INT)
		return actual->width > 1 ? FIT_WIDER : FIT_NARROW;
	if (wanted->base == MYSQL_TARGET_BIT &&
	    actual->base == MYSQL_TARGET_INT)
		return actual->width == 8 && (actual->is_unsigned ||
					      wanted->length < 64)
			       ? FIT_WIDER
			       : FIT_NARROW;
	if (wanted->base == MYSQL_TARGET_JSON &&
	    actual->base == MYSQL_TARGET_TEXT)
		return actual->length >= wanted->length ? FIT_WIDER
							: FIT_NARROW;
	return FIT_NARROW;
}

enum fit mysql_target_type_fit(const struct mysql_target_type *wanted,
			       const struct mysql_target_type *actual,
			       char **grown)
{
	*grown = NULL;
	if (fit_is_number(wanted->base) && fit_is_number(actual->base) &&
	    (wanted->base != actual->base || wanted->base == MYSQL_TARGET_INT ||
	     wanted->base == MYSQL_TARGET_DECIMAL))
		return fit_number(wanted, actual, grown);
	if (fit_is_string(wanted->base) && fit_is_string(actual->base))
		return fit_text(wanted, actual, grown);
	if (fit_is_binary(wanted->base) && fit_is_binary(actual->base))
		return fit_text(wanted, actual, grown);
	if (wanted->base == actual->base)
		return fit_same(wanted, actual, grown);
	/* Anything that is not bytes has a text. */
	if (actual->base == MYSQL_TARGET_TEXT && actual->length >= UINT32_MAX &&
	    !fit_is_binary(wanted->base))
		return FIT_WIDER;
	return fit_other(wanted, actual, grown);
}

bool mysql_target_type_keeps_order(enum type_kind kind,
				   const struct mysql_target_type *actual)
{
	return !mysql_target_type_is_text(actual->base) || kind == TYPE_TEXT;
}

static enum mysql_target_form form_of_kind(enum type_kind kind,
					   enum mysql_target_base base)
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
		return base == MYSQL_TARGET_TIME ? FORM_CLOCK : FORM_PRINTED;
	case TYPE_TEXT:
	case TYPE_BYTES:
	case TYPE_JSON:
	case TYPE_NATIVE:
		return FORM_BYTES;
	default:
		return FORM_PRINTED;
	}
}

enum mysql_target_form
mysql_target_type_form(enum type_kind kind,
		       const struct mysql_target_type *actual)
{
	bool text = kind == TYPE_TEXT || kind == TYPE_JSON ||
		    kind == TYPE_NATIVE || kind == TYPE_DECIMAL;

	if (actual->base == MYSQL_TARGET_JSON && text)
		return FORM_JSON;
	if (mysql_target_type_is_text(actual->base))
		return text ? FORM_BYTES : FORM_PRINTED;
	return form_of_kind(kind, actual->base);
}

/* A variable of LOAD DATA is bytes: it has to be told what they mean. */
bool mysql_target_type_needs_cast(const struct mysql_target_type *actual,
				  const char *charset)
{
	switch (actual->base) {
	case MYSQL_TARGET_BIT:
	case MYSQL_TARGET_YEAR:
	case MYSQL_TARGET_JSON:
	case MYSQL_TARGET_UUID:
	case MYSQL_TARGET_INET:
	case MYSQL_TARGET_ENUM:
		return true;
	default:
		return charset && *charset && strcmp(charset, "utf8mb4") != 0;
	}
}

/* A number as text is no bits, and the year "0" is 2000. MySQL reads no text as
 * a number beyond 63 bits. */
void mysql_target_type_cast(struct strbuf *sb,
			    const struct mysql_target_type *actual,
			    const char *charset, const char *value)
{
	if (!mysql_target_type_needs_cast(actual, charset))
		strbuf_addstr(sb, value);
	else if (actual->base == MYSQL_TARGET_BIT)
		strbuf_addf(sb, "CAST(CAST(%s AS DECIMAL(20)) AS UNSIGNED)",
			    value);
	else if (actual->base == MYSQL_TARGET_YEAR)
		strbuf_addf(sb, "CAST(%s AS SIGNED)", value);
	else
		strbuf_addf(sb, "CONVERT(%s USING utf8mb4)", value);
}
