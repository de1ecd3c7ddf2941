#include "connectors/mysql/durable.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"

/* InnoDB flushes once a second, or a little later. */
#define DURABLE_LOOKS	 25
#define DURABLE_PAUSE_US (100 * 1000)

/* MySQL's names (8.0.30 and newer), then MariaDB's. */
static const char durable_sql[] =
	"SHOW GLOBAL STATUS WHERE variable_name IN\n"
	"  ('Innodb_redo_log_current_lsn', 'Innodb_lsn_current',\n"
	"   'Innodb_redo_log_flushed_to_disk_lsn', 'Innodb_lsn_flushed')";

static int durable_look(struct mysql_client *db, uint64_t *current,
			uint64_t *flushed, bool *known, struct error *err)
{
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query(db, &r, durable_sql, "tt", 0, NULL, err);

	*known = !rc && mysql_client_rows(r) == 2;
	for (size_t i = 0; *known && i < 2; i++) {
		const char *name = mysql_client_value(r, i, 0);
		uint64_t lsn = strtoull(mysql_client_value(r, i, 1), NULL, 10);
		if (strstr(name, "flushed"))
			*flushed = lsn;
		else
			*current = lsn;
	}
	mysql_client_result_free(r);
	return rc;
}

/* A commit may leave its log to the next flush. It is on disk, with all before
 * it, once the flush has passed the present end of the log. */
int mysql_source_durable(struct mysql_client *db,
			 const struct mysql_source_server *server,
			 enum mysql_source_durable *out, struct error *err)
{
	uint64_t end = 0, current = 0, flushed = 0;
	bool known = true;
	int rc;

	*out = DURABLE_YES;
	if (server->flushes)
		return 0;
	rc = durable_look(db, &end, &flushed, &known, err);
	for (int i = 0; !rc && known && flushed < end; i++) {
		if (i >= DURABLE_LOOKS || clock_sleep_us(DURABLE_PAUSE_US)) {
			*out = DURABLE_NOT_YET;
			return 0;
		}
		rc = durable_look(db, &current, &flushed, &known, err);
	}
	if (!rc && !known)
		*out = DURABLE_UNKNOWN;
	return rc;
}
