/*
 * A last run that did not read: source.pre_check had said that it is too early.
 * The next run begins anew, so this is a wait of the pipeline.
 */
#ifndef TIDEMARK_CORE_SYNC_REPORT_EARLY_H
#define TIDEMARK_CORE_SYNC_REPORT_EARLY_H

#include "core/sync/report/health.h"

/* {"by","reason","since"}, a new reference; left as it is if the last run was
 * another. */
void early_find(const struct standing *standing, json_t **out);
/* The same as a wait; its texts are borrowed. NULL: there is none. */
struct health_wait early_wait(const json_t *early);

#endif
