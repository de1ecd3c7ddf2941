#include "core/sync/backfill_value.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/data/value.h"

enum backfill_kind backfill_value_kind(const struct watermark_spec *mark,
				       const struct schema *schema)
{
	long at = schema_find(schema, mark->column);

	if (!mark->any_type)
		return mark->strategy == STRATEGY_TIMESTAMP ? BACKFILL_TIME
							    : BACKFILL_NUMBER;
	switch (at < 0 ? TYPE_NATIVE : schema->columns[at].type.kind) {
	case TYPE_INT16:
	case TYPE_INT32:
	case TYPE_INT64:
	case TYPE_UINT64:
		return BACKFILL_NUMBER;
	case TYPE_DATE:
	case TYPE_TIMESTAMP:
	case TYPE_TIMESTAMPTZ:
		return BACKFILL_TIME;
	case TYPE_TEXT:
		return BACKFILL_TEXT;
	default:
		return BACKFILL_OTHER;
	}
}

static bool value_time(const char *text, int64_t *us)
{
	int32_t days;

	if (value_parse_timestamp(text, us))
		return true;
	if (!value_parse_date(text, &days))
		return false;
	*us = days * US_PER_DAY;
	return true;
}

static bool value_is_number(const char *text)
{
	text += *text == '-';
	return *text && text[strspn(text, "0123456789")] == '\0';
}

int backfill_value_read(enum backfill_kind kind, const char *column,
			const char *flag, const char *text, char **out,
			struct error *err)
{
	bool fits = true;
	int64_t us;

	*out = NULL;
	if (!text)
		return 0;
	if (kind == BACKFILL_TIME)
		fits = value_time(text, &us);
	else if (kind == BACKFILL_NUMBER)
		fits = value_is_number(text);
	if (!fits)
		return error_set(err, ERROR_CONFIG,
				 "%s: \"%s\" is not a value of column %s, "
				 "which holds %s",
				 flag, text, column,
				 kind == BACKFILL_TIME
					 ? "points in time: write it as "
					   "2026-01-31 or 2026-01-31 12:00:00"
					 : "whole numbers");
	*out = xstrdup(text);
	return 0;
}

/* Of any length. */
static int value_compare_numbers(const char *a, const char *b)
{
	bool a_less = *a == '-', b_less = *b == '-';
	size_t na, nb;
	int order;

	if (a_less != b_less)
		return a_less ? -1 : 1;
	a += a_less;
	b += b_less;
	a += strspn(a, "0");
	b += strspn(b, "0");
	na = strlen(a);
	nb = strlen(b);
	order = na != nb ? (na < nb ? -1 : 1) : strcmp(a, b);
	return a_less ? -order : order;
}

int backfill_value_compare(enum backfill_kind kind, const char *a,
			   const char *b)
{
	int64_t x = 0, y = 0;

	switch (kind) {
	case BACKFILL_TIME:
		value_time(a, &x);
		value_time(b, &y);
		return x < y ? -1 : x > y;
	case BACKFILL_NUMBER:
		return value_compare_numbers(a, b);
	case BACKFILL_TEXT:
		return strcmp(a, b);
	case BACKFILL_OTHER:
		break;
	}
	return 0;
}
