/* History that is too old to be kept. */
#ifndef TIDEMARK_CORE_SYNC_ROUNDS_PRUNE_H
#define TIDEMARK_CORE_SYNC_ROUNDS_PRUNE_H

#include "core/plugin/store.h"
#include "core/settings/settings.h"

/* Runs of a `serve` that found nothing new, which are many: they are thinned
 * out an hour later. To be called at least each PRUNE_THIN_US. */
#define PRUNE_THIN_US (600 * INT64_C(1000000))
void prune_idle(struct store *store);
/* Runs, and dead letters of `pipelines`, that are older than the settings keep
 * them. The next call does what cannot be done now. */
void prune_history(const struct settings *s, struct store *store,
		   const struct pipeline_settings *const *pipelines, size_t n);

#endif
