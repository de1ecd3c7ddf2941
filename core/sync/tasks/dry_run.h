/*
 * What `run --dry-run` does and a run does not: it asks what preparing would
 * change, has the destination preview in place of load, and shows the
 * statements with their indexes. It takes no lease and makes no state store:
 * an existing one is asked who runs the pipeline. Called by try.c, runner.c
 * and result.c; all else is the run's own way.
 */
#ifndef TIDEMARK_CORE_SYNC_TASKS_DRY_RUN_H
#define TIDEMARK_CORE_SYNC_TASKS_DRY_RUN_H

#include <jansson.h>

#include "core/base/error.h"
#include "core/base/strlist.h"
#include "core/plugin/explanation.h"

struct pipeline_settings;
struct run;
struct run_result;
struct store;

/* Of a result. */
struct dry_run {
	bool on; /* the result is that of a dry run */
	struct strlist ddl; /* what preparing would run */
	struct explanation plan;
	json_t *lease; /* who runs the pipeline now; NULL: nobody */
	char *breaker; /* why a run would be refused now, or NULL */
};
void dry_run_release(struct dry_run *d);
/* Before another try. */
void dry_run_restart(struct run_result *out);
/* Add "dry_run", "plan", "ddl", "lease" and "breaker". */
void dry_run_json(const struct dry_run *d, json_t *out);

/* In place of prepare, which refuses the same. */
int dry_run_prepare(struct run *r, struct error *err);
/* Once the pass has begun. */
int dry_run_explain(struct run *r, struct error *err);
/* Whether a run could begin now; `store` NULL, or one that does not answer:
 * nothing is known. */
void dry_run_look(struct store *store, const struct pipeline_settings *p,
		  struct dry_run *out);

#endif
