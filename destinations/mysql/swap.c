#include <stdlib.h>

#include "core/base/failpoint.h"
#include "destinations/mysql/internal.h"

void mysql_target_swap_inspect(struct mysql_target *d,
			       const struct place *place,
			       const struct catalog_table *table,
			       const struct target *target,
			       struct problems *out)
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
	grant = mysql_target_rights_grant(d->db, "TRIGGER", place->rows);
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
static int swap_look(struct mysql_target *d, bool *exists, struct error *err)
{
	struct problems problems = { .items = NULL };
	struct catalog_table old = { .exists = false };
	int rc = mysql_target_catalog_read(d->db, d->place.database,
					   d->place.base, d->target->schema,
					   &old, err);

	if (!rc)
		rc = mysql_target_watchers_read(d->db, d->place.database,
						d->place.base, d->target, &old,
						err);
	if (!rc && old.exists) {
		mysql_target_swap_inspect(d, &d->place, &old, d->target,
					  &problems);
		rc = problems_to_error(&problems, err);
	}
	/* The new table lacks changes made to the old one meanwhile. */
	if (!rc && !mysql_target_signature_same(&d->replaced, &old))
		rc = mysql_target_signature_refuse(d->target, err);
	*exists = old.exists;
	mysql_target_catalog_release(&old);
	problems_release(&problems);
	return rc;
}

static int swap_rename(struct mysql_target *d, bool exists, struct error *err)
{
	const struct place *p = &d->place;

	if (!exists)
		return mysql_target_execf(d->db, err, "RENAME TABLE %s TO %s",
					  p->building, p->rows);
	return mysql_target_execf(d->db, err, "RENAME TABLE %s TO %s, %s TO %s",
				  p->rows, p->retired, p->building, p->rows);
}

static int swap_view(struct mysql_target *d, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc;

	if (d->target->mode != LOAD_APPEND)
		return 0;
	mysql_target_ddl_view(&sql, &d->place, d->target, &d->table);
	rc = mysql_client_exec(d->db, sql.data, err);
	strbuf_release(&sql);
	return rc;
}

/* RENAME commits, and so does DROP. So the next mark is written before the
 * RENAME, and takes its place behind it. After a crash the tables tell which
 * step came last (mysql_target_refresh_settle). */
int mysql_target_swap_tables(struct sql_mark *m, const struct checkpoint *next,
			     struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)m;
	bool exists = false;
	int rc = swap_look(d, &exists, err);

	if (!rc)
		rc = failpoint("before_watermark", err);
	if (!rc)
		rc = mysql_target_refresh_announce(d, next, err);
	if (!rc)
		rc = failpoint("after_watermark", err);
	if (!rc)
		rc = swap_rename(d, exists, err);
	if (!rc)
		rc = failpoint("after_merge", err);
	if (!rc && exists)
		rc = mysql_target_refresh_retire(d->db, &d->place,
						 d->target->pipeline, err);
	if (!rc)
		rc = swap_view(d, err);
	if (!rc)
		rc = failpoint("commit_sent", err);
	if (!rc)
		rc = mysql_target_refresh_conclude(d->db, &d->place,
						   d->target->pipeline, err);
	if (!rc)
		rc = failpoint("commit_acked", err);
	if (rc)
		return rc;
	mysql_target_session_end(d);
	return 1;
}

int mysql_target_finish(struct destination *base, const struct checkpoint *next,
			struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)base;
	int rc = failpoint("before_merge", err);

	if (!rc)
		rc = sql_load_swap(&d->mark, next, err);
	if (rc)
		return mysql_target_blame(d, d->target, rc, err);
	mysql_target_lock_release(d, LOCK_REFRESH);
	return failpoint("stage_dropped", err);
}
