/*
 * All that `serve` knows of its pipelines, for metrics and pages. It has the
 * counters of the runs in this process, and the state store's word on all runs.
 * A thread of its own asks the store: nobody who looks waits for it. All
 * functions may be called by any thread but as they say.
 */
#ifndef TIDEMARK_CORE_SERVE_BOARD_H
#define TIDEMARK_CORE_SERVE_BOARD_H

#include "core/serve/generation.h"
#include "core/serve/meter.h"
#include "core/serve/notify.h"
#include "core/serve/timetable.h"
#include "core/sync/report/status.h"

struct board_item {
	const struct pipeline_settings *p;
	struct meter meter;
	struct status_result status;
	bool known; /* `status` is */
	struct generation *of; /* has what `status` points to; or NULL */
	json_t *mark; /* {"strategy","column","value"}, or NULL */
	bool stale; /* there is news in the store */
	int64_t looked_us; /* monotonic; 0: never */
	int64_t due_us; /* SCHEDULE_NEVER: not by itself */
};

struct board;
/* Its thread begins to look, and `notify` sees what it finds; NULL: nobody.
 * ACCESS: the system has no thread for it. */
int board_new(struct board **out, struct notify *notify, struct error *err);
void board_free(struct board *b); /* NULL is fine */

/* The scheduler's: other pipelines, or other settings. The board keeps `g`. */
void board_set(struct board *b, struct generation *g);
/* The scheduler's: when each has its turn, by a clock that is `ahead_us` ahead
 * of this machine's. */
void board_turns(struct board *b, const struct timetable *t, int64_t ahead_us);
/* The scheduler's: whether the store answers; "" if it does. */
void board_store(struct board *b, const char *error);
/* The scheduler's loop turns; and how long ago it last did, in µs. */
void board_beat(struct board *b);
int64_t board_silence_us(struct board *b);

/* There is news about it in the store: look soon. */
void board_news(struct board *b, const char *name);
void board_follow(struct board *b, const struct run_result *so_far);
void board_ended(struct board *b, const struct run_result *r);

/* One who looks: the items in the order of the names, as they are now. They do
 * not change until board_leave(), which is to be soon. */
struct board_view {
	struct board_item *items;
	size_t n;
	const struct generation *g;
	const char *store_error; /* "": it answers */
	int64_t since_us; /* wall clock, when this process began */
};
const struct board_view *board_look(struct board *b);
void board_leave(struct board *b);
struct board_item *board_find(const struct board_view *view, const char *name);
/* The pipelines in force, to be given back by generation_leave(). */
struct generation *board_generation(struct board *b);

#endif
