/*
 * The pipelines as one reading of the config has them, with the state store
 * that it names. Runs that go on keep theirs while a newer one is in force.
 */
#ifndef TIDEMARK_CORE_SERVE_GENERATION_H
#define TIDEMARK_CORE_SERVE_GENERATION_H

#include <stdatomic.h>

#include "core/plugin/store.h"
#include "core/settings/settings.h"
#include "core/sync/parts/reach.h"

struct generation {
	struct settings s;
	const struct pipeline_settings *const *pipelines; /* the array: owned */
	size_t n;
	struct store *store; /* for all threads; NULL: not reached yet */
	struct reach *reach; /* its servers' state; or NULL */
	atomic_size_t users;
};

/* Zeroed settings, with one user: the caller. */
struct generation *generation_new(void);
/* One user more, by any thread; returns `g`. NULL is fine, for both. */
struct generation *generation_join(struct generation *g);
void generation_leave(struct generation *g);
/* Its store, opened and migrated if it was not: by one thread. */
int generation_store(struct generation *g, struct error *err);

#endif
