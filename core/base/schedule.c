#include "core/base/schedule.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/units.h"

#define SCHEDULE_LEAST_US US_PER_SECOND
#define SCHEDULE_MOST_US  (366 * US_PER_DAY)

void schedule_release(struct schedule *s)
{
	zone_free(s->zone);
	free(s->zone_name);
	free(s->cron_text);
	memset(s, 0, sizeof(*s));
}

static int schedule_parse_every(const char *text, struct schedule *out,
				struct error *err)
{
	int64_t us;

	if (!units_parse_duration(text, &us) || us < SCHEDULE_LEAST_US ||
	    us > SCHEDULE_MOST_US)
		return error_set(err, ERROR_CONFIG,
				 "\"%.40s\" is not a duration from 1s to 366d "
				 "such as 5m",
				 text);
	out->kind = SCHEDULE_EVERY;
	out->every_us = us;
	return 0;
}

int schedule_parse(const char *text, struct schedule *out, struct error *err)
{
	static const char every[] = "every ";

	memset(out, 0, sizeof(*out));
	if (!strcmp(text, "manual"))
		return 0;
	if (!strncmp(text, every, sizeof(every) - 1))
		return schedule_parse_every(text + sizeof(every) - 1, out, err);
	if (cron_parse(text, &out->cron, err))
		return -(int)err->code;
	out->kind = SCHEDULE_CRON;
	out->cron_text = xstrdup(text);
	return 0;
}

int schedule_set_zone(struct schedule *s, const char *name, struct error *err)
{
	struct zone *zone;
	int rc = zone_open(name, &zone, err);

	if (rc)
		return rc;
	zone_free(s->zone);
	free(s->zone_name);
	s->zone = zone;
	s->zone_name = xstrdup(name);
	return 0;
}

/* The same number below `limit` for the same name and time. */
static int64_t schedule_spread(const char *name, int64_t at, int64_t limit)
{
	uint64_t seed = (uint64_t)at;

	if (limit <= 0)
		return 0;
	return (int64_t)(XXH3_64bits_withSeed(name, strlen(name), seed) %
			 (uint64_t)limit);
}

static int64_t schedule_next_cron(const struct schedule *s, int64_t after_us)
{
	int64_t at = cron_next(&s->cron, s->zone,
			       after_us >= 0 ? after_us / US_PER_SECOND : 0);

	return at == CRON_NEVER ? SCHEDULE_NEVER : at * US_PER_SECOND;
}

/* Pipelines of one interval have their times all over it. */
static int64_t schedule_next_every(const struct schedule *s, const char *name,
				   int64_t after_us)
{
	int64_t phase = schedule_spread(name, 0, s->every_us);
	int64_t passed = (after_us - phase) % s->every_us;

	if (passed < 0)
		passed += s->every_us;
	return after_us - passed + s->every_us;
}

/* The first time after that one, not yet put off. */
static int64_t schedule_next(const struct schedule *s, const char *name,
			     int64_t after_us)
{
	if (s->kind == SCHEDULE_EVERY)
		return schedule_next_every(s, name, after_us);
	return s->kind == SCHEDULE_CRON ? schedule_next_cron(s, after_us)
					: SCHEDULE_NEVER;
}

int64_t schedule_due(const struct schedule *s, const char *name,
		     int64_t last_us, int64_t known_us, int64_t now_us)
{
	int64_t base = last_us > 0 ? last_us : known_us, at, due;

	if (s->kind == SCHEDULE_MANUAL)
		return SCHEDULE_NEVER;
	if (last_us <= 0 && s->kind == SCHEDULE_EVERY)
		return known_us + schedule_spread(name, 1, s->jitter_us);
	if (base > now_us)
		base = now_us;
	/* One that was put off may lie before `base` and be due after it. */
	at = base - s->jitter_us;
	do {
		at = schedule_next(s, name, at);
		if (at == SCHEDULE_NEVER)
			return at;
		due = at + schedule_spread(name, at, s->jitter_us);
	} while (due <= base);
	return due;
}

int64_t schedule_interval(const struct schedule *s, int64_t now_us)
{
	int64_t first, second;

	if (s->kind != SCHEDULE_CRON)
		return s->kind == SCHEDULE_EVERY ? s->every_us : 0;
	first = schedule_next_cron(s, now_us);
	if (first == SCHEDULE_NEVER)
		return 0;
	second = schedule_next_cron(s, first);
	return second == SCHEDULE_NEVER ? 0 : second - first;
}

void schedule_print(const struct schedule *s, struct strbuf *sb)
{
	if (s->kind == SCHEDULE_EVERY) {
		strbuf_addstr(sb, "every ");
		units_print_duration(sb, s->every_us);
	} else {
		strbuf_addstr(sb, s->kind == SCHEDULE_CRON ? s->cron_text
							   : "manual");
	}
	if (s->zone_name)
		strbuf_addf(sb, " %s", s->zone_name);
}
