/*
 * Wishes of people about pipelines, in the state store: a pause, or a run as
 * soon as may be; and who did what, and when. Times are µs since 1970 by the
 * store's clock.
 */
#ifndef TIDEMARK_CORE_STORE_CONTROLS_H
#define TIDEMARK_CORE_STORE_CONTROLS_H

#include "core/plugin/store.h"

/* Owned texts. */
struct control {
	char *pipeline;
	int64_t paused_at; /* 0: it is not paused */
	char *paused_by, *reason;
	int64_t asked_at; /* 0: nobody has asked */
	char *asked_by;
};
struct control_list {
	struct control *items;
	size_t n, capacity;
};
void control_list_release(struct control_list *list);

/* Pipelines of which somebody wants something just now, by name. `out` is empty
 * before, and to be released. */
int store_controls_list(struct store *s, struct control_list *out,
			struct error *err);

/* Does one of them hold the pipeline? */
bool control_list_pauses(const struct control_list *list, const char *pipeline);

/* Each also notes who did it. A pause of one that is paused has a new reason,
 * and its old time. */
int store_control_pause(struct store *s, const char *pipeline, const char *who,
			const char *reason, struct error *err);
int store_control_resume(struct store *s, const char *pipeline, const char *who,
			 struct error *err);
int store_control_ask(struct store *s, const char *pipeline, const char *who,
		      struct error *err);
/* Something was done to the pipeline: "replay", and on what. */
int store_control_note(struct store *s, const char *pipeline, const char *who,
		       const char *what, const char *detail, struct error *err);
/* An order that somebody gave; texts are the callee's no longer than the call.
 */
struct control_event {
	int64_t at;
	const char *who, *what, *detail;
};
/* Tell of the newest `limit` of a pipeline, the newest first. */
int store_control_events(struct store *s, const char *pipeline, int64_t limit,
			 void (*each)(void *ctx, const struct control_event *e),
			 void *ctx, struct error *err);
/* The run that was asked for then is begun; a later wish stays. */
int store_control_begun(struct store *s, const char *pipeline, int64_t asked_at,
			struct error *err);

#endif
