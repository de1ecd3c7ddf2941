#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "destinations/mysql/internal.h"

/* A target that we have emptied ourselves is not taken for one that somebody
 * else has. */
static const char emptied_sql[] = "UPDATE %s SET target_rows = 0\n"
				  "WHERE pipeline = ? AND\n"
				  "  NOT EXISTS (SELECT 1 FROM %s t)";

static int remove_remember(struct mysql_target *d, int64_t removed,
			   struct error *err)
{
	char *sql;
	int rc;

	if (!removed || d->soft_delete != SOFT_DELETE_NONE)
		return 0;
	sql = xstrfmt(emptied_sql, d->place.watermark, d->rows);
	rc = mysql_client_exec_count(d->db, sql, 1, &d->target->pipeline, NULL,
				     err);
	free(sql);
	return rc;
}

static int remove_rows(struct mysql_target *d, const struct batch *keys,
		       int64_t *removed, struct error *err)
{
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

static int remove_transaction(struct mysql_target *d, const struct batch *keys,
			      const struct checkpoint *next, int64_t *removed,
			      struct error *err)
{
	struct checkpoint kept;
	int rc = mysql_target_mark_begin(d, true, err);

	checkpoint_init(&kept);
	checkpoint_keep(&kept, next, d->mark.stands);
	if (!rc)
		rc = remove_rows(d, keys, removed, err);
	if (!rc)
		rc = remove_remember(d, *removed, err);
	if (!rc)
		rc = sql_mark_write(&d->mark, d->target, &kept, 0, err);
	if (!rc)
		rc = mysql_target_mark_commit(d, &kept, err);
	if (rc)
		mysql_target_session_rollback(d);
	else
		sql_mark_advance(&d->mark, &kept, 0);
	checkpoint_release(&kept);
	return rc;
}

int mysql_target_remove(struct destination *base, const struct batch *keys,
			const struct checkpoint *next, int64_t *removed,
			struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)base;
	int rc = soft_delete_check(d->target, d->soft_delete, "datetime(6)",
				   err);

	*removed = 0;
	if (!rc)
		rc = row_order_build(&d->order, keys, err);
	if (!rc)
		rc = mysql_target_stage_empty(d, err);
	if (!rc)
		rc = remove_transaction(d, keys, next, removed, err);
	return mysql_target_blame(d, d->target, rc, err);
}
