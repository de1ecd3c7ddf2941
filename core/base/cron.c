#include "core/base/cron.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"

#define CRON_DAY    INT64_C(86400)
#define CRON_FIELDS 5
#define CRON_WORD   64
/* February 29 may stay away for eight years. */
#define CRON_HORIZON (40 * 366 * CRON_DAY)
/* Clocks are put back by less than this. */
#define CRON_BACK INT64_C(14400)

struct cron_field {
	const char *name;
	unsigned low, high;
	const char *const *words; /* for `low` and up; NULL: none */
	unsigned n_words;
};

static const char *const cron_months[] = { "jan", "feb", "mar", "apr",
					   "may", "jun", "jul", "aug",
					   "sep", "oct", "nov", "dec" };
static const char *const cron_weekdays[] = { "sun", "mon", "tue", "wed",
					     "thu", "fri", "sat" };

static const struct cron_field cron_fields[CRON_FIELDS] = {
	{ "minute", 0, 59, NULL, 0 },
	{ "hour", 0, 23, NULL, 0 },
	{ "day of month", 1, 31, NULL, 0 },
	{ "month", 1, 12, cron_months, 12 },
	{ "day of week", 0, 7, cron_weekdays, 7 },
};

static const struct {
	const char *word, *text;
} cron_short[] = {
	{ "@hourly", "0 * * * *" },   { "@daily", "0 0 * * *" },
	{ "@midnight", "0 0 * * *" }, { "@weekly", "0 0 * * 0" },
	{ "@monthly", "0 0 1 * *" },  { "@yearly", "0 0 1 1 *" },
	{ "@annually", "0 0 1 1 *" },
};

/* A number or a name; moves `*at` behind it. */
static bool cron_value(const struct cron_field *f, const char **at,
		       unsigned *out)
{
	unsigned value = 0, digits = 0;

	for (; isdigit((unsigned char)**at) && digits < 3; ++*at, digits++)
		value = value * 10 + (unsigned)(**at - '0');
	for (unsigned i = 0; !digits && i < f->n_words; i++) {
		if (strncasecmp(*at, f->words[i], 3) != 0)
			continue;
		*at += 3;
		*out = f->low + i;
		return true;
	}
	*out = value;
	return digits && value >= f->low && value <= f->high;
}

/* One of a list: "*", "7", "1-5", each with "/2" behind it. */
static bool cron_part(const struct cron_field *f, const char **at,
		      uint64_t *bits)
{
	unsigned low = f->low, high = f->high, step = 1;
	bool one = false;

	if (**at == '*') {
		++*at;
	} else {
		if (!cron_value(f, at, &low))
			return false;
		one = **at != '-';
		high = low;
		if (!one && (++*at, !cron_value(f, at, &high)))
			return false;
	}
	if (**at == '/') {
		const struct cron_field steps = { "", 1, f->high, NULL, 0 };

		++*at;
		if (!cron_value(&steps, at, &step))
			return false;
		high = one ? f->high : high;
	}
	if (low > high)
		return false;
	for (unsigned i = low; i <= high; i += step)
		*bits |= UINT64_C(1) << i;
	return true;
}

static int cron_parse_field(const struct cron_field *f, const char *text,
			    uint64_t *bits, struct error *err)
{
	const char *at = text;
	bool fits;

	*bits = 0;
	for (;;) {
		fits = cron_part(f, &at, bits);
		if (!fits || *at != ',')
			break;
		at++;
	}
	if (fits && !*at)
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "the %s \"%.40s\" is not a number from %u to %u, or "
			 "\"*\", a range as 1-5, a step as */2, or a list of "
			 "them",
			 f->name, text, f->low, f->high);
}

static const char *cron_long(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(cron_short); i++)
		if (!strcmp(text, cron_short[i].word))
			return cron_short[i].text;
	return text;
}

/* Words between blanks; false: not five, or one is too long. */
static bool cron_split(const char *text, char words[CRON_FIELDS][CRON_WORD])
{
	static const char blank[] = " \t";
	size_t n = 0;

	for (text += strspn(text, blank); *text;
	     text += strspn(text, blank), n++) {
		size_t length = strcspn(text, blank);

		if (n == CRON_FIELDS || length >= CRON_WORD)
			return false;
		memcpy(words[n], text, length);
		words[n][length] = '\0';
		text += length;
	}
	return n == CRON_FIELDS;
}

