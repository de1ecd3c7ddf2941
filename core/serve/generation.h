/*
 * The pipelines as one reading of the config has them, with the state store
 * that it names. Runs that go on keep theirs while a newer one is in force.
 * One thread counts.
 */
#ifndef TIDEMARK_CORE_SERVE_GENERATION_H
#define TIDEMARK_CORE_SERVE_GENERATION_H

#include "core/plugin/store.h"
#include "core/settings/settings.h"
#include "core/sync/parts/reach.h"

struct generation {
	struct settings s;
	const struct pipeline_settings *const *pipelines; /* the array: owned */
	size_t n;
	struct store *store; /* for all threads; NULL: not reached yet */
	struct reach *reach; /* its servers' state; or NULL */
	size_t users;
};

/* Zeroed settings, with one user: the caller. */
struct generation *generation_new(void);
void generation_leave(struct generation *g); /* NULL is fine */
/* Its store, opened and migrated if it was not. */
int generation_store(struct generation *g, struct error *err);

#endif
