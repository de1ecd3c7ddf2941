#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/data/table_name.h"
#include "destinations/postgres/postgres.h"

/* Statements that make the new table like the old one: $1 old, $2 new name. The
 * owner comes last: it ends our own rights. */
static const char keep_sql[] =
	"SELECT 1, format('GRANT %s ON %s TO %s%s', a.privilege_type, "
	"$2::text,\n"
	"  CASE a.grantee WHEN 0 THEN 'PUBLIC'\n"
	"    ELSE quote_ident(pg_get_userbyid(a.grantee)) END,\n"
	"  CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)\n"
	"FROM pg_class c, aclexplode(c.relacl) a\n"
	"WHERE c.oid = $1 AND a.grantee <> c.relowner\n"
	"UNION ALL\n"
	"SELECT 1, format('GRANT %s (%I) ON %s TO %s%s', a.privilege_type,\n"
	"  t.attname, $2::text, CASE a.grantee WHEN 0 THEN 'PUBLIC'\n"
	"    ELSE quote_ident(pg_get_userbyid(a.grantee)) END,\n"
	"  CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)\n"
	"FROM pg_attribute t, aclexplode(t.attacl) a\n"
	"WHERE t.attrelid = $1 AND NOT t.attisdropped\n"
	"UNION ALL\n"
	"SELECT 2, format('COMMENT ON TABLE %s IS %L', $2::text,\n"
	"  obj_description(c.oid, 'pg_class'))\n"
	"FROM pg_class c WHERE c.oid = $1\n"
	"  AND obj_description(c.oid, 'pg_class') IS NOT NULL\n"
	"UNION ALL\n"
	"SELECT 2, format('ALTER TABLE %s SET (%s)', $2::text,\n"
	"  array_to_string(c.reloptions, ', '))\n"
	"FROM pg_class c WHERE c.oid = $1 AND c.reloptions IS NOT NULL\n"
	"UNION ALL\n"
	"SELECT 2, format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', "
	"$2::text)\n"
	"FROM pg_class c WHERE c.oid = $1 AND c.relrowsecurity\n"
	"UNION ALL\n"
	"SELECT 3, format('ALTER TABLE %s OWNER TO %I', $2::text,\n"
	"  pg_get_userbyid(c.relowner))\n"
	"FROM pg_class c WHERE c.oid = $1\n"
	"  AND pg_get_userbyid(c.relowner) <> current_user\n"
	"ORDER BY 1";

/* The new table's indexes get the names of their equals of the old table; $1
 * old, $2 new. */
static const char indexes_sql[] =
	"WITH x AS (\n"
	"  SELECT i.indrelid, c.relname, n.nspname,\n"
	"    i.indisprimary::text || i.indisunique::text\n"
	"      || substring(pg_get_indexdef(i.indexrelid), ' USING .*') AS "
	"def,\n"
	"    i.indexrelid AS id\n"
	"  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid\n"
	"  JOIN pg_namespace n ON n.oid = c.relnamespace\n"
	"  WHERE i.indrelid IN ($1::oid, $2::oid)),\n"
	"y AS (SELECT *, row_number() OVER (PARTITION BY indrelid, def\n"
	"  ORDER BY id) AS k FROM x)\n"
	"SELECT format('ALTER INDEX %I.%I RENAME TO %I', b.nspname, "
	"b.relname,\n"
	"  a.relname)\n"
	"FROM y a JOIN y b ON b.def = a.def AND b.k = a.k\n"
	"WHERE a.indrelid = $1::oid AND b.indrelid = $2::oid";

/* No old table: the names that CREATE TABLE would have given. $1 new, $2 its
 * name so far, $3 its name to be. */
static const char new_indexes_sql[] =
	"SELECT format('ALTER INDEX %I.%I RENAME TO %I', n.nspname, "
	"c.relname,\n"
	"  $3 || substr(c.relname, length($2) + 1))\n"
	"FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid\n"
	"JOIN pg_namespace n ON n.oid = c.relnamespace\n"
	"WHERE i.indrelid = $1 AND starts_with(c.relname, $2)\n"
	"  AND octet_length($3 || substr(c.relname, length($2) + 1)) <= 63\n"
	"  AND NOT EXISTS (SELECT FROM pg_class o\n"
	"    WHERE o.relnamespace = c.relnamespace\n"
	"      AND o.relname = $3 || substr(c.relname, length($2) + 1))";

/* Statements are the last column of a query's rows. */
static int swap_collect(struct pg *pg, const char *sql, const char *shape,
			int n, const char *const *params, struct strlist *out,
			struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(pg, &r, sql, shape, n, params, err);

	for (int i = 0; !rc && i < pg_rows(r); i++)
		strlist_add(out, pg_value(r, i, pg_columns(r) - 1));
	pg_result_free(r);
	return rc;
}

static int swap_collect_old(struct postgres_destination *d, const char *old,
			    const char *new, struct strlist *out,
			    struct error *err)
{
	const char *both[] = { old, new };
	const char *name[] = { old, d->place.rows };
	int rc = swap_collect(d->pg, indexes_sql, "t", 2, both, out, err);

	if (!rc)
		rc = swap_collect(d->pg, keep_sql, "tt", 2, name, out, err);
	return rc;
}

