/*
 * Metrics in a file, for the textfile collector of Prometheus' node_exporter.
 * It is written beside and renamed, readable by all (0644). Counters begin at 0
 * with the process. The rest is the state store's word.
 */
#ifndef TIDEMARK_CORE_SERVE_METRICS_FILE_H
#define TIDEMARK_CORE_SERVE_METRICS_FILE_H

#include "core/settings/settings.h"
#include "core/sync/parts/result.h"

struct metrics_file;
/* CONFIG if no file can be made there, or if something else than a file has
 * that name. Nothing is there yet. */
int metrics_file_new(struct metrics_file **out, const char *path,
		     struct error *err);
void metrics_file_free(struct metrics_file *f); /* NULL is fine */

/* A run, as far as it is; by any thread. */
void metrics_file_follow(struct metrics_file *f,
			 const struct run_result *so_far);
void metrics_file_ended(struct metrics_file *f, const struct run_result *r);
/* Write what is so now. ACCESS if it cannot be written: the old one stays. */
int metrics_file_write(struct metrics_file *f, const struct settings *s,
		       const struct pipeline_settings *const *pipelines,
		       size_t n, struct error *err);

#endif
