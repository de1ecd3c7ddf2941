#include "core/base/failpoint.h"
#include "core/data/table_name.h"
#include "destinations/sqlite/internal.h"

static int swap_again(struct sqlite_target *d, const struct strlist *dependents,
		      struct error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < dependents->n; i++) {
		rc = sqlite_exec(d->db, dependents->items[i], err);
		if (rc)
			error_prefix(err,
				     "table %s: cannot make again what was on "
				     "the old one: %.200s",
				     d->target->table, dependents->items[i]);
	}
	return rc;
}

static int swap_rename(struct sqlite_target *d, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc;

	strbuf_addf(&sql, "ALTER TABLE %s RENAME TO ", d->place.building);
	sql_quote_name(&sql, d->place.base, '"');
	rc = sqlite_exec(d->db, sql.data, err);
	strbuf_release(&sql);
	return rc;
}

static int swap_view(struct sqlite_target *d, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	struct catalog_table raw;
	int rc;

	if (d->target->mode != LOAD_APPEND)
		return 0;
	sqlite_target_catalog_init(&raw);
	rc = sqlite_target_catalog_read(d->db, "main", d->place.base,
					d->target->schema, &raw, err);
	if (!rc)
		rc = sqlite_execf(d->db, err, "DROP VIEW IF EXISTS %s",
				  d->place.readable);
	sqlite_target_ddl_view(&sql, &d->place, d->target, &raw);
	if (!rc)
		rc = sqlite_exec(d->db, sql.data, err);
	strbuf_reset(&sql);
	sqlite_target_ddl_raw_index(&sql, &d->place, d->target);
	if (!rc && d->target->schema->n_key)
		rc = sqlite_exec(d->db, sql.data, err);
	sqlite_target_catalog_release(&raw);
	strbuf_release(&sql);
	return rc;
}

int sqlite_target_swap_tables(struct sql_mark *m, const struct checkpoint *next,
			      struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)m;
	struct strlist dependents = STRLIST_INIT;
	int rc = sqlite_target_signature_check_replaced(d, err);

	(void)next;
	if (!rc)
		rc = sqlite_target_catalog_dependents(d->db, d->place.base,
						      &dependents, err);
	if (!rc)
		rc = sqlite_execf(d->db, err, "DROP TABLE IF EXISTS %s",
				  d->place.rows);
	if (!rc)
		rc = failpoint("after_delete", err);
	if (!rc)
		rc = swap_rename(d, err);
	if (!rc)
		rc = swap_again(d, &dependents, err);
	if (!rc)
		rc = swap_view(d, err);
	strlist_release(&dependents);
	return rc;
}

int sqlite_target_finish(struct destination *base,
			 const struct checkpoint *next, struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)base;
	int rc = failpoint("stage_full", err);

	sqlite_target_statements_release(d);
	return rc ? rc : sql_load_swap(&d->mark, next, err);
}
