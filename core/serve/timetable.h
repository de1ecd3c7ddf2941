/*
 * The pipelines of a `serve`, and when each has its next turn. Nothing here
 * looks at a clock or at a store: the caller says what time it is and who was
 * begun when. All times are µs since 1970 UTC by one clock.
 */
#ifndef TIDEMARK_CORE_SERVE_TIMETABLE_H
#define TIDEMARK_CORE_SERVE_TIMETABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/settings/settings.h"

struct turn {
	const struct pipeline_settings *p;
	int64_t known_us; /* here under this schedule since then */
	int64_t last_us; /* begun last, here or elsewhere; 0: never */
	bool broken; /* off: the turn of the last run comes again */
	int64_t due_us; /* SCHEDULE_NEVER: not by itself */
	int64_t not_before_us; /* it was put off */
	bool taken; /* it waits for a job, or runs */
	/* Somebody asked for a run then, by the store's clock; 0: nobody. */
	int64_t asked_us;
	int64_t meets_us; /* the wish that its run meets; 0: none */
	bool paused;
};

struct timetable {
	struct turn *items; /* in the order of the names */
	size_t n;
};
void timetable_release(struct timetable *t);

/* Other pipelines, or the same ones with other settings: whatever is known of a
 * name stays. `pipelines` outlive the table, or the next call. */
void timetable_set(struct timetable *t,
		   const struct pipeline_settings *const *pipelines, size_t n,
		   int64_t now_us);
struct turn *timetable_find(struct timetable *t, const char *name);

/* It was begun then, here or by another process. An older time than the last
 * one changes nothing. */
void timetable_begun(struct timetable *t, const char *name, int64_t at_us,
		     int64_t now_us);
/* The same of the newest run of all, by one who knows whether it was broken
 * off. */
void timetable_told(struct timetable *t, const char *name, int64_t at_us,
		    bool broken, int64_t now_us);
/* Its turn stays, and is not taken before that time, unless it is begun
 * elsewhere. */
void timetable_put_off(struct timetable *t, const char *name, int64_t until_us);
/* The clock is known now, and was not before: so are all pipelines. */
void timetable_learn(struct timetable *t, int64_t now_us);
/* The clock was set: what was due by the old one is due anew. */
void timetable_shift(struct timetable *t, int64_t now_us);
/* Is it its turn? */
bool turn_is_due(const struct turn *turn, int64_t now_us);
/* When the next one has its turn that is not taken; SCHEDULE_NEVER. */
int64_t timetable_next(const struct timetable *t);

#endif
