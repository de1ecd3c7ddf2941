#include "core/base/failpoint.h"
#include "core/data/table_name.h"
#include "destinations/sqlite/internal.h"

static void remove_statement(struct strbuf *sql, const struct sqlite_target *d)
{
	if (d->mark.soft_delete == SOFT_DELETE_NONE) {
		strbuf_addf(sql, "DELETE FROM %s AS t WHERE ", d->place.rows);
		return;
	}
	strbuf_addf(sql, "UPDATE %s AS t SET ", d->place.rows);
	sql_quote_name(sql, d->target->soft_delete, '"');
	strbuf_addf(sql, " = %s WHERE ",
		    d->mark.soft_delete == SOFT_DELETE_FLAG ? "1"
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
	sqlite_target_statements_key(&sql, s);
	if (d->mark.soft_delete != SOFT_DELETE_NONE) {
		strbuf_addstr(&sql, " AND t.");
		sql_quote_name(&sql, d->target->soft_delete, '"');
		strbuf_addstr(&sql, soft_delete_is_not(d->mark.soft_delete));
	}
	strbuf_addf(&sql, " AND ?%zu IS ?%zu", s->n_columns, s->n_columns);
	rc = sqlite_prepare(d->db, &d->drop, sql.data, err);
	if (rc)
		error_prefix(err, "table %s", d->target->table);
	strbuf_release(&sql);
	return rc;
}

int sqlite_target_remove_rows(struct sql_mark *m, const struct batch *keys,
			      int64_t *removed, struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)m;
	int rc = remove_prepare(d, err);

	for (size_t i = 0; i < d->order.n && !rc; i++) {
		if (atomic_load(&d->interrupted))
			return error_set(err, ERROR_STOPPED, "interrupted");
		sqlite_target_bind_row(d, d->drop, keys, d->order.rows[i]);
		rc = sqlite_read(d->drop, err);
		*removed += rc ? 0 : sqlite_changes_count(d->db);
	}
	if (rc) {
		error_prefix(err, "table %s", d->target->table);
		return rc;
	}
	return failpoint("after_delete", err);
}
