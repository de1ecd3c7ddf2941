#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
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
	"UNION SELECT pg_describe_object('pg_rewrite'::regclass, oid, 0)\n"
	"FROM pg_rewrite WHERE ev_class = $1\n"
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

/* Things of table $1 by which DELETE and INSERT would do more than they say, or
 * less. */
static const char blocks_sql[] =
	"SELECT pg_describe_object('pg_constraint'::regclass, oid, 0)\n"
	"FROM pg_constraint\n"
	"WHERE confrelid = $1 AND conrelid <> $1 AND contype = 'f'\n"
	"UNION SELECT pg_describe_object('pg_rewrite'::regclass, oid, 0)\n"
	"FROM pg_rewrite WHERE ev_class = $1\n"
	"UNION SELECT 'row security, which this user is subject to'\n"
	"WHERE row_security_active($1::oid)\n"
	"UNION SELECT pg_describe_object('pg_class'::regclass,\n"
	"    CASE inhrelid WHEN $1 THEN inhparent ELSE inhrelid END, 0)\n"
	"FROM pg_inherits WHERE inhparent = $1 OR inhrelid = $1\n"
	"ORDER BY 1";

/* Views whose columns are made of column $2 of table $1, but for view $3. */
static const char views_sql[] =
	"SELECT DISTINCT pg_describe_object('pg_class'::regclass, r.ev_class, "
	"0)\n"
	"FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid\n"
	"JOIN pg_attribute a ON a.attrelid = d.refobjid\n"
	"  AND a.attnum = d.refobjsubid\n"
	"WHERE d.classid = 'pg_rewrite'::regclass\n"
	"  AND d.refclassid = 'pg_class'::regclass AND d.refobjid = $1\n"
	"  AND a.attname = $2 AND r.ev_class <> $1\n"
	"  AND r.ev_class IS DISTINCT FROM to_regclass($3)\n"
	"ORDER BY 1";

/* "a; b; c" of the first column. */
static int refill_names(struct pg *pg, const char *sql, int n,
			const char *const *params, struct strbuf *out,
			struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(pg, &r, sql, "t", n, params, err);

	for (int i = 0; !rc && i < pg_rows(r); i++)
		strbuf_addf(out, "%s%s", i ? "; " : "", pg_value(r, i, 0));
	pg_result_free(r);
	return rc;
}

static void refill_tell(const struct target *target, const char *kept,
			const char *blocks, struct problems *out)
{
	if (*blocks)
		problems_add(out, SEVERITY_ERROR, ERROR_SCHEMA, "dependents",
			     "drop them and create them again behind the run, "
			     "or load with mode upsert",
			     "table %s: to replace it would lose what depends "
			     "on it (%s), and its rows cannot be exchanged "
			     "because of %s",
			     target->table, kept, blocks);
	else
		problems_add(out, SEVERITY_INFO, ERROR_NONE, "refill",
			     "nothing is to be done",
			     "table %s stays because of what depends on it: "
			     "%s; a refresh deletes its rows and inserts the "
			     "new ones in one transaction",
			     target->table, kept);
}

int postgres_refill_inspect(struct pg *pg, const struct place *place,
			    const struct target *target, uint32_t oid,
			    bool *refill, struct problems *out,
			    struct error *err)
{
	char *id = xstrfmt("%u", oid);
	const char *params[] = { id, target->mode == LOAD_APPEND
					     ? place->readable
					     : NULL };
	struct strbuf kept = STRBUF_INIT, blocks = STRBUF_INIT;
	int rc = refill_names(pg, lost_sql, 2, params, &kept, err);

	if (!rc && kept.len)
		rc = refill_names(pg, blocks_sql, 1, params, &blocks, err);
	if (!rc && kept.len) {
		*refill = true;
		refill_tell(target, kept.data, blocks.data, out);
	}
	strbuf_release(&kept);
	strbuf_release(&blocks);
	free(id);
	return rc;
}

static int refill_check_column(struct postgres_plan *plan, struct pg *pg,
			       size_t column, struct error *err)
{
	const struct target *target = plan->base.target;
	const char *name = target->schema->columns[column].name;
	char *id = xstrfmt("%u", plan->table.oid);
	const char *params[] = { id, name,
				 target->mode == LOAD_APPEND
					 ? plan->base.place->readable
					 : NULL };
	struct strbuf views = STRBUF_INIT;
	int rc = refill_names(pg, views_sql, 3, params, &views, err);

	if (!rc && views.len)
		problems_add(&plan->base.inspection.problems, SEVERITY_ERROR,
			     ERROR_SCHEMA, "views-hold-type",
			     "drop them and create them again behind the run",
			     "table %s: column \"%s\" has to become %s, which "
			     "PostgreSQL refuses because of %s",
			     target->table, name, plan->wanted[column].name,
			     views.data);
	strbuf_release(&views);
	free(id);
	return rc;
}

