#include "core/base/units.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"

struct unit {
	const char *name;
	int64_t factor;
};

/* Largest first: the order in which a duration is written. */
static const struct unit units_of_time[] = {
	{ "d", US_PER_DAY },
	{ "h", 3600 * US_PER_SECOND },
	{ "m", 60 * US_PER_SECOND },
	{ "s", US_PER_SECOND },
	{ "ms", 1000 },
	{ "us", 1 },
};

/* The printer takes the first that divides. */
static const struct unit units_of_size[] = {
	{ "TiB", INT64_C(1) << 40 },
	{ "TB", INT64_C(1000000000000) },
	{ "GiB", INT64_C(1) << 30 },
	{ "GB", INT64_C(1000000000) },
	{ "MiB", INT64_C(1) << 20 },
	{ "MB", INT64_C(1000000) },
	{ "KiB", INT64_C(1) << 10 },
	{ "KB", INT64_C(1000) },
	{ "B", 1 },
};

/* Read digits at `*text` and move behind them. False if there are none or too
 * many. */
static bool units_digits(const char **text, int64_t *out)
{
	const char *p = *text;
	int64_t n = 0;

	if (!isdigit((unsigned char)*p))
		return false;
	for (; isdigit((unsigned char)*p); p++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, *p - '0', &n))
			return false;
	*text = p;
	*out = n;
	return true;
}

static size_t units_find(const struct unit *units, size_t n, const char *text,
			 size_t length)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strlen(units[i].name) == length &&
		    !memcmp(units[i].name, text, length))
			break;
	return i;
}

bool units_parse_duration(const char *text, int64_t *out_us)
{
	size_t last = 0, n = ARRAY_SIZE(units_of_time), unit, length;
	int64_t total = 0, part;

	if (!strcmp(text, "0")) {
		*out_us = 0;
		return true;
	}
	do {
		if (!units_digits(&text, &part))
			return false;
		length = strspn(text, "dhmsu");
		unit = units_find(units_of_time, n, text, length);
		if (unit == n || unit < last ||
		    __builtin_mul_overflow(part, units_of_time[unit].factor,
					   &part) ||
		    __builtin_add_overflow(total, part, &total))
			return false;
		last = unit + 1;
		text += length;
	} while (*text);
	*out_us = total;
	return true;
}

bool units_parse_size(const char *text, int64_t *out_bytes)
{
	size_t n = ARRAY_SIZE(units_of_size), unit;
	int64_t bytes;

	if (!units_digits(&text, &bytes))
		return false;
	if (*text) {
		unit = units_find(units_of_size, n, text, strlen(text));
		if (unit == n ||
		    __builtin_mul_overflow(bytes, units_of_size[unit].factor,
					   &bytes))
			return false;
	}
	*out_bytes = bytes;
	return true;
}

bool units_parse_count(const char *text, int64_t *out)
{
	int64_t n = 0;

	if (!isdigit((unsigned char)*text))
		return false;
	for (; *text; text++) {
		if (*text == '_' && isdigit((unsigned char)text[1]))
			continue;
		if (!isdigit((unsigned char)*text) ||
		    __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, *text - '0', &n))
			return false;
	}
	*out = n;
	return true;
}

int64_t units_bounded(const char *text, int64_t limit)
{
	int64_t n = strtoll(text, NULL, 10);

	if (n > limit)
		return limit;
	return n < -limit ? -limit : n;
}

void units_print_duration(struct strbuf *sb, int64_t us)
{
	if (us <= 0) {
		strbuf_addstr(sb, "0s");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(units_of_time); i++) {
		const struct unit *unit = &units_of_time[i];

		if (us >= unit->factor)
			strbuf_addf(sb, "%lld%s",
				    (long long)(us / unit->factor), unit->name);
		us %= unit->factor;
	}
}

void units_print_size(struct strbuf *sb, int64_t bytes)
{
	const struct unit *unit = units_of_size;

	while (bytes % unit->factor || (!bytes && unit->factor > 1))
		unit++;
	strbuf_addf(sb, "%lld%s", (long long)(bytes / unit->factor),
		    unit->name);
}

void units_print_short(struct strbuf *sb, double n)
{
	static const char *const suffixes[] = { "", "k", "M", "G", "T" };
	size_t i = 0;

	/* Rounded first, or 999.96k would read 1000.0k. */
	while (i + 1 < ARRAY_SIZE(suffixes) &&
	       (i ? round(n * 10) / 10 : round(n)) >= 1000) {
		n /= 1000;
		i++;
	}
	strbuf_addf(sb, i ? "%.1f%s" : "%.0f%s", n, suffixes[i]);
}
