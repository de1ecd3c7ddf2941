#include "core/base/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"

struct unit {
	const char *name;
	int64_t size;
};

static const struct unit units_durations[] = {
	{ "d", INT64_C(86400000000) },
	{ "h", INT64_C(3600000000) },
	{ "m", 60000000 },
	{ "s", 1000000 },
	{ "ms", 1000 },
	{ "us", 1 },
};

static const struct unit units_sizes[] = {
	{ "TiB", INT64_C(1) << 40 },
	{ "GiB", INT64_C(1) << 30 },
	{ "MiB", INT64_C(1) << 20 },
	{ "KiB", INT64_C(1) << 10 },
	{ "TB", INT64_C(1000000000000) },
	{ "GB", 1000000000 },
	{ "MB", 1000000 },
	{ "KB", 1000 },
	{ "B", 1 },
};

static const struct unit *units_find(const struct unit *units, size_t n,
				     const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(units[i].name) == len &&
		    strncmp(units[i].name, name, len) == 0)
			return &units[i];
	return NULL;
}

/* Digits and '_' between digits; moves `*at` behind them. */
static bool units_digits(const char **at, int64_t *out)
{
	const char *p = *at;
	int64_t value = 0;

	if (!isdigit((unsigned char)*p))
		return false;
	for (; isdigit((unsigned char)*p) ||
	       (*p == '_' && isdigit((unsigned char)p[1]));
	     p++) {
		if (*p == '_')
			continue;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, *p - '0', &value))
			return false;
	}
	*at = p;
	*out = value;
	return true;
}

static size_t units_letters(const char *text)
{
	size_t n = 0;

	while (isalpha((unsigned char)text[n]))
		n++;
	return n;
}

/* One "12ms" part; a bare 0 needs no unit. */
static bool units_part(const struct unit *units, size_t n, const char **at,
		       int64_t *out)
{
	const struct unit *unit;
	int64_t value;
	size_t len;

	if (!units_digits(at, &value))
		return false;
	while (**at == ' ')
		(*at)++;
	len = units_letters(*at);
	*out = 0;
	if (!len)
		return value == 0;
	unit = units_find(units, n, *at, len);
	*at += len;
	return unit && !__builtin_mul_overflow(value, unit->size, out);
}

bool units_parse_duration(const char *text, int64_t *out_us)
{
	int64_t sum = 0, part;

	do {
		if (!units_part(units_durations, ARRAY_SIZE(units_durations),
				&text, &part) ||
		    __builtin_add_overflow(sum, part, &sum))
			return false;
	} while (*text);
	*out_us = sum;
	return true;
}

bool units_parse_size(const char *text, int64_t *out_bytes)
{
	int64_t value;

	if (units_parse_count(text, out_bytes))
		return true;
	if (!units_part(units_sizes, ARRAY_SIZE(units_sizes), &text, &value) ||
	    *text)
		return false;
	*out_bytes = value;
	return true;
}

bool units_parse_count(const char *text, int64_t *out)
{
	int64_t value;

	if (!units_digits(&text, &value) || *text)
		return false;
	*out = value;
	return true;
}

void units_print_duration(struct strbuf *sb, int64_t us)
{
	if (!us)
		strbuf_addstr(sb, "0s");
	for (size_t i = 0; i < ARRAY_SIZE(units_durations) && us; i++) {
		const struct unit *unit = &units_durations[i];

		if (us >= unit->size)
			strbuf_addf(sb, "%" PRId64 "%s", us / unit->size,
				    unit->name);
		us %= unit->size;
	}
}

void units_print_size(struct strbuf *sb, int64_t bytes)
{
	for (size_t i = 0; i < ARRAY_SIZE(units_sizes); i++) {
		const struct unit *unit = &units_sizes[i];

		if (bytes % unit->size || (bytes == 0 && unit->size > 1))
			continue;
		strbuf_addf(sb, "%" PRId64 "%s", bytes / unit->size,
			    unit->name);
		return;
	}
}

void units_print_short(struct strbuf *sb, double n)
{
	static const char suffixes[] = { 0, 'k', 'M', 'G', 'T', 'P' };
	size_t i = 0;

	while (fabs(n) >= 999.5 && i + 1 < sizeof(suffixes)) {
		n /= 1000;
		i++;
	}
	if (!i)
		strbuf_addf(sb, "%.0f", n);
	else
		strbuf_addf(sb, "%.1f%c", n, suffixes[i]);
}
