/*
 * Named points where a test may kill, fail, hang or end the process:
 * TIDEMARK_FAILPOINTS="after_merge=kill@3,mid_load=error". The actions:
 * - kill: SIGKILL to itself
 * - error: a TRANSIENT error
 * - hang: this thread, until the process is killed
 * - exit: at once, status 1
 * - stop: SIGSTOP to itself; goes on after SIGCONT
 * - note: says so and goes on
 *
 * @n means only the n-th time; without it every time counts. Built on libfiu
 * under -Dfailpoints=true. Without this option the points cost nothing, and the
 * variable is refused at start.
 */
#ifndef TIDEMARK_CORE_BASE_FAILPOINT_H
#define TIDEMARK_CORE_BASE_FAILPOINT_H

#include "core/base/error.h"

/* The names are API:
 *
 *     config_loaded lease_taken run_recorded ceiling_taken snapshot_opened
 *     first_row mid_page page_end stage_created mid_load stage_full
 *     before_merge after_delete after_merge before_watermark after_watermark
 *
 *     commit_sent commit_acked streams_queued streams_loaded streams_written
 *     hook_owed hook_due hook_done state_saved stage_dropped lease_released
 *     mid_alter in_recovery piece_loaded letters_saved table_found */
#ifdef TIDEMARK_FAILPOINTS
int failpoint(const char *name, struct error *err);
#else
static inline int failpoint(const char *name, struct error *err)
{
	(void)name;
	(void)err;
	return 0;
}
#endif
/* Read the environment; CONFIG error on an unknown name or action, or when
 * the variable is set in a build without failpoints. Call once in main. */
int failpoint_init(struct error *err);

#endif