int postgres_refill_check(struct postgres_plan *plan, struct pg *pg,
			  struct error *err)
{
	const struct drift *drift = &plan->base.drift;
	int rc = 0;

	for (size_t i = 0; !rc && plan->refill && i < drift->n; i++)
		if (drift->steps[i] == STEP_WIDEN)
			rc = refill_check_column(plan, pg, i, err);
	return rc;
}

/* A column of the table as that of what was built. There are no rows. */
static int refill_alter(struct postgres_destination *d,
			const struct catalog_table *old,
			const struct catalog_column *c, struct error *err)
{
	const struct catalog_column *is = postgres_catalog_find(old, c->name);
	struct strbuf sql = STRBUF_INIT;
	int rc;

	if (is && !strcmp(is->type.name, c->type.name))
		return 0;
	strbuf_addf(&sql, "ALTER TABLE %s %s COLUMN ", d->place.rows,
		    is ? "ALTER" : "ADD");
	sql_quote_name(&sql, c->name, '"');
	strbuf_addf(&sql, "%s%s", is ? " TYPE " : " ", c->type.name);
	if (is)
		strbuf_addf(&sql, " USING NULL::%s", c->type.name);
	rc = pg_exec(d->pg, sql.data, err);
	strbuf_release(&sql);
	return rc;
}

/* The view is made anew behind this, since it holds the types of its columns.
 */
static int refill_alter_all(struct postgres_destination *d,
			    const struct catalog_table *old, struct error *err)
{
	bool changed = false;
	int rc = 0;

	for (size_t i = 0; i < d->table.n_columns; i++) {
		const struct catalog_column *c = &d->table.columns[i];
		const struct catalog_column *is =
			postgres_catalog_find(old, c->name);

		changed |= is && strcmp(is->type.name, c->type.name) != 0;
	}
	if (changed && d->target->mode == LOAD_APPEND)
		rc = pg_execf(d->pg, err, "DROP VIEW IF EXISTS %s",
			      d->place.readable);
	for (size_t i = 0; !rc && i < d->table.n_columns; i++)
		rc = refill_alter(d, old, &d->table.columns[i], err);
	return rc;
}

static int refill_insert(struct postgres_destination *d, struct error *err)
{
	struct strbuf names = STRBUF_INIT;
	int64_t inserted = 0;
	char *sql;
	int rc;

	for (size_t i = 0; i < d->table.n_columns; i++) {
		if (d->table.columns[i].generated)
			continue;
		strbuf_addstr(&names, names.len ? ", " : "");
		sql_quote_name(&names, d->table.columns[i].name, '"');
	}
	sql = xstrfmt("INSERT INTO %s (%s)\nOVERRIDING SYSTEM VALUE\n"
		      "SELECT %s FROM %s",
		      d->place.rows, names.data, names.data, d->place.building);
	rc = pg_exec_count(d->pg, sql, 0, NULL, &inserted, err);
	if (!rc && inserted != d->mark.built)
		rc = error_set(err, ERROR_SCHEMA,
			       "table %s took %" PRId64 " rows of the %" PRId64
			       " that were built: a trigger of it leaves "
			       "some out; drop it, or load with mode upsert",
			       d->target->table, inserted, d->mark.built);
	free(sql);
	strbuf_release(&names);
	return rc;
}

/* DELETE leaves the old rows to snapshots that were taken before. TRUNCATE
 * would show such a reader an empty table, and wait for all readers. */
int postgres_refill(struct postgres_destination *d,
		    const struct catalog_table *old, struct error *err)
{
	struct pg_result *r = NULL;
	char *left = xstrfmt("SELECT EXISTS (SELECT FROM %s)", d->place.rows);
	int rc = pg_execf(d->pg, err, "DELETE FROM %s", d->place.rows);

	if (!rc)
		rc = pg_query(d->pg, &r, left, "1t", 0, NULL, err);
	if (!rc && *pg_value(r, 0, 0) == 't')
		rc = error_set(err, ERROR_SCHEMA,
			       "table %s keeps rows that were deleted: a "
			       "trigger of it holds them; drop it, or load "
			       "with mode upsert",
			       d->target->table);
	pg_result_free(r);
	free(left);
	if (!rc)
		rc = refill_alter_all(d, old, err);
	return rc ? rc : refill_insert(d, err);
}
