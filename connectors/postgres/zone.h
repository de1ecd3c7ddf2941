/* Wall clocks: the values of a column without a time zone. The server computes
 * them, because its own tables of zones count. */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_ZONE_H
#define TIDEMARK_CONNECTORS_POSTGRES_ZONE_H

#include <stdbool.h>
#include <stdint.h>

#include "clients/pg.h"

/* The instant `us` as the wall clock of `zone` (watermark.time_zone), with the
 * zone's smallest offset within a day of it or of now. "auto" is the earliest
 * of UTC and the zones set for server, database and roles. CONFIG if the server
 * does not know the zone. */
int postgres_source_zone_wall_clock(struct pg *pg, const char *zone, int64_t us,
				    int64_t *out, struct error *err);

#endif
