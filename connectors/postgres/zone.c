#include "connectors/postgres/zone.h"

#include <stdlib.h>
#include <string.h>

#include "connectors/common/wall_clock.h"
#include "core/base/alloc.h"
#include "core/data/value.h"

/* $1: the instant; $2: a zone, or NULL for all that may be meant. A session's
 * SET leaves reset_val alone: it is the role's, database's or server's. */
static const char zone_sql[] =
	"WITH zone(name) AS (\n"
	"  SELECT $2::text WHERE $2 IS NOT NULL\n"
	"  UNION SELECT 'UTC' WHERE $2 IS NULL\n"
	"  UNION SELECT reset_val FROM pg_settings\n"
	"    WHERE $2 IS NULL AND name = 'TimeZone'\n"
	"  UNION SELECT substr(setting, strpos(setting, '=') + 1)\n"
	"    FROM pg_db_role_setting s CROSS JOIN unnest(s.setconfig) setting\n"
	"    WHERE $2 IS NULL AND setting ILIKE 'timezone=%'\n"
	"      AND s.setdatabase IN (0, (SELECT oid FROM pg_database\n"
	"                                WHERE datname = "
	"current_database()))),\n"
	"moment(at) AS (\n"
	"  SELECT base + day * interval '1 day'\n"
	"  FROM (VALUES ($1::timestamptz), (now())) b(base),\n"
	"    generate_series(-1, 1) day)\n"
	"SELECT (($1::timestamptz AT TIME ZONE 'UTC') + min(\n"
	"  (at AT TIME ZONE name) - (at AT TIME ZONE 'UTC')))::text\n"
	"FROM zone CROSS JOIN moment";

/* "+05:30" is east of Greenwich to people and ISO 8601, and west of it to
 * POSIX, whose notation the server takes it for. */
static char *zone_for_server(const char *zone)
{
	if (wall_clock_is_unknown(zone))
		return NULL;
	if (*zone == '+' || *zone == '-')
		return xstrfmt("<offset>%c%s", *zone == '+' ? '-' : '+',
			       zone + 1);
	return xstrdup(zone);
}

int postgres_source_zone_wall_clock(struct pg *pg, const char *zone, int64_t us,
				    int64_t *out, struct error *err)
{
	struct strbuf instant = STRBUF_INIT;
	struct pg_result *r = NULL;
	char *name = zone_for_server(zone);
	const char *params[2];
	int rc;

	value_print_timestamp(&instant, us, true);
	params[0] = instant.data;
	params[1] = name;
	rc = pg_query(pg, &r, zone_sql, "1?", 2, params, err);
	if (rc && name && err->code == ERROR_DATA) {
		err->code = ERROR_CONFIG;
		error_prefix(err, "watermark.time_zone \"%s\"", zone);
		rc = -ERROR_CONFIG;
	}
	if (!rc && (!pg_value(r, 0, 0) ||
		    !value_parse_timestamp(pg_value(r, 0, 0), out)))
		rc = error_set(err, ERROR_BUG, "no wall clock for zone \"%s\"",
			       zone);
	pg_result_free(r);
	strbuf_release(&instant);
	free(name);
	return rc;
}
