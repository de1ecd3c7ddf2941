/*
 * The state that the receivers of notifications were last told, so that one
 * process tells each change of state, and once. A receiver, a pipeline and a
 * topic have a row each; without a row nothing was ever told.
 */
#ifndef TIDEMARK_CORE_STORE_NOTICES_H
#define TIDEMARK_CORE_STORE_NOTICES_H

#include "core/plugin/store.h"

/* Owned texts. Times in µs since 1970, by the store's clock. */
struct notice {
	char *target, *topic, *state;
	int64_t changed_at;
	bool held; /* somebody tells it now, or waits for another try */
	int64_t tries; /* failed ones */
	/* Somebody tells another state, or died before that was noted. */
	bool claimed;
};
struct notice_list {
	struct notice *items;
	size_t n, capacity;
};
void notice_list_release(struct notice_list *list);

/* `out` is empty before, and to be released. */
int store_notices_list(struct store *s, const char *pipeline,
		       struct notice_list *out, struct error *err);

/* Names a row. */
struct notice_key {
	const char *target, *pipeline, *topic;
};
/* The caller alone may tell a change until `hold_us` from now. It takes a
 * row that nobody holds, and that is as it was read: `state` of `changed_at`
 * (0: no row). One statement. `claim` names the caller. */
int store_notice_claim(struct store *s, const struct notice_key *key,
		       const char *state, int64_t changed_at, const char *claim,
		       int64_t hold_us, bool *mine, struct error *err);
/* It was told: `state` is the one that is known from now on. Both outlive a
 * crash of the store's server: what was told cannot be taken back. */
int store_notice_told(struct store *s, const struct notice_key *key,
		      const char *claim, const char *state, struct error *err);
/* It could not be told. The next try is not before `rest_us` from now. */
int store_notice_put_off(struct store *s, const struct notice_key *key,
			 const char *claim, int64_t tries, int64_t rest_us,
			 struct error *err);

#endif
