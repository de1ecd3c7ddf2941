#include <stdlib.h>

#include "core/base/failpoint.h"
#include "destinations/mysql/internal.h"

int mysql_target_remove_rows(struct sql_mark *m, const struct batch *keys,
			     int64_t *removed, struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)m;
	char *sql = mysql_target_statement_remove(d);
	int rc = mysql_target_stage_fill(d, keys, d->place.stage, err);

	if (!rc)
		rc = error_set(err, ERROR_DATA,
			       "table %s: two keys to be removed are one in "
			       "the key column's collation or type",
			       d->target->table);
	if (rc > 0)
		rc = mysql_client_exec_count(d->db, sql, 0, NULL, removed, err);
	free(sql);
	return rc ? rc : failpoint("after_delete", err);
}
