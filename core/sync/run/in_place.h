/*
 * Mode update: are source and destination one table? Config says so where both
 * have one URL (settings_update.c); by several addresses (a pooler, a standby
 * and its primary) the servers have to be asked.
 */
#ifndef TIDEMARK_CORE_SYNC_RUN_IN_PLACE_H
#define TIDEMARK_CORE_SYNC_RUN_IN_PLACE_H

#include <jansson.h>

#include "core/plugin/connector.h"
#include "core/settings/settings.h"

/* `identity`: the source's. Opens a session at the destination, if need be. A
 * destination that cannot be described is another table. CONFIG: one table, and
 * nothing there says whether a row has changed. */
int in_place_find(const struct pipeline_settings *p, const json_t *identity,
		  bool *out, struct error *err);

#endif
