/*
 * The processes of one `backfill`: this program again, as workers of the one
 * pipeline. One that is killed is replaced as long as there are chunks left.
 * Processes, not threads: what kills one leaves the others alone.
 */
#ifndef TIDEMARK_CLI_BACKFILL_WORKERS_H
#define TIDEMARK_CLI_BACKFILL_WORKERS_H

#include "cli/args.h"
#include "core/settings/settings.h"

/* Start `n` of them and wait until the last has ended; a signal is passed on.
 * `tick` is called some times a second. Failures of chunks are in the store;
 * STOPPED, and ACCESS when no process can be started. */
int backfill_workers(const struct arguments *args, const struct settings *s,
		     const char *pipeline, size_t n, void (*tick)(void *ctx),
		     void *ctx, struct error *err);

#endif
