/*
 * The user's own question to the source before a run reads: has the job that
 * fills its table come to its end? If the answer is no, the run ends without a
 * failure, and the next one asks again.
 */
#ifndef TIDEMARK_CORE_SYNC_RUN_PRE_CHECK_H
#define TIDEMARK_CORE_SYNC_RUN_PRE_CHECK_H

#include "core/sync/run/run.h"

/* Ask it, the source being open. If it says no, the result is waiting: see
 * pre_check_waits(). An error of the query is the run's. */
int pre_check_ask(struct run *r, struct error *err);
bool pre_check_waits(const struct run *r);

#endif
