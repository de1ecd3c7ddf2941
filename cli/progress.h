/*
 * The progress of a run, and of `verify`. On a terminal it is one live line on
 * stderr, redrawn at most ten times a second and taken away before every log
 * line. Without a terminal it is one log line every 10 s, without control
 * characters. Fed by run_options.progress and verify_terms.progress, from any
 * thread.
 */
#ifndef TIDEMARK_CLI_PROGRESS_H
#define TIDEMARK_CLI_PROGRESS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/strbuf.h"

struct pipeline_settings;
struct progress_track;
struct run_result;
struct verify_progress;

/* The content of the line; speeds are per second. */
struct progress_view {
	const char *pipeline; /* "" if it is said elsewhere */
	int64_t rows;
	double rows_per_second, bytes_per_second;
	int64_t last_batch_us; /* 0: no batch yet */
	double share; /* 0..1, or -1 if it cannot be known */
	int64_t eta_us; /* until it is 1; -1: not known */
	const json_t *held_by; /* or NULL */
	const json_t *paused; /* or NULL */
	bool verifying; /* all is loaded, */
	int64_t verified; /* and so many rows were looked at again */
};

/* The same of a look of `verify`. */
struct progress_look_view {
	const char *pipeline, *pass;
	int64_t source, destination; /* rows */
	double source_per_second, destination_per_second;
	double share;
	int64_t eta_us;
	const json_t *paused; /* or NULL */
};

/* ", held by pace.BY since TIME: REASON". */
void progress_add_pause(struct strbuf *sb, const json_t *paused);
/* "37%, about 3m20s left"; `eta_us` -1: not known. */
void progress_add_share(struct strbuf *sb, double share, int64_t eta_us);
/* Append the line without newline or control characters. */
void progress_render(struct strbuf *sb, const struct progress_view *v);
void progress_render_look(struct strbuf *sb,
			  const struct progress_look_view *v);
/* "12 of 40 done, 2 running: a 1.2M rows (45k/s), b 3 rows (0/s)" */
void progress_render_all(struct strbuf *sb, const struct progress_track *tracks,
			 size_t n, size_t done, size_t all);
/* Cut `sb` to `width` characters (UTF-8 kept whole); "..." at the end. */
void progress_cut(struct strbuf *sb, size_t width);

/* Draw from now on, unless `quiet`. */
void progress_begin(bool quiet);
/* As run_options.progress; `ctx` is not used. */
void progress_update(const struct run_result *so_far, void *ctx);
/* As verify_terms.progress; `ctx` is not used. */
void progress_verify(const struct verify_progress *so_far, void *ctx);
/* Is there a line that is drawn again and again? */
bool progress_is_live(void);
/* Show this in its place. */
void progress_line(const char *text);
/* So many pipelines run, of which several may run at once. On a terminal there
 * is one line for them then. 0: one after the other. */
void progress_round(size_t all);
/* The pipeline is done: take the line away, forget its speeds. */
void progress_pipeline_end(const struct pipeline_settings *p);
/* Take the line away for good. */
void progress_end(void);

#endif
