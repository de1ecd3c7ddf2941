/* The findings of a rehearsal (`run --dry-run`), a part of its result. */
#ifndef TIDEMARK_CORE_SYNC_PARTS_DRY_RUN_H
#define TIDEMARK_CORE_SYNC_PARTS_DRY_RUN_H

#include <jansson.h>

#include "core/base/strlist.h"
#include "core/plugin/explanation.h"

struct dry_run {
	bool on; /* the result is that of a dry run */
	int64_t limit; /* the most rows; 0: all */
	bool aside; /* rows were chosen by the user, not by the mark */
	struct strlist ddl; /* statements that preparing would run */
	struct explanation plan;
	json_t *lease; /* the run of the pipeline now; NULL: none */
	char *breaker; /* why a run would be refused now, or NULL */
};
void dry_run_release(struct dry_run *d);
/* Add "dry_run", "plan", "ddl", "lease" and "breaker". */
void dry_run_json(const struct dry_run *d, json_t *out);

#endif
