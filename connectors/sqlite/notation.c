#include "connectors/sqlite/notation.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/data/value.h"

#define NOTATION_DAY  10 /* characters of 2024-01-31 */
#define NOTATION_TIME 19 /* and of 2024-01-31 12:00:00 */

bool sqlite_source_notation_is_endless(const char *text)
{
	return !strcmp(text, "infinity") || !strcmp(text, "-infinity");
}

static size_t notation_fraction(const char *text)
{
	return text[NOTATION_TIME] == '.'
		       ? strspn(text + NOTATION_TIME + 1, "0123456789")
		       : 0;
}

bool sqlite_source_notation_parse(const char *text, int64_t *out_us)
{
	return value_parse_instant(text, out_us);
}

bool sqlite_source_notation_of(const char *text, struct notation *out)
{
	size_t n = strlen(text), digits;
	int64_t us, wall;
	const char *zone;
	char plain[40];

	*out = (struct notation){ .digits = -1 };
	/* Years before 1 and beyond 9999 are out of order as texts. */
	if (sqlite_source_notation_is_endless(text) || n < NOTATION_DAY ||
	    text[4] != '-' || text[n - 1] == 'C' ||
	    !sqlite_source_notation_parse(text, &us))
		return false;
	if (n == NOTATION_DAY)
		return true;
	digits = notation_fraction(text);
	zone = text + NOTATION_TIME + (digits ? digits + 1 : 0);
	if (strlen(zone) >= sizeof(out->zone) ||
	    (size_t)(zone - text) >= sizeof(plain))
		return false;
	out->separator = text[NOTATION_DAY];
	snprintf(out->zone, sizeof(out->zone), "%s", zone);
	if (*zone == 'Z')
		out->digits = (int)digits;
	snprintf(plain, sizeof(plain), "%.*s", (int)(zone - text), text);
	if (!value_parse_timestamp(plain, &wall))
		return false;
	out->zone_us = wall - us;
	return true;
}

void sqlite_source_notation_default(enum type_kind kind, struct notation *out)
{
	*out = (struct notation){ .digits = -1 };
	if (kind != TYPE_DATE)
		out->separator = ' ';
	if (kind == TYPE_TIMESTAMPTZ)
		snprintf(out->zone, sizeof(out->zone), "+00:00");
}

bool sqlite_source_notation_fits(const struct notation *n, const char *text)
{
	struct notation own;

	if (sqlite_source_notation_is_endless(text))
		return true;
	return sqlite_source_notation_of(text, &own) &&
	       own.separator == n->separator && own.digits == n->digits &&
	       !strcmp(own.zone, n->zone);
}

bool sqlite_source_notation_is_instant(const struct notation *n)
{
	return *n->zone != '\0';
}

void sqlite_source_notation_print(struct strbuf *sb, const struct notation *n,
				  int64_t us)
{
	size_t start = sb->len;
	int64_t wall = us + n->zone_us;

	if (!n->separator) {
		value_print_date(sb, (int32_t)(wall / US_PER_DAY -
					       (wall % US_PER_DAY < 0)));
		return;
	}
	value_print_timestamp(sb, wall, false);
	if (sb->len - start < NOTATION_TIME)
		return;
	sb->data[start + NOTATION_DAY] = n->separator;
	if (n->digits >= 0) {
		size_t have = notation_fraction(sb->data + start);
		size_t want = (size_t)n->digits;
		if (!have && want)
			strbuf_addch(sb, '.');
		for (; have < want; have++)
			strbuf_addch(sb, '0');
		sb->len = start + NOTATION_TIME + (want ? want + 1 : 0);
		sb->data[sb->len] = '\0';
	}
	strbuf_addstr(sb, n->zone);
}

void sqlite_source_notation_convert(struct strbuf *sb, const struct notation *n,
				    const char *text)
{
	int64_t us;

	if (sqlite_source_notation_fits(n, text) ||
	    !sqlite_source_notation_parse(text, &us) ||
	    sqlite_source_notation_is_endless(text))
		strbuf_addstr(sb, text);
	else
		sqlite_source_notation_print(sb, n, us);
}
