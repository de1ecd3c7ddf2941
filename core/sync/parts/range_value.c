#include "core/sync/parts/range_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/data/value.h"

enum range_kind range_value_kind(const struct watermark_spec *mark,
				 const struct schema *schema)
{
	long at = schema_find_source(schema, mark->column);

	if (!mark->any_type)
		return mark->strategy == STRATEGY_TIMESTAMP ? RANGE_TIME
							    : RANGE_NUMBER;
	switch (at < 0 ? TYPE_NATIVE : schema->columns[at].type.kind) {
	case TYPE_INT16:
	case TYPE_INT32:
	case TYPE_INT64:
	case TYPE_UINT64:
		return RANGE_NUMBER;
	case TYPE_DATE:
	case TYPE_TIMESTAMP:
	case TYPE_TIMESTAMPTZ:
		return RANGE_TIME;
	case TYPE_TEXT:
		return RANGE_TEXT;
	default:
		return RANGE_OTHER;
	}
}

static bool value_is_number(const char *text)
{
	text += *text == '-';
	return *text && text[strspn(text, "0123456789")] == '\0';
}

int range_value_read(enum range_kind kind, const char *column, const char *flag,
		     const char *text, char **out, struct error *err)
{
	bool fits = true;
	int64_t us;

	*out = NULL;
	if (!text)
		return 0;
	if (kind == RANGE_TIME)
		fits = value_parse_instant(text, &us);
	else if (kind == RANGE_NUMBER)
		fits = value_is_number(text);
	if (!fits)
		return error_set(
			err, ERROR_CONFIG,
			"%s: \"%s\" is not a value of column %s, "
			"which holds %s",
			flag, text, column,
			kind == RANGE_TIME
				? "points in time: write it as "
				  "2026-01-31 or 2026-01-31 12:00:00, in "
				  "UTC where the column has a zone"
				: "whole numbers");
	*out = xstrdup(text);
	return 0;
}

static int64_t value_year_us(int year)
{
	char text[24];
	int32_t days = 0;

	snprintf(text, sizeof(text), "%04d-01-01", year);
	value_parse_date(text, &days);
	return days * US_PER_DAY;
}

/* Behind the date: "Z" and "+00" say no more than nothing does. */
static bool value_has_zone(const char *text)
{
	const char *time = text + strcspn(text, " T");
	const char *zone = time + strcspn(time, "+-");

	return *zone && zone[1 + strspn(zone + 1, "0:")] != '\0';
}

static const char *value_why_not(enum type_kind type, bool short_years,
				 const char *text, int64_t us)
{
	int64_t first = value_year_us(1), last = value_year_us(10000);

	if (short_years && (us < first || us >= last))
		return "which holds the years 1 to 9999";
	if (type == TYPE_DATE && us % US_PER_DAY && us != INT64_MIN &&
	    us != INT64_MAX)
		return "which holds days: write it without a time";
	if (type == TYPE_TIMESTAMP && value_has_zone(text))
		return "which has no time zone: write it without one";
	return NULL;
}

int range_value_time(enum type_kind type, bool short_years, const char *column,
		     const char *flag, char **text, struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	const char *why;
	int64_t us;

	if (!*text || !value_parse_instant(*text, &us))
		return 0;
	if (us == INT64_MIN && !strcmp(flag, "--from")) {
		free(*text);
		*text = NULL;
		return 0;
	}
	why = value_why_not(type, short_years, *text, us);
	if (why)
		return error_set(err, ERROR_CONFIG,
				 "%s: \"%s\" is not a value of column %s, %s",
				 flag, *text, column, why);
	if (us == INT64_MIN || us == INT64_MAX)
		return 0;
	if (type == TYPE_DATE)
		value_print_date(&sb, (int32_t)(us / US_PER_DAY));
	else
		value_print_timestamp(&sb, us, type == TYPE_TIMESTAMPTZ);
	free(*text);
	*text = strbuf_detach(&sb);
	return 0;
}

/* Compare numbers of any length. */
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

int range_value_compare(enum range_kind kind, const char *a, const char *b)
{
	int64_t x = 0, y = 0;

	switch (kind) {
	case RANGE_TIME:
		value_parse_instant(a, &x);
		value_parse_instant(b, &y);
		return x < y ? -1 : x > y;
	case RANGE_NUMBER:
		return value_compare_numbers(a, b);
	case RANGE_TEXT:
		return strcmp(a, b);
	case RANGE_OTHER:
		break;
	}
	return 0;
}
