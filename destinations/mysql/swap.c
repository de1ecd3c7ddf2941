#include <stdlib.h>

#include "core/base/failpoint.h"
#include "destinations/mysql/internal.h"

void my_swap_inspect(struct mydst *d, const struct place *place,
		     const struct catalog_table *table,
		     const struct target *target, struct problems *out)
{
	struct strbuf what = STRBUF_INIT;
	char *grant;

	if (table->triggers)
		strbuf_addstr(&what, "triggers");
	if (table->references)
		strbuf_addf(&what, "%sforeign keys of its own",
			    what.len ? ", " : "");
	if (table->referenced_by)
		strbuf_addf(&what, "%sforeign keys of other tables (%s)",
			    what.len ? ", " : "", table->referenced_by);
	if (what.len)
		problems_add(out, SEVERITY_ERROR, ERROR_SCHEMA, "dependents",
			     "drop them and create them again behind the run, "
			     "or load with mode upsert",
			     "table %s: to replace it would lose what depends "
			     "on it: %s",
			     target->table, what.data);
	strbuf_release(&what);
	if (!table->triggers_unseen)
		return;
	grant = my_rights_grant(d->db, "TRIGGER", place->rows);
	strbuf_addf(&what, "%s, or load with mode upsert", grant);
	problems_add(out, SEVERITY_ERROR, ERROR_SCHEMA, "triggers-unseen",
		     what.data,
		     "table %s: to replace it would lose its triggers, and "
		     "without the right TRIGGER on it the server does not "
		     "show whether it has any",
		     target->table);
	strbuf_release(&what);
	free(grant);
}

/* Something may have come to depend on the table since prepare. */
static int swap_look(struct mydst *d, bool *exists, struct error *err)
{
	struct problems problems = { .items = NULL };
	struct catalog_table old = { .exists = false };
	int rc = my_catalog_read(d->db, d->place.database, d->place.base,
				 d->target->schema, &old, err);

	if (!rc)
		rc = my_watchers_read(d->db, d->place.database, d->place.base,
				      d->target, &old, err);
	if (!rc && old.exists) {
		my_swap_inspect(d, &d->place, &old, d->target, &problems);
		rc = problems_to_error(&problems, err);
	}
	/* What was done to it meanwhile, the new table has not. */
	if (!rc && !my_signature_same(&d->replaced, &old))
		rc = my_signature_refuse(d->target, err);
	*exists = old.exists;
	my_catalog_release(&old);
	problems_release(&problems);
	return rc;
}

static int swap_rename(struct mydst *d, bool exists, struct error *err)
{
	const struct place *p = &d->place;

	if (!exists)
		return my_execf(d->db, err, "RENAME TABLE %s TO %s",
				p->building, p->rows);
	return my_execf(d->db, err, "RENAME TABLE %s TO %s, %s TO %s", p->rows,
			p->retired, p->building, p->rows);
}

static int swap_view(struct mydst *d, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc;

	if (d->target->mode != LOAD_APPEND)
		return 0;
	my_ddl_view(&sql, &d->place, d->target, &d->table);
	rc = mydb_exec(d->db, sql.data, err);
	strbuf_release(&sql);
	return rc;
}

/* RENAME commits, and so does DROP. So the next mark is written down before it,
 * and takes its place behind it; whoever comes after a crash sees by the tables
 * which it was (my_refresh_settle). */
static int swap_tables(struct mydst *d, const struct checkpoint *next,
		       struct error *err)
{
	bool exists = false;
	int rc = swap_look(d, &exists, err);

	if (!rc)
		rc = failpoint("before_watermark", err);
	if (!rc)
		rc = my_refresh_announce(d, next, err);
	if (!rc)
		rc = failpoint("after_watermark", err);
	if (!rc)
		rc = swap_rename(d, exists, err);
	if (!rc)
		rc = failpoint("after_merge", err);
	if (!rc && exists)
		rc = my_refresh_retire(d->db, &d->place, d->target->pipeline,
				       err);
	if (!rc)
		rc = swap_view(d, err);
	if (!rc)
		rc = failpoint("commit_sent", err);
	if (!rc)
		rc = my_refresh_conclude(d->db, &d->place, d->target->pipeline,
					 err);
	if (!rc)
		rc = failpoint("commit_acked", err);
	return rc;
}

int my_finish(struct destination *base, const struct checkpoint *next,
	      struct error *err)
{
	struct mydst *d = (struct mydst *)base;
	int rc = failpoint("before_merge", err);

	if (!rc)
		rc = my_mark_begin(d, true, err);
	if (!rc)
		rc = my_refresh_check(d, err);
	if (!rc)
		rc = swap_tables(d, next, err);
	if (rc) {
		my_session_rollback(d);
		return my_blame(d, d->target, rc, err);
	}
	my_session_end(d);
	my_mark_advance(d, next, d->refreshed);
	my_lock_release(d, LOCK_REFRESH);
	d->refreshed = 0;
	d->built = 0;
	return failpoint("stage_dropped", err);
}
