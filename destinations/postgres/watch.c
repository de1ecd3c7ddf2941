#include <inttypes.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "destinations/common/mark_moved.h"
#include "destinations/postgres/postgres.h"

/* Objects that may take rows away from the relation $1, by name. */
static const char names_sql[] =
	"WITH it AS (SELECT oid, relrowsecurity,\n"
	"    ARRAY(SELECT oid UNION SELECT relid FROM pg_partition_tree(oid))\n"
	"      AS tree\n"
	"  FROM pg_class WHERE oid = to_regclass($1))\n"
	"SELECT string_agg(name, ', ') FROM (\n"
	"  SELECT format('trigger %I', g.tgname) AS name\n"
	"  FROM it JOIN pg_trigger g ON g.tgrelid = ANY (it.tree)\n"
	"  WHERE NOT g.tgisinternal\n"
	"  UNION SELECT format('rule %I', r.rulename)\n"
	"  FROM it JOIN pg_rewrite r ON r.ev_class = it.oid\n"
	"  UNION SELECT format('policy %I', p.polname)\n"
	"  FROM it JOIN pg_policy p ON p.polrelid = it.oid\n"
	"  UNION SELECT 'row security' FROM it WHERE it.relrowsecurity\n"
	"  ORDER BY 1) AS names";

/* $1: the relation, $2: the mark's column. A function in C is told it as an
 * argument. */
static const char mark_sql[] =
	"SELECT string_agg(DISTINCT format('trigger %I', g.tgname), ', ')\n"
	"FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid\n"
	"WHERE NOT g.tgisinternal AND g.tgenabled IN ('O', 'A')\n"
	"  AND g.tgtype & 20 <> 0 AND g.tgrelid IN (\n"
	"    SELECT to_regclass($1) UNION\n"
	"    SELECT relid FROM pg_partition_tree(to_regclass($1)))\n"
	"  AND strpos(concat(p.prosrc, ' ', encode(g.tgargs, 'escape')),\n"
	"             $2) > 0";

int postgres_watch_mark(struct pg *pg, const char *table,
			const struct target *target, struct problems *out,
			struct error *err)
{
	const char *params[] = { table, mark_moved_column(target) };
	struct pg_result *r = NULL;
	int rc;

	if (!params[1])
		return 0;
	rc = pg_query(pg, &r, mark_sql, "1?", 2, params, err);
	if (!rc && pg_rows(r) && pg_value(r, 0, 0))
		mark_moved_report(target, pg_value(r, 0, 0), out);
	pg_result_free(r);
	return rc;
}

int postgres_watch_left_out(struct postgres_destination *d, int64_t n,
			    struct error *err)
{
	const char *params[] = { d->rows };
	struct pg_result *r = NULL;
	struct error ignored = ERROR_INIT;
	const char *names = NULL;

	if (!pg_query(d->pg, &r, names_sql, "1?", 1, params, &ignored))
		names = pg_value(r, 0, 0);
	error_set(
		err, ERROR_DATA,
		"table %s: %s leaves out %" PRId64 " of %zu rows without an "
		"error, takes them away again, or stores them with an older "
		"mark (have it let them pass; or leave them out by "
		"source.where, or keep them aside by on_bad_row: dead_letter)",
		d->target->table, names ? names : "a trigger", n < 0 ? -n : n,
		d->order.n);
	pg_result_free(r);
	return -ERROR_DATA;
}

static int watch_count(struct postgres_destination *d, const char *sql, int n,
		       const char *const *params, int64_t *out,
		       struct error *err)
{
	*out = 0;
	return sql ? pg_exec_count(d->pg, sql, n, params, out, err) : 0;
}

void postgres_watch_keyless(struct postgres_destination *d)
{
	if (!d->table.filters || d->target->schema->n_key ||
	    d->target->mode != LOAD_APPEND)
		return;
	d->sql_appending = xstrdup("SELECT FROM " STAGE);
	d->sql_appended = xstrfmt("SELECT FROM %s t WHERE t." NAME_RAW_BATCH
				  " = $1 AND t." NAME_RAW_SEQ " > $2::bigint",
				  d->rows);
}

int postgres_watch_begin(struct postgres_destination *d, int n,
			 const char *const *params, struct watch *out,
			 struct error *err)
{
	int rc;

	*out = (struct watch){ .replacing = 0 };
	d->miscounted = false;
	if (!d->table.filters)
		return 0;
	if (d->target->mode == LOAD_APPEND)
		return watch_count(d, d->sql_appending, 0, NULL,
				   &out->appending, err);
	rc = watch_count(d, d->sql_replacing, n, params, &out->replacing, err);
	return rc ? rc
		  : watch_count(d, d->sql_missing, 0, NULL, &out->missing, err);
}

/* Behind the merge: rows that are not there, nor anything newer. */
static int watch_look(struct postgres_destination *d, const struct watch *w,
		      int n, const char *const *params,
		      const struct load_counts *done, int64_t *lost,
		      struct error *err)
{
	int64_t found = 0;
	int rc;

	if (d->target->mode == LOAD_APPEND) {
		rc = watch_count(d, d->sql_appended, n, params, &found, err);
		*lost = w->appending -
			(done->inserted < found ? done->inserted : found);
		if (!*lost && !rc && d->sql_left_out)
			rc = watch_count(d, d->sql_left_out, 0, NULL, lost,
					 err);
		return rc;
	}
	if (d->target->mode == LOAD_UPDATE) {
		rc = watch_count(d, d->sql_missing, 0, NULL, &found, err);
		*lost = w->replacing - done->updated + found - w->missing;
		return rc;
	}
	rc = watch_count(d, d->sql_left_out, 0, NULL, &found, err);
	*lost = w->replacing - done->updated;
	if (!*lost)
		*lost = w->missing - done->inserted;
	if (!*lost)
		*lost = found;
	return rc;
}

/* Rows that a deferred trigger takes away are gone once it has run. So it runs
 * now: COMMIT gives no answer to a question. */
int postgres_watch_end(struct postgres_destination *d, const struct watch *w,
		       int n, const char *const *params,
		       const struct load_counts *done, struct error *err)
{
	int64_t lost = 0;
	int rc = 0;

	if (!d->table.filters)
		return 0;
	rc = pg_exec(d->pg, "SET CONSTRAINTS ALL IMMEDIATE", err);
	if (!rc)
		rc = watch_look(d, w, n, params, done, &lost, err);
	if (rc || !lost)
		return rc;
	d->miscounted = true;
	return postgres_watch_left_out(d, lost, err);
}
