/*
 * What `run --dry-run` shows people of one pipeline: what a run would do, who
 * stands in its way, and by which statements.
 */
#ifndef TIDEMARK_CLI_DRY_RUN_PRINT_H
#define TIDEMARK_CLI_DRY_RUN_PRINT_H

#include "core/sync/run/pipeline.h"

void dry_run_print(const struct run_result *r);

#endif
