/* Wall clocks: the values of a DATETIME or DATE column. The server computes
 * them, because its own tables of zones count. */
#ifndef TIDEMARK_CONNECTORS_MYSQL_ZONE_H
#define TIDEMARK_CONNECTORS_MYSQL_ZONE_H

#include "clients/mysql.h"

/* The instant `us` as the wall clock of `zone` (watermark.time_zone), with the
 * zone's smallest offset within a day of it or of now. "auto" is the earliest
 * of UTC, the server's zone and its system's. CONFIG if the server does not
 * know the zone. */
int mysql_source_zone_wall_clock(struct mysql_client *db, const char *zone,
				 int64_t us, int64_t *out, struct error *err);

#endif
