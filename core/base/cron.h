/*
 * Cron expressions: minute, hour, day of month, month and day of week, as
 * crontab(5) has them. "*", lists, ranges, steps and names are known, and words
 * such as "@daily". If both kinds of day are limited, either is enough.
 *
 * When the clocks are put forward, a time that does not exist is taken at that
 * instant. When they are put back, a time that comes twice is taken once. An
 * hour that begins with "*" is of each hour that really passes instead.
 */
#ifndef TIDEMARK_CORE_BASE_CRON_H
#define TIDEMARK_CORE_BASE_CRON_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/zone.h"

struct cron {
	uint64_t minutes;
	uint32_t hours, days, months, weekdays; /* bit n: the number n */
	bool any_hour, any_day, any_weekday; /* it begins with "*" */
};

#define CRON_NEVER INT64_MAX

/* CONFIG: says which field is wrong, and what it takes; or the date never
 * comes, as February 30. */
int cron_parse(const char *text, struct cron *out, struct error *err);

/* The first time after `after`, both in seconds since 1970 UTC, by the clocks
 * of `zone` (NULL: UTC). CRON_NEVER: not within the next 40 years. */
int64_t cron_next(const struct cron *c, const struct zone *zone, int64_t after);

#endif
