/*
 * Shared by `run` and `copy`: run the pipelines with live progress, log each
 * failure once, print the results as a table, plain lines or JSON.
 */
#ifndef TIDEMARK_CLI_SYNC_RUN_H
#define TIDEMARK_CLI_SYNC_RUN_H

#include "cli/args.h"
#include "core/settings/settings.h"

struct task;

/* A row of a command's table of flags. */
#define METRICS_FILE_FLAG                                                      \
	{                                                                      \
		"metrics-file", 0, FLAG_TEXT, "PATH",                          \
			"keep metrics there, for node_exporter's collector"    \
	}

/* Flags read: --json, --quiet, --max-batches, --watch, --wait, --full-refresh,
 * --verify, --dry-run, --metrics-file.
 * `task` NULL: a run from the mark on, or its rehearsal. Failures of pipelines
 * are logged here; `err` is then clear and only the code returned. */
int sync_run(const struct arguments *args, const struct settings *s,
	     const struct pipeline_settings *const *pipelines, size_t n,
	     struct task *task, struct error *err);

#endif
