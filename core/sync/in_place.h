/*
 * Mode update: are source and destination one table? Config says so where both
 * have one URL (settings_update.c); by several addresses (a pooler, a standby
 * and its primary) the servers have to be asked. Called by try.c,
 * settings_update.c.
 */
#ifndef TIDEMARK_CORE_SYNC_IN_PLACE_H
#define TIDEMARK_CORE_SYNC_IN_PLACE_H

#include <jansson.h>

#include "core/plugin/connector.h"
#include "core/sync/settings.h"

/* With the column's name, twice. */
#define IN_PLACE_READS                                                         \
	"the expression of column \"%s\" reads the column that it writes, "    \
	"and "                                                                 \
	"a row that is read again is changed again; write the result to a "    \
	"column of its own, or compute it of columns other than \"%s\""

/* SQL names the column. */
bool in_place_reads(const char *sql, const char *column);
/* `identity`: the source's. Opens a session at the destination, if need be. A
 * destination that cannot be described is another table. CONFIG: one table, and
 * nothing there says whether a row has changed. */
int in_place_find(const struct pipeline_settings *p, const json_t *identity,
		  bool *out, struct error *err);

#endif
