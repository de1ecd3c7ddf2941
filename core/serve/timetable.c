#include "core/serve/timetable.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/by_name.h"
#include "core/base/clock.h"

/* The same time is told a little differently when clocks are compared anew. */
#define TIMETABLE_DRIFT_US US_PER_SECOND

void timetable_release(struct timetable *t)
{
	free(t->items);
	*t = (struct timetable){ NULL, 0 };
}

static int turn_compare(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	return strcmp(x->p->name, y->p->name);
}

static const char *timetable_name(const void *list, size_t i)
{
	const struct timetable *t = list;

	return t->items[i].p->name;
}

struct turn *timetable_find(struct timetable *t, const char *name)
{
	size_t at;

	return by_name_find(name, t, t->n, timetable_name, &at) ? &t->items[at]
								: NULL;
}

static void turn_plan(struct turn *turn, int64_t now_us)
{
	if (turn->broken && turn->p->schedule.kind != SCHEDULE_MANUAL) {
		turn->due_us = turn->last_us;
		return;
	}
	turn->due_us = schedule_due(&turn->p->schedule, turn->p->name,
				    turn->last_us, turn->known_us, now_us);
}

void timetable_set(struct timetable *t,
		   const struct pipeline_settings *const *pipelines, size_t n,
		   int64_t now_us)
{
	struct timetable fresh = { xcalloc(n + 1, sizeof(*fresh.items)), n };

	for (size_t i = 0; i < n; i++) {
		struct turn *old = timetable_find(t, pipelines[i]->name);

		fresh.items[i] =
			old ? *old : (struct turn){ .known_us = now_us };
		fresh.items[i].p = pipelines[i];
		turn_plan(&fresh.items[i], now_us);
	}
	qsort(fresh.items, n, sizeof(*fresh.items), turn_compare);
	timetable_release(t);
	*t = fresh;
}

void timetable_begun(struct timetable *t, const char *name, int64_t at_us,
		     int64_t now_us)
{
	struct turn *turn = timetable_find(t, name);

	if (!turn || at_us <= turn->last_us)
		return;
	turn->last_us = at_us;
	turn->broken = false;
	turn->not_before_us = 0;
	turn_plan(turn, now_us);
}

void timetable_told(struct timetable *t, const char *name, int64_t at_us,
		    bool broken, int64_t now_us)
{
	struct turn *turn = timetable_find(t, name);

	timetable_begun(t, name, at_us, now_us);
	if (!turn || at_us + TIMETABLE_DRIFT_US < turn->last_us)
		broken = false;
	if (!turn)
		return;
	/* The newest run has had the turn, whatever was reckoned here by a
	 * clock that was set. */
	if (!broken && turn->due_us <= at_us)
		turn->not_before_us = 0;
	else if (turn->broken == broken)
		return;
	turn->broken = broken;
	turn_plan(turn, now_us);
}

void timetable_put_off(struct timetable *t, const char *name, int64_t until_us)
{
	struct turn *turn = timetable_find(t, name);

	if (turn)
		turn->not_before_us = until_us;
}

void timetable_learn(struct timetable *t, int64_t now_us)
{
	for (size_t i = 0; i < t->n; i++) {
		t->items[i].known_us = now_us;
		turn_plan(&t->items[i], now_us);
	}
}

void timetable_shift(struct timetable *t, int64_t now_us)
{
	for (size_t i = 0; i < t->n; i++) {
		struct turn *turn = &t->items[i];

		if (turn->last_us > now_us)
			turn->last_us = now_us;
		if (turn->known_us > now_us)
			turn->known_us = now_us;
		turn->not_before_us = 0;
		turn_plan(turn, now_us);
	}
}

static int64_t turn_next(const struct turn *turn)
{
	return turn->due_us > turn->not_before_us ? turn->due_us
						  : turn->not_before_us;
}

bool turn_is_due(const struct turn *turn, int64_t now_us)
{
	return !turn->taken && !turn->paused &&
	       (turn->asked_us || turn_next(turn) <= now_us);
}

int64_t timetable_next(const struct timetable *t)
{
	int64_t next = SCHEDULE_NEVER;

	for (size_t i = 0; i < t->n; i++) {
		const struct turn *turn = &t->items[i];

		if (turn->taken || turn->paused)
			continue;
		if (turn->asked_us)
			return 0;
		if (turn_next(turn) < next)
			next = turn_next(turn);
	}
	return next;
}
