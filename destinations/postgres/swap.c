#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/data/table_name.h"
#include "destinations/postgres/postgres.h"

/* Everything that belongs to or points at table $1 and that a copy made by
 * LIKE INCLUDING ALL does not have. $2: the view of a raw table, which is
 * pointed at the new one. */
static const char lost_sql[] =
	"SELECT pg_describe_object(d.classid, d.objid, d.objsubid)\n"
	"FROM pg_depend d\n"
	"WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = $1\n"
	"  AND d.deptype = 'n'\n"
	"  AND NOT (d.classid = 'pg_constraint'::regclass\n"
	"           AND EXISTS (SELECT FROM pg_constraint k\n"
	"                       WHERE k.oid = d.objid AND k.conrelid = $1\n"
	"                         AND k.contype <> 'f'))\n"
	"  AND NOT (d.classid = 'pg_rewrite'::regclass\n"
	"           AND EXISTS (SELECT FROM pg_rewrite r\n"
	"                       WHERE r.oid = d.objid\n"
	"                         AND r.ev_class = to_regclass($2)))\n"
	"UNION SELECT pg_describe_object('pg_constraint'::regclass, oid, 0)\n"
	"FROM pg_constraint WHERE conrelid = $1 AND contype = 'f'\n"
	"UNION SELECT pg_describe_object('pg_trigger'::regclass, oid, 0)\n"
	"FROM pg_trigger WHERE tgrelid = $1 AND NOT tgisinternal\n"
	"UNION SELECT pg_describe_object('pg_policy'::regclass, oid, 0)\n"
	"FROM pg_policy WHERE polrelid = $1\n"
	"UNION SELECT pg_describe_object('pg_publication_rel'::regclass, oid, "
	"0)\n"
	"FROM pg_publication_rel WHERE prrelid = $1\n"
	"UNION SELECT pg_describe_object('pg_class'::regclass, c.oid, 0)\n"
	"FROM pg_depend d JOIN pg_class c ON c.oid = d.objid\n"
	"WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = $1\n"
	"  AND d.classid = 'pg_class'::regclass AND d.deptype = 'a'\n"
	"  AND c.relkind = 'S'\n"
	"UNION SELECT pg_describe_object('pg_class'::regclass,\n"
	"    CASE inhrelid WHEN $1 THEN inhparent ELSE inhrelid END, 0)\n"
	"FROM pg_inherits WHERE inhparent = $1 OR inhrelid = $1\n"
	"ORDER BY 1";

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

int postgres_swap_inspect(struct pg *pg, const struct place *place,
			  const struct target *target, uint32_t oid,
			  struct problems *out, struct error *err)
{
	char *id = xstrfmt("%u", oid);
	const char *params[] = { id, target->mode == LOAD_APPEND
					     ? place->readable
					     : NULL };
	struct strbuf names = STRBUF_INIT;
	struct pg_result *r = NULL;
	int rc = pg_query(pg, &r, lost_sql, "t", 2, params, err);

	for (int i = 0; !rc && i < pg_rows(r); i++)
		strbuf_addf(&names, "%s%s", i ? "; " : "", pg_value(r, i, 0));
	if (names.len)
		problems_add(out, SEVERITY_ERROR, ERROR_SCHEMA, "dependents",
			     "drop them and create them again behind the run, "
			     "or load with mode upsert",
			     "table %s: to replace it would lose what depends "
			     "on it: %s",
			     target->table, names.data);
	pg_result_free(r);
	strbuf_release(&names);
	free(id);
	return rc;
}

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

/* Something may have come to depend on the table since prepare. */
static int swap_lock_old(struct postgres_destination *d,
			 struct catalog_table *old, struct error *err)
{
	struct problems problems = { .items = NULL };
	int rc = postgres_catalog_read(d->pg, d->place.schema, d->place.base,
				       NULL, old, err);

	if (!rc && old->exists) {
		rc = pg_execf(d->pg, err,
			      "LOCK TABLE %s IN ACCESS EXCLUSIVE MODE",
			      d->place.rows);
		if (!rc)
			rc = postgres_swap_inspect(d->pg, &d->place, d->target,
						   old->oid, &problems, err);
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

int postgres_swap_tables(struct sql_mark *m, const struct checkpoint *next,
			 struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)m;
	struct strlist statements = STRLIST_INIT;
	struct catalog_table old;
	int rc;

	(void)next;
	postgres_catalog_table_init(&old);
	rc = swap_lock_old(d, &old, err);
	if (!rc)
		rc = swap_statements(d, &old, &statements, err);
	if (!rc && old.exists)
		rc = swap_move_old(d, err);
	if (!rc)
		rc = swap_rename(d, d->place.building, d->place.base, err);
	if (!rc)
		rc = swap_view(d, err);
	if (!rc && old.exists)
		rc = swap_drop_old(d, err);
	for (size_t i = 0; !rc && i < statements.n; i++)
		rc = pg_exec(d->pg, statements.items[i], err);
	strlist_release(&statements);
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