int cron_parse(const char *text, struct cron *out, struct error *err)
{
	char words[CRON_FIELDS][CRON_WORD];
	uint64_t bits[CRON_FIELDS];

	if (!cron_split(cron_long(text), words))
		return error_set(err, ERROR_CONFIG,
				 "\"%.80s\" is not five fields as in "
				 "\"0 3 * * *\" (minute, hour, day of month, "
				 "month, day of week), nor a word as @daily",
				 text);
	for (size_t i = 0; i < CRON_FIELDS; i++)
		if (cron_parse_field(&cron_fields[i], words[i], &bits[i], err))
			return -(int)err->code;
	*out = (struct cron){
		.minutes = bits[0],
		.hours = (uint32_t)bits[1],
		.days = (uint32_t)bits[2],
		.months = (uint32_t)bits[3],
		/* Sunday is 0 and 7. */
		.weekdays = (uint32_t)((bits[4] | bits[4] >> 7) & 0x7f),
		.any_hour = *words[1] == '*',
		.any_day = *words[2] == '*',
		.any_weekday = *words[4] == '*',
	};
	if (cron_next(out, NULL, 0) == CRON_NEVER)
		return error_set(err, ERROR_CONFIG,
				 "\"%.80s\" is a date that never comes", text);
	return 0;
}

/* The date of a day since 1970, by the rules of the Gregorian calendar. */
static void cron_date(int64_t day, unsigned *month, unsigned *day_of_month)
{
	/* Years begin in March, so that the leap day is their last. */
	int64_t shifted = day + 719468;
	int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
	int64_t in_era = shifted - era * 146097;
	int64_t year =
		(in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) /
		365;
	int64_t in_year = in_era - (365 * year + year / 4 - year / 100);
	int64_t from_march = (5 * in_year + 2) / 153;

	*day_of_month = (unsigned)(in_year - (153 * from_march + 2) / 5 + 1);
	*month = (unsigned)(from_march < 10 ? from_march + 3 : from_march - 9);
}

static bool cron_is_day(const struct cron *c, int64_t day)
{
	unsigned month, of_month, of_week = (unsigned)(((day + 4) % 7 + 7) % 7);
	bool by_month, by_week;

	cron_date(day, &month, &of_month);
	if (!(c->months >> month & 1))
		return false;
	by_month = c->days >> of_month & 1;
	by_week = c->weekdays >> of_week & 1;
	if (c->any_day || c->any_weekday)
		return by_month && by_week;
	return by_month || by_week;
}

/* The first minute of the day from that one on; -1: none. */
static int64_t cron_in_day(const struct cron *c, int64_t minute)
{
	for (; minute < CRON_DAY / 60; minute++) {
		if (!(c->hours >> (minute / 60) & 1))
			minute += 59 - minute % 60;
		else if (c->minutes >> (minute % 60) & 1)
			return minute;
	}
	return -1;
}

/* The first time after `after` and before `end` on clocks that nobody puts. */
static int64_t cron_on_clock(const struct cron *c, int64_t after, int64_t end)
{
	int64_t from = after - ((after % 60) + 60) % 60 + 60;
	int64_t in_day = (from % CRON_DAY + CRON_DAY) % CRON_DAY;

	for (int64_t day = (from - in_day) / CRON_DAY; day * CRON_DAY < end;
	     day++, in_day = 0) {
		int64_t minute =
			cron_is_day(c, day) ? cron_in_day(c, in_day / 60) : -1;

		if (minute >= 0 && day * CRON_DAY + minute * 60 < end)
			return day * CRON_DAY + minute * 60;
	}
	return CRON_NEVER;
}

/* As cron_next(), but a time that came before `after` may come again. */
static int64_t cron_step(const struct cron *c, const struct zone *zone,
			 int64_t after, int64_t end)
{
	int64_t offset = zone_offset(zone, after);
	int64_t clock = after + offset; /* the last time that is over */

	for (;;) {
		int64_t found = cron_on_clock(c, clock, end + offset);
		int64_t at = found == CRON_NEVER ? end : found - offset;
		int64_t change = zone_change(zone, after, at);
		int64_t next, missing;

		if (change == INT64_MAX)
			return found == CRON_NEVER ? CRON_NEVER : at;
		next = zone_offset(zone, change);
		missing = cron_on_clock(c, change + offset - 1, change + next);
		if (!c->any_hour && missing != CRON_NEVER)
			return change;
		clock = change + next - 1;
		if (!c->any_hour && next < offset)
			clock = change + offset - 1;
		offset = next;
		after = change;
	}
}

int64_t cron_next(const struct cron *c, const struct zone *zone, int64_t after)
{
	int64_t end = after + CRON_HORIZON, at = after;

	/* The hour that comes twice may have begun by now. */
	if (zone && !c->any_hour)
		at -= CRON_BACK;
	do
		at = cron_step(c, zone, at, end);
	while (at <= after);
	return at;
}
