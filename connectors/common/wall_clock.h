/*
 * Marks without a zone, for sources that are files. Their clock is this host's,
 * and there is no server to ask about zones.
 */
#ifndef TIDEMARK_CONNECTORS_COMMON_WALL_CLOCK_H
#define TIDEMARK_CONNECTORS_COMMON_WALL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

/* watermark.time_zone does not say whose clock it is. */
bool wall_clock_is_unknown(const char *zone);
/* The time that a clock of that zone showed at the instant `us`, or a little
 * less, since the smallest recent offset counts. An unknown zone gives the
 * earlier of UTC and this host's own. CONFIG: no such zone on this host. */
int wall_clock_at(const char *zone, int64_t us, int64_t *out,
		  struct error *err);

#endif
