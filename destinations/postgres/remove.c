#include <stdlib.h>

#include "core/base/failpoint.h"
#include "destinations/postgres/postgres.h"

int postgres_remove_rows(struct sql_mark *m, const struct batch *keys,
			 int64_t *removed, struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)m;
	char *sql = postgres_statement_remove(d);
	int rc = postgres_load_copy(d, keys, STAGE, err);

	if (!rc)
		rc = postgres_joins_choose(d, d->rows, err);
	if (!rc)
		rc = pg_exec_count(d->pg, sql, 0, NULL, removed, err);
	free(sql);
	if (rc) {
		error_prefix(err, "table %s", d->target->table);
		return rc;
	}
	return failpoint("after_delete", err);
}
