#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "destinations/postgres/postgres.h"

/* A target that we have emptied ourselves is not taken for one that somebody
 * else has. */
static const char emptied_sql[] = "UPDATE ONLY %s SET target_rows = 0\n"
				  "WHERE pipeline = $1 AND\n"
				  "  NOT EXISTS (SELECT 1 FROM %s)";

static int remove_remember(struct postgres_destination *d, int64_t removed,
			   struct error *err)
{
	char *sql;
	int rc;

	if (!removed || d->soft_delete != SOFT_DELETE_NONE)
		return 0;
	sql = xstrfmt(emptied_sql, d->place.watermark, d->rows);
	rc = pg_exec_count(d->pg, sql, 1, &d->target->pipeline, NULL, err);
	free(sql);
	return rc;
}

static int remove_rows(struct postgres_destination *d, const struct batch *keys,
		       int64_t *removed, struct error *err)
{
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

int postgres_remove(struct destination *base, const struct batch *keys,
		    const struct checkpoint *next, int64_t *removed,
		    struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)base;
	struct checkpoint kept;
	int rc = soft_delete_check(d->target, d->soft_delete, "timestamptz",
				   err);

	*removed = 0;
	if (!rc)
		rc = row_order_build(&d->order, keys, err);
	if (rc)
		return rc;
	rc = postgres_mark_begin(d, true, err);
	checkpoint_init(&kept);
	checkpoint_keep(&kept, next, d->mark.stands);
	if (!rc)
		rc = remove_rows(d, keys, removed, err);
	if (!rc)
		rc = remove_remember(d, *removed, err);
	if (!rc)
		rc = sql_mark_write(&d->mark, d->target, &kept, 0, err);
	if (!rc)
		rc = postgres_mark_commit(d, &kept, err);
	if (rc)
		postgres_session_rollback(d);
	else
		sql_mark_advance(&d->mark, &kept, 0);
	checkpoint_release(&kept);
	return rc;
}
