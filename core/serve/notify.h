/*
 * Notifications. A webhook or a command is told once when a pipeline begins to
 * fail, recovers, is late, has dead letters, or differs from its source.
 *
 * The state store has what each of them was last told (core/store/notices.h).
 * So a restart tells nothing again, and of several processes one tells. A
 * thread of its own asks the store and tells: no run waits for it. It keeps no
 * messages. A change that nobody could be told of is found again by comparing
 * what is so with what was told. So its memory is bounded by the number of
 * pipelines, and what changes and changes back in between is not told.
 */
#ifndef TIDEMARK_CORE_SERVE_NOTIFY_H
#define TIDEMARK_CORE_SERVE_NOTIFY_H

#include "core/base/post.h"
#include "core/serve/generation.h"
#include "core/sync/report/status.h"

struct notify;
/* `post` sends to webhooks. ACCESS: the system has no room for the thread. */
int notify_new(struct notify **out, post_function post, struct error *err);
/* A notification in hand is given up, and told by the next process. NULL is
 * fine. */
void notify_free(struct notify *n);

/* The pipelines in force, and whom to tell of them. */
void notify_set(struct notify *n, struct generation *g);
/* A pipeline as it is now; `status->health_known`. Any thread; it waits for
 * nothing. */
void notify_see(struct notify *n, const struct status_result *status);

#endif
