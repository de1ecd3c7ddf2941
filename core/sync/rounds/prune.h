/* History that is too old to be kept. */
#ifndef TIDEMARK_CORE_SYNC_ROUNDS_PRUNE_H
#define TIDEMARK_CORE_SYNC_ROUNDS_PRUNE_H

#include "core/plugin/store.h"
#include "core/settings/settings.h"

/* Runs, and dead letters of `pipelines`, that are older than the settings keep
 * them. The next call does what cannot be done now. */
void prune_history(const struct settings *s, struct store *store,
		   const struct pipeline_settings *const *pipelines, size_t n);

#endif
