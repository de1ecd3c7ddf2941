/*
 * One row for each pipeline in the state store: the mirror of its mark, and the
 * pace that it was set to.
 */
#ifndef TIDEMARK_CORE_STORE_PIPELINES_H
#define TIDEMARK_CORE_STORE_PIPELINES_H

#include "core/plugin/store.h"

/* Settings that override the config's `pace`. */
struct pace_record {
	char *settings; /* JSON object of texts, or NULL: nothing; owned */
	int64_t changed_at;
	char *changed_by; /* the person; owned, or NULL */
	/* When it was paused, 0: it is not; owned texts, or NULL. */
	int64_t paused_at;
	char *paused_by, *reason;
};
void pace_record_release(struct pace_record *r);

/* The mirror of the mark: JSON text or NULL; caller frees. */
int store_mark_get(struct store *s, const char *pipeline, char **out,
		   struct error *err);
/* Set the mark from an attempt, unless the pipeline has a newer attempt; or by
 * hand (`attempt_id` NULL). */
int store_mark_set(struct store *s, const char *pipeline,
		   const char *attempt_id, const char *watermark,
		   struct error *err);
/* Fills `out`, to be released. */
int store_pace_get(struct store *s, const char *pipeline,
		   struct pace_record *out, struct error *err);
/* `settings` NULL: the config's alone. It is noted who has set them. */
int store_pace_set(struct store *s, const char *pipeline, const char *settings,
		   const char *who, struct error *err);

#endif
