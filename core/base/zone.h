/*
 * Time zones by their names of the tz database, as the system has it. Times are
 * whole seconds since 1970 UTC. All functions may be called by any thread.
 */
#ifndef TIDEMARK_CORE_BASE_ZONE_H
#define TIDEMARK_CORE_BASE_ZONE_H

#include <stdint.h>

#include "core/base/error.h"

struct zone;

/* "Europe/Rome"; "UTC" needs no database. CONFIG: there is no such zone. */
int zone_open(const char *name, struct zone **out, struct error *err);
void zone_free(struct zone *z); /* NULL is fine */

/* Seconds by which clocks there are ahead of UTC at that instant. NULL: 0. */
int64_t zone_offset(const struct zone *z, int64_t at);

/* The first instant after `from`, and not after `to`, at which the clocks are
 * put forward or back. INT64_MAX: there is none. */
int64_t zone_change(const struct zone *z, int64_t from, int64_t to);

#endif
