/*
 * What `run` and `copy` share: run the pipelines with live progress, log each
 * failure once, print the results as a table, plain lines or JSON.
 */
#ifndef TIDEMARK_CLI_SYNC_RUN_H
#define TIDEMARK_CLI_SYNC_RUN_H

#include "cli/args.h"
#include "core/settings/settings.h"

struct replay;
struct dead_letter_list;

/* What is to be loaded once more; one of them. */
struct sync_again {
	struct replay *replay; /* of the one pipeline */
	const struct dead_letter_list *letters; /* of those pipelines */
};

/* Flags read: --json, --quiet, --max-batches, --watch, --wait, --full-refresh,
 * --verify, --dry-run.
 * `again` NULL: from the mark on. Failures of pipelines are logged here; `err`
 * is then clear and only the code returned. */
int sync_run(const struct arguments *args, const struct settings *s,
	     const struct pipeline_settings *const *pipelines, size_t n,
	     const struct sync_again *again, struct error *err);

#endif
