#include <string.h>

#include "core/base/clock.h"
#include "core/data/value.h"

/* Exactly `n` digits at `*at`; false if there are fewer. */
static bool value_take_digits(const char **at, int n, unsigned *out)
{
	*out = 0;
	for (int i = 0; i < n; i++, (*at)++) {
		if (**at < '0' || **at > '9')
			return false;
		*out = *out * 10 + (unsigned)(**at - '0');
	}
	return true;
}

static bool value_take_char(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

static unsigned value_days_of_month(int64_t year, unsigned month)
{
	static const uint8_t days[] = { 31, 28, 31, 30, 31, 30,
					31, 31, 30, 31, 30, 31 };
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return month == 2 && leap ? 29 : days[month - 1];
}

struct value_date {
	int64_t year; /* as written; before Christ counted from 1 */
	unsigned month, day;
};

/* "Y-MM-DD" with a year of 4 to 7 digits. */
static bool value_take_date(const char **at, struct value_date *out)
{
	int digits = 0;

	out->year = 0;
	for (; **at >= '0' && **at <= '9' && digits < 8; (*at)++, digits++)
		out->year = out->year * 10 + (**at - '0');
	return digits >= 4 && digits <= 7 && value_take_char(at, '-') &&
	       value_take_digits(at, 2, &out->month) &&
	       value_take_char(at, '-') && value_take_digits(at, 2, &out->day);
}

/* Days since 1970 once it is known whether " BC" stood at the end. */
static bool value_date_days(const struct value_date *date, bool before_christ,
			    int64_t *out_days)
{
	int64_t year = before_christ ? 1 - date->year : date->year;

	if (date->year < 1 || date->month < 1 || date->month > 12 ||
	    date->day < 1 || date->day > value_days_of_month(year, date->month))
		return false;
	*out_days = civil_to_days(year, date->month, date->day);
	return true;
}

/* "HH:MM:SS[.f...]", at most six digits of fraction. */
static bool value_take_time(const char **at, int64_t *out_us)
{
	unsigned hour, minute, second, digit;
	int64_t fraction = 0, unit = US_PER_SECOND;

	if (!value_take_digits(at, 2, &hour) || !value_take_char(at, ':') ||
	    !value_take_digits(at, 2, &minute) || !value_take_char(at, ':') ||
	    !value_take_digits(at, 2, &second))
		return false;
	if (hour > 23 || minute > 59 || second > 59)
		return false;
	if (value_take_char(at, '.')) {
		if (!value_take_digits(at, 1, &digit))
			return false;
		for (;;) {
			unit /= 10;
			fraction += digit * unit;
			if (**at < '0' || **at > '9')
				break;
			if (unit == 1)
				return false;
			value_take_digits(at, 1, &digit);
		}
	}
	*out_us =
		((int64_t)hour * 3600 + minute * 60 + second) * US_PER_SECOND +
		fraction;
	return true;
}

/* "", "Z" or "+hh[:mm]"; µs east of UTC. */
static bool value_take_zone(const char **at, int64_t *out_us)
{
	unsigned hour, minute = 0;
	bool west = **at == '-';

	*out_us = 0;
	if (value_take_char(at, 'Z'))
		return true;
	if (!value_take_char(at, '+') && !value_take_char(at, '-'))
		return true;
	if (!value_take_digits(at, 2, &hour))
		return false;
	if (value_take_char(at, ':') && !value_take_digits(at, 2, &minute))
		return false;
	if (hour > 15 || minute > 59)
		return false;
	*out_us = ((int64_t)hour * 60 + minute) * 60 * US_PER_SECOND;
	if (west)
		*out_us = -*out_us;
	return true;
}

/* " BC" or nothing, then the end. */
static bool value_take_era(const char *at, bool *before_christ)
{
	*before_christ = !strcmp(at, " BC");
	return *before_christ || *at == '\0';
}

bool value_parse_date(const char *text, int32_t *out_days)
{
	struct value_date date;
	bool before_christ;
	int64_t days;

	if (!strcmp(text, "infinity") || !strcmp(text, "-infinity")) {
		*out_days = *text == '-' ? INT32_MIN : INT32_MAX;
		return true;
	}
	if (!value_take_date(&text, &date) ||
	    !value_take_era(text, &before_christ) ||
	    !value_date_days(&date, before_christ, &days))
		return false;
	if (days <= INT32_MIN || days >= INT32_MAX)
		return false;
	*out_days = (int32_t)days;
	return true;
}

bool value_parse_timestamp(const char *text, int64_t *out_us)
{
	struct value_date date;
	bool before_christ;
	int64_t days, time, zone, us;

	if (!strcmp(text, "infinity") || !strcmp(text, "-infinity")) {
		*out_us = *text == '-' ? INT64_MIN : INT64_MAX;
		return true;
	}
	if (!value_take_date(&text, &date) ||
	    (!value_take_char(&text, ' ') && !value_take_char(&text, 'T')) ||
	    !value_take_time(&text, &time) || !value_take_zone(&text, &zone) ||
	    !value_take_era(text, &before_christ) ||
	    !value_date_days(&date, before_christ, &days))
		return false;
	/* Add the days last: the first day that int64 can tell begins before
	 * INT64_MIN itself. */
	if (days < 0) {
		days++;
		time -= US_PER_DAY;
	}
	if (__builtin_mul_overflow(days, US_PER_DAY, &us) ||
	    __builtin_add_overflow(us, time - zone, &us))
		return false;
	if (us == INT64_MIN || us == INT64_MAX)
		return false;
	*out_us = us;
	return true;
}

bool value_parse_instant(const char *text, int64_t *out_us)
{
	int32_t days;

	if (value_parse_timestamp(text, out_us))
		return true;
	if (!value_parse_date(text, &days))
		return false;
	if (__builtin_mul_overflow((int64_t)days, US_PER_DAY, out_us))
		*out_us = days < 0 ? INT64_MIN : INT64_MAX;
	return true;
}
