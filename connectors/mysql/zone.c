#include "connectors/mysql/zone.h"

#include <stdlib.h>
#include <string.h>

#include "connectors/common/wall_clock.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/data/value.h"

/* The first ? is a zone, or NULL for all possible ones; the second is the
 * instant. Gives the smallest offset in seconds; NULL if a zone is not
 * known. */
static const char zone_sql[] =
	"SELECT IF(SUM(o.seconds IS NULL), NULL, MIN(o.seconds)) FROM (\n"
	"  SELECT TIMESTAMPDIFF(SECOND, m.instant,\n"
	"    CONVERT_TZ(m.instant, '+00:00', z.name)) AS seconds\n"
	"  FROM (SELECT CAST(? AS CHAR) AS name UNION SELECT '+00:00'\n"
	"    UNION SELECT @@global.time_zone UNION SELECT 'SYSTEM') z\n"
	"  CROSS JOIN (SELECT b.instant + INTERVAL d.day DAY AS instant\n"
	"    FROM (SELECT CAST(? AS DATETIME) AS instant\n"
	"      UNION SELECT UTC_TIMESTAMP()) b\n"
	"    CROSS JOIN (SELECT -1 AS day UNION SELECT 0 UNION SELECT 1) d) m\n"
	"  WHERE z.name = ? OR (? AND z.name IS NOT NULL)) o";

/* "UTC" works without the tables of zones. */
static const char *zone_for_server(const char *zone)
{
	if (wall_clock_is_unknown(zone))
		return NULL;
	return strcasecmp(zone, "UTC") ? zone : "+00:00";
}

int mysql_source_zone_wall_clock(struct mysql_client *db, const char *zone,
				 int64_t us, int64_t *out, struct error *err)
{
	const char *name = zone_for_server(zone);
	struct strbuf instant = STRBUF_INIT;
	struct mysql_client_result *r = NULL;
	const char *params[4];
	int rc;

	value_print_timestamp(&instant, us - us % US_PER_SECOND, false);
	params[0] = name;
	params[1] = instant.data;
	params[2] = name;
	params[3] = name ? "0" : "1";
	rc = mysql_client_query(db, &r, zone_sql, "1?", 4, params, err);
	if (!rc && !mysql_client_value(r, 0, 0))
		rc = error_set(
			err, ERROR_CONFIG,
			"watermark.time_zone \"%s\": the server does not "
			"know that zone" ERROR_FIX ": load its tables of zones "
			"(mariadb-tzinfo-to-sql, mysql_tzinfo_to_sql), "
			"or use an offset such as +01:00",
			zone ? zone : "auto");
	else if (!rc)
		*out = us + clock_bounded_seconds(mysql_client_value(r, 0, 0));
	mysql_client_result_free(r);
	strbuf_release(&instant);
	return rc;
}
