#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/data/table_name.h"
#include "destinations/sqlite/internal.h"

static void remove_statement(struct strbuf *sql, const struct sqlite_target *d)
{
	if (d->soft_delete == SOFT_DELETE_NONE) {
		strbuf_addf(sql, "DELETE FROM %s AS t WHERE ", d->place.rows);
		return;
	}
	strbuf_addf(sql, "UPDATE %s AS t SET ", d->place.rows);
	sql_quote_name(sql, d->target->soft_delete, '"');
	strbuf_addf(sql, " = %s WHERE ",
		    d->soft_delete == SOFT_DELETE_FLAG ? "1"
		    : d->soft_zone
			    ? "strftime('%Y-%m-%d %H:%M:%f', 'now') || '+00:00'"
			    : "strftime('%Y-%m-%d %H:%M:%f', 'now')");
}

/* All columns are bound to it. */
static int remove_prepare(struct sqlite_target *d, struct error *err)
{
	const struct schema *s = d->target->schema;
	struct strbuf sql = STRBUF_INIT;
	int rc;

	if (d->drop)
		return 0;
	remove_statement(&sql, d);
	statements_key(&sql, s);
	if (d->soft_delete != SOFT_DELETE_NONE) {
		strbuf_addstr(&sql, " AND t.");
		sql_quote_name(&sql, d->target->soft_delete, '"');
		strbuf_addstr(&sql, soft_delete_is_not(d->soft_delete));
	}
	strbuf_addf(&sql, " AND ?%zu IS ?%zu", s->n_columns, s->n_columns);
	rc = sqlite_prepare(d->db, &d->drop, sql.data, err);
	if (rc)
		error_prefix(err, "table %s", d->target->table);
	strbuf_release(&sql);
	return rc;
}

static int remove_rows(struct sqlite_target *d, const struct batch *keys,
		       int64_t *removed, struct error *err)
{
	int rc = remove_prepare(d, err);

	for (size_t i = 0; i < d->order.n && !rc; i++) {
		if (atomic_load(&d->interrupted))
			return error_set(err, ERROR_STOPPED, "interrupted");
		bind_row(d, d->drop, keys, d->order.rows[i]);
		rc = sqlite_read(d->drop, err);
		*removed += rc ? 0 : sqlite_changes_count(d->db);
	}
	if (rc) {
		error_prefix(err, "table %s", d->target->table);
		return rc;
	}
	return failpoint("after_delete", err);
}

/* A target that we have emptied ourselves is not taken for one that somebody
 * else has. */
static int remove_remember(struct sqlite_target *d, int64_t removed,
			   struct error *err)
{
	struct sqlite_statement *st = NULL;
	char *sql;
	int rc;

	if (!removed || d->soft_delete != SOFT_DELETE_NONE)
		return 0;
	sql = xstrfmt("UPDATE main." NAME_WATERMARK_TABLE
		      " SET target_rows = 0\n"
		      "WHERE pipeline = ?1 AND NOT EXISTS (SELECT 1 FROM %s)",
		      d->place.rows);
	rc = sqlite_prepare(d->db, &st, sql, err);
	if (!rc) {
		sqlite_bind_str(st, 1, d->target->pipeline, -1);
		rc = sqlite_step(st, err);
	}
	sqlite_finalize(st);
	free(sql);
	return rc;
}

static int remove_in_transaction(struct sqlite_target *d,
				 const struct batch *keys,
				 const struct checkpoint *next,
				 int64_t *removed, struct error *err)
{
	struct checkpoint kept;
	int rc = mark_lock(d, err);

	checkpoint_init(&kept);
	checkpoint_keep(&kept, next, d->mark.stands);
	if (!rc)
		rc = signature_check(d, err);
	if (!rc)
		rc = remove_rows(d, keys, removed, err);
	if (!rc)
		rc = remove_remember(d, *removed, err);
	if (!rc)
		rc = sql_mark_write(&d->mark, d->target, &kept, 0, err);
	if (rc)
		sqlite_rollback(d->db);
	else
		rc = mark_commit(d, &kept, 0, err);
	checkpoint_release(&kept);
	return rc;
}

int sqlite_target_remove(struct destination *base, const struct batch *keys,
			 const struct checkpoint *next, int64_t *removed,
			 struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)base;
	int rc = soft_delete_check(d->target, d->soft_delete, "TIMESTAMPTZ",
				   err);

	*removed = 0;
	if (!rc)
		rc = row_order_build(&d->order, keys, err);
	if (!rc)
		rc = sqlite_begin(d->db, err);
	return rc ? rc : remove_in_transaction(d, keys, next, removed, err);
}
