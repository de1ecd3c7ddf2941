/*
 * The owner of a target. A table has rows of one source table. Pipelines that
 * read parts of one source table may load it together, but rows of two would
 * replace each other. Two pipelines of one config that mean one table, however
 * they spell it, exclude each other. A pipeline in mode update brings no rows,
 * and is nobody's rival.
 */
#ifndef TIDEMARK_CORE_SYNC_RUN_TARGET_CHECK_H
#define TIDEMARK_CORE_SYNC_RUN_TARGET_CHECK_H

#include <jansson.h>

#include "core/plugin/destination.h"
#include "core/settings/settings.h"

/* Codes of the problems in `check`. */
#define TARGET_OF_ANOTHER "target-of-another-source"
#define TARGET_TWICE	  "target-loaded-twice"

struct run;

struct target_question {
	const struct pipeline_settings *p;
	struct destination *destination;
	const struct target *target;
	const json_t *source; /* connector_ops.identity */
	const struct checkpoint *at; /* from recover without prepare */
};

/* For `check`: what a run would refuse. An error if that cannot be asked. */
int target_check_inspect(const struct target_question *q, struct problems *out,
			 struct error *err);
/* Before a run writes anything, right behind its first recover. SCHEMA, naming
 * both tables, if another pipeline has a mark of the target that came from
 * another source table. CONFIG if the target is the source itself, or that of
 * another pipeline of the config, by another name. If the target is missing,
 * marks of the table that was there before are forgotten where it was of
 * another source table. Tells the target how many others were seen, but
 * for a chunk, which has siblings. */
int target_check_run(struct run *r, struct error *err);

#endif
