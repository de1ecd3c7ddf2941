/* The ranges of a first load by several streams (streams.h). */
#ifndef TIDEMARK_CORE_SYNC_TASKS_STREAMS_PLAN_H
#define TIDEMARK_CORE_SYNC_TASKS_STREAMS_PLAN_H

#include "core/store/chunks.h"
#include "core/sync/run/run.h"

/* The config of a first load's chunks. No backfill has it, so no worker takes
 * them. */
#define STREAMS_CONFIG	    "streams/"
#define STREAMS_CONFIG_SIZE (sizeof(STREAMS_CONFIG) + DIGEST_TEXT_SIZE)
void streams_config(const struct pipeline_settings *p,
		    char out[STREAMS_CONFIG_SIZE]);
/* How many streams this run may have; 1: it is no first load, or cannot be
 * split. `*why`: the reason for 1, or NULL if nobody asked. */
size_t streams_count(const struct run *r, const char **why);

/* The cutting of what lies up to and including a settled point, range by range.
 * It reads the mark of each row, and so goes on while ranges are loaded. */
struct streams_plan {
	const struct run *r;
	int64_t rows; /* a range's, about */
	/* Strategy xmin: ranges of the key's first column, without an end. */
	bool by_key;
	enum type_kind kind; /* else of the mark */
	char *settled, *end; /* the first value behind it */
	char *from; /* the next range begins there; NULL: at the beginning */
	int64_t n; /* ranges so far */
	bool whole; /* the last one was cut */
	struct connector *source; /* its own */
	struct source_spec spec;
	struct watermark_spec mark;
	struct schema schema;
	char *column;
};
void streams_plan_init(struct streams_plan *plan, const struct run *r,
		       size_t n);
void streams_plan_release(struct streams_plan *plan);
/* Up to `settled`, and behind the range `last` of an earlier plan of the same
 * (NULL: there is none). False: there is no range up to that value. */
bool streams_plan_aim(struct streams_plan *plan, const char *settled,
		      const struct chunk *last);
/* Append the next range, of the load `id`, unless the plan is whole. */
int streams_plan_next(struct streams_plan *plan, const char *id,
		      struct chunk_list *out, struct error *err);

#endif
