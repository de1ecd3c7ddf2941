/*
 * The output of `run --dry-run` for people, about one pipeline: the changes of
 * a run, obstacles, and statements.
 */
#ifndef TIDEMARK_CLI_DRY_RUN_PRINT_H
#define TIDEMARK_CLI_DRY_RUN_PRINT_H

#include "core/sync/run/pipeline.h"

void dry_run_print(const struct run_result *r);

#endif
