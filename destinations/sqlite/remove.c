#include "core/base/failpoint.h"
#include "destinations/sqlite/internal.h"

static int remove_rows(struct sqlite_target *d, const struct batch *keys,
		       int64_t *removed, struct error *err)
{
	int rc = statements_make_drop(d, err);

	for (size_t i = 0; i < d->order.n && !rc; i++) {
		if (atomic_load(&d->interrupted))
			return error_set(err, ERROR_STOPPED, "interrupted");
		bind_row(d, d->drop, keys, d->order.rows[i]);
		rc = sqlite_read(d->drop, err);
		*removed += rc ? 0 : sqlite_changes_count(d->db);
	}
	if (rc)
		return error_prefix(err, "table %s", d->target->table);
	return failpoint("after_delete", err);
}

static int remove_in_transaction(struct sqlite_target *d,
				 const struct batch *keys,
				 const struct checkpoint *next,
				 int64_t *removed, struct error *err)
{
	int rc = mark_lock(d, err);

	if (!rc)
		rc = remove_rows(d, keys, removed, err);
	if (!rc)
		rc = mark_write(d, next, 0, err);
	if (rc) {
		sqlite_rollback(d->db);
		return rc;
	}
	return mark_commit(d, next, 0, err);
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