static int swap_view(struct postgres_destination *d, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc;

	if (d->target->mode != LOAD_APPEND)
		return 0;
	postgres_ddl_view(&sql, &d->place, d->target, &d->table);
	rc = pg_exec(d->pg, "SAVEPOINT view", err);
	if (!rc)
		rc = pg_exec(d->pg, sql.data, err);
	/* Other columns or types: it has to be made anew. */
	if (rc == -ERROR_SCHEMA) {
		error_clear(err);
		rc = pg_execf(d->pg, err,
			      "ROLLBACK TO SAVEPOINT view; DROP VIEW %s",
			      d->place.readable);
		if (!rc)
			rc = pg_exec(d->pg, sql.data, err);
	}
	strbuf_release(&sql);
	return rc;
}

static int swap_rename(struct postgres_destination *d, const char *from,
		       const char *to, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc;

	strbuf_addf(&sql, "ALTER TABLE %s RENAME TO ", from);
	sql_quote_name(&sql, to, '"');
	rc = pg_exec(d->pg, sql.data, err);
	strbuf_release(&sql);
	return rc;
}

static int swap_move_old(struct postgres_destination *d, struct error *err)
{
	char *aside = xstrfmt("%s_old", d->place.build);
	int rc = swap_rename(d, d->place.rows, aside, err);

	free(aside);
	return rc;
}

static int swap_drop_old(struct postgres_destination *d, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	char *aside = xstrfmt("%s_old", d->place.build);
	int rc;

	strbuf_addstr(&sql, "DROP TABLE ");
	sql_quote_name(&sql, d->place.schema, '"');
	strbuf_addch(&sql, '.');
	sql_quote_name(&sql, aside, '"');
	rc = pg_exec(d->pg, sql.data, err);
	strbuf_release(&sql);
	free(aside);
	return rc;
}

/* The new table lacks changes made to the old table since prepare. */
static int swap_check_old(struct postgres_destination *d,
			  const struct catalog_table *old, struct error *err)
{
	char *now = NULL;
	int rc = 0;

	if (old->exists)
		rc = postgres_signature_read(d->pg, d->place.rows, &now, err);
	if (!rc)
		rc = postgres_signature_compare(d->target, d->replaced, now,
						err);
	free(now);
	return rc;
}

/* Something may have come to depend on the table since prepare. A refill only
 * keeps writers away. */
static int swap_lock_old(struct postgres_destination *d,
			 struct catalog_table *old, struct error *err)
{
	struct problems problems = { .items = NULL };
	int rc = postgres_catalog_read(d->pg, d->place.schema, d->place.base,
				       NULL, old, err);

	if (!rc && old->exists) {
		rc = pg_execf(
			d->pg, err, "LOCK TABLE %s IN %s MODE", d->place.rows,
			d->refill ? "SHARE ROW EXCLUSIVE" : "ACCESS EXCLUSIVE");
		if (!rc)
			rc = postgres_refill_inspect(
				d->pg, &d->place, d->target, old->oid,
				&d->refill, &problems, err);
		if (!rc)
			rc = problems_to_error(&problems, err);
	}
	if (!rc)
		rc = swap_check_old(d, old, err);
	problems_release(&problems);
	return rc;
}

static int swap_statements(struct postgres_destination *d,
			   const struct catalog_table *old, struct strlist *out,
			   struct error *err)
{
	char *new_oid = xstrfmt("%u", d->table.oid);
	char *old_oid = xstrfmt("%u", old->oid);
	const char *fresh[] = { new_oid, d->place.build, d->place.base };
	int rc;

	if (old->exists)
		rc = swap_collect_old(d, old_oid, new_oid, out, err);
	else
		rc = swap_collect(d->pg, new_indexes_sql, "t", 3, fresh, out,
				  err);
	free(new_oid);
	free(old_oid);
	return rc;
}

/* The old table goes, and what was built takes its name. */
static int swap_replace(struct postgres_destination *d,
			const struct catalog_table *old, struct error *err)
{
	struct strlist statements = STRLIST_INIT;
	int rc = swap_statements(d, old, &statements, err);

	if (!rc && old->exists)
		rc = swap_move_old(d, err);
	if (!rc)
		rc = swap_rename(d, d->place.building, d->place.base, err);
	if (!rc)
		rc = swap_view(d, err);
	if (!rc && old->exists)
		rc = swap_drop_old(d, err);
	for (size_t i = 0; !rc && i < statements.n; i++)
		rc = pg_exec(d->pg, statements.items[i], err);
	strlist_release(&statements);
	return rc;
}

/* The old table stays, and gets the rows of what was built. */
static int swap_refill(struct postgres_destination *d,
		       const struct catalog_table *old, struct error *err)
{
	int rc = postgres_refill(d, old, err);

	if (!rc)
		rc = swap_view(d, err);
	if (!rc)
		rc = pg_execf(d->pg, err, "DROP TABLE %s", d->place.building);
	/* The mark speaks of this table. */
	d->table.oid = old->oid;
	return rc;
}

int postgres_swap_tables(struct sql_mark *m, const struct checkpoint *next,
			 struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)m;
	struct catalog_table old;
	int rc;

	(void)next;
	postgres_catalog_table_init(&old);
	rc = swap_lock_old(d, &old, err);
	if (!rc)
		rc = old.exists && d->refill ? swap_refill(d, &old, err)
					     : swap_replace(d, &old, err);
	postgres_catalog_table_release(&old);
	return rc ? rc : failpoint("after_merge", err);
}

int postgres_finish(struct destination *base, const struct checkpoint *next,
		    struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)base;
	int rc = failpoint("before_merge", err);

	if (!rc)
		rc = sql_load_swap(&d->mark, next, err);
	if (rc)
		return rc;
	postgres_refresh_unlock(d);
	return failpoint("stage_dropped", err);
}
