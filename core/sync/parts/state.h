/* The state store of a config: opened through the registry. */
#ifndef TIDEMARK_CORE_SYNC_PARTS_STATE_H
#define TIDEMARK_CORE_SYNC_PARTS_STATE_H

#include "core/plugin/store.h"
#include "core/settings/settings.h"

/* Open s->state and migrate it. */
int state_open(const struct settings *s, struct store **out, struct error *err);
/* Open it without writing. `*out` is NULL where there is no store yet, or one
 * without tables. */
int state_look(const struct connection *state, struct store **out,
	       struct error *err);

#endif
