/*
 * The names that Tidemark leaves or uses in a destination. They are part of
 * what users see (product.md), the same in every engine.
 */
#ifndef TIDEMARK_DESTINATIONS_COMMON_NAMES_H
#define TIDEMARK_DESTINATIONS_COMMON_NAMES_H

#include "core/data/batch.h"
#include "core/plugin/destination.h"

#define NAME_WATERMARK_TABLE "_tidemark_watermark"
/* Advice for a table of that name that is not ours alone. All pipelines that
 * load into the place have their marks there. */
#define NAME_MARKS_ANEW                                                        \
	"To begin anew, rename the table: each pipeline that has its mark "    \
	"there then reads all rows again. Drop it only if it is empty"
#define NAME_MARKS_FIX                                                         \
	"look into it, and take away what Tidemark did not "                   \
	"make. " NAME_MARKS_ANEW
#define NAME_STAGE_PREFIX "_tidemark_stage_"
#define NAME_RAW_SUFFIX	  "_raw"
/* Columns of a raw table, behind the source's own. */
#define NAME_RAW_BATCH	"_tidemark_batch"
#define NAME_RAW_SEQ	"_tidemark_seq"
#define NAME_RAW_LOADED "_tidemark_loaded_at"
/* The number of a raw row in a dry run's copy: before all that come. */
#define NAME_RAW_FIRST "-1"

/* "_tidemark_stage_" and 16 hex digits of the pipeline's hash: a durable
 * stage is found again by the next run, and by no other pipeline. Caller
 * frees. */
char *name_stage(const char *pipeline);

/* CONFIG if `name`, a part of target->table, is one of Tidemark's own. */
int target_check_own(const struct target *target, const char *name,
		     struct error *err);
/* "tidemark run --full-refresh NAME", for advice. Caller frees. */
char *target_refresh_command(const struct target *target);
/* To be called once the first load holds its locks. `others` are the pipelines
 * that have a mark at the target: `step` texts each, the name first. TRANSIENT
 * if there are more than when the target was looked at, so that a pipeline has
 * begun since. */
int target_meet_others(const struct target *target,
		       const struct strlist *others, size_t step,
		       struct error *err);
/* Advice when a row of the table has its key more than once, for the end of a
 * message. Caller frees. */
char *target_repeat_advice(const struct target *target);
/* The fate of the rows at hand when another pipeline owns the mark. Caller
 * frees. */
char *target_given_up(const struct target *target);
/* To the log: all rows are read again, for the target `what` ("is gone"). */
void target_say_again(const struct target *target, const char *what);

/* Fail-closed accounting: BUG unless inserted + updated + unchanged is
 * `n_rows`. */
int counts_check(const struct load_counts *counts, size_t n_rows,
		 const char *table, struct error *err);

#endif
