/*
 * When a pipeline is due. Nothing here looks at a clock: the caller says what
 * time it is. Processes that share the work come to the same times, for those
 * follow from the schedule and the pipeline's name alone.
 */
#ifndef TIDEMARK_CORE_BASE_SCHEDULE_H
#define TIDEMARK_CORE_BASE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/cron.h"
#include "core/base/error.h"
#include "core/base/strbuf.h"
#include "core/base/zone.h"

enum schedule_kind {
	SCHEDULE_MANUAL, /* when somebody asks for it */
	SCHEDULE_EVERY,
	SCHEDULE_CRON,
};

/* Zeroed: manual. */
struct schedule {
	enum schedule_kind kind;
	int64_t every_us;
	struct cron cron;
	char *cron_text, *zone_name;
	struct zone *zone;
	int64_t jitter_us; /* each time is put off by less than that */
	bool said; /* it is in the config; else it is the default */
};
void schedule_release(struct schedule *s);

/* "manual", "every 5m", or the fields of a cron expression, as people write
 * them. `out` is zeroed or released. CONFIG. */
int schedule_parse(const char *text, struct schedule *out, struct error *err);
/* The zone by whose clocks a cron expression is meant. */
int schedule_set_zone(struct schedule *s, const char *name, struct error *err);

#define SCHEDULE_NEVER INT64_MAX

/* When it is due next, in µs since 1970 UTC; maybe in the past: late ones are
 * made up for once. `last_us` is when it was begun last (0: never), `known_us`
 * since when it has this schedule here. One that was never begun is due at
 * once if it is `every`, else at its first time after `known_us`. A time after
 * `now_us` counts as now: a clock was set back. */
int64_t schedule_due(const struct schedule *s, const char *name,
		     int64_t last_us, int64_t known_us, int64_t now_us);
/* The time between two times about `now_us`; 0: manual. */
int64_t schedule_interval(const struct schedule *s, int64_t now_us);

/* As schedule_parse() takes it, and the zone behind a cron expression. */
void schedule_print(const struct schedule *s, struct strbuf *sb);

#endif
