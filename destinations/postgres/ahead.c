#include "destinations/postgres/ahead.h"

#include <stdlib.h>

#include "clients/pg_ahead.h"
#include "clients/pg_shared.h"
#include "core/base/alloc.h"
#include "destinations/postgres/owned.h"

#define READABLE_FAULT PG_OWNED_OWNER("v.relowner")

/* One row about the place of the target; the fault of the marks comes last. */
static const char surroundings_sql[] =
	"SELECT n.oid IS NOT NULL,\n"
	"  coalesce(has_schema_privilege(n.oid, 'CREATE'),\n"
	"  has_database_privilege(current_database(), 'CREATE')),\n"
	"  w.oid IS NOT NULL, v.relkind,\n"
	"  v.relkind = 'v' AND pg_get_viewdef(v.oid)\n"
	"  LIKE '%DESC NULLS LAST, %" NAME_RAW_SEQ " DESC%',\n"
	"  " READABLE_FAULT ",\n"
	"  has_database_privilege(current_database(), 'TEMPORARY'),\n"
	"  quote_ident(current_database()),\n  ";
static const char surroundings_from_sql[] =
	"\nFROM (VALUES (1)) AS one(i)\n"
	"LEFT JOIN pg_namespace n ON n.nspname = $1\n"
	"LEFT JOIN pg_class w ON w.relnamespace = n.oid\n"
	"  AND w.relname = '" NAME_WATERMARK_TABLE "'\n"
	"LEFT JOIN pg_class v ON v.relnamespace = n.oid AND v.relname = $2";

void postgres_ahead_around_sql(struct strbuf *sql)
{
	strbuf_addstr(sql, surroundings_sql);
	strbuf_addstr(
		sql, "CASE WHEN nullif(current_setting('" POSTGRES_FAULT_SETTING
		     "', true), '') IS NULL THEN ");
	postgres_owned_add_fault(sql, "$3");
	strbuf_addstr(sql,
		      "\n  ELSE nullif(current_setting('" POSTGRES_FAULT_SETTING
		      "'), '" POSTGRES_NO_FAULT "') END");
	strbuf_addstr(sql, surroundings_from_sql);
}

char *postgres_ahead_history_sql(const struct place *place)
{
	return xstrfmt("SELECT created_target, watermark IS NOT NULL,\n"
		       "  target_rows, target_id FROM %s\n"
		       "WHERE pipeline = $1 AND target = $2",
		       place->watermark);
}

char *postgres_ahead_rows_sql(const struct place *place)
{
	return xstrfmt("SELECT EXISTS (SELECT FROM %s)", place->rows);
}

static void ahead_plan(struct pg *pg, const struct place *place,
		       const struct target *target)
{
	const char *around[] = { place->schema, place->table,
				 place->watermark };
	struct strbuf sql = STRBUF_INIT;

	postgres_catalog_ahead(pg, place->schema, place->base, target->schema);
	postgres_ahead_around_sql(&sql);
	pg_ahead_add(pg, sql.data, ARRAY_SIZE(around), around);
	strbuf_release(&sql);
	postgres_catalog_wanted_ahead(pg, target->schema);
}

static void ahead_history(struct pg *pg, const struct place *place,
			  const struct target *target)
{
	const char *params[] = { target->pipeline, place->table };
	char *history = postgres_ahead_history_sql(place);

	pg_ahead_add(pg, history, 2, params);
	free(history);
}

/* Whoever alters the table holds nobody up here: if rows are to be looked for
 * at all, they are asked for again. */
static void ahead_rows(struct pg *pg, const struct place *place)
{
	char *rows = postgres_ahead_rows_sql(place);

	pg_ahead_add(pg, "SELECT set_config('lock_timeout', '100ms', true)", 0,
		     NULL);
	pg_ahead_add(pg, rows, 0, NULL);
	free(rows);
}

const char postgres_leftover_sql[] = "SELECT to_regclass($1)";
const char postgres_rollback_sql[] = "ROLLBACK";

static void ahead_told(struct sql_mark *m, const char *sql,
		       const struct sql_values *values)
{
	pg_ahead_add(((struct postgres_destination *)m)->pg, sql,
		     (int)values->n, values->texts);
}

static void ahead_mark(struct postgres_destination *d,
		       const struct mark_statement *statement,
		       const struct mark_place *at, const char *pipeline)
{
	const struct mark_facts facts = sql_mark_of(pipeline);

	sql_mark_tell(&d->mark, statement, at, &facts, ahead_told);
}

static void ahead_leftover(struct postgres_destination *d,
			   const struct place *place,
			   const struct target *target)
{
	const char *params[] = { place->building };

	if (!target->refresh)
		pg_ahead_add(d->pg, postgres_leftover_sql, 1, params);
}

/* `looked`: the message has looked at the table of marks behind its lock. */
static void ahead_locked(struct postgres_destination *d,
			 const struct place *place, const struct target *target,
			 bool looked)
{
	const struct mark_place at = mark_place_of(place);

	postgres_lock_ahead_row(d, place, target->pipeline, looked);
	ahead_mark(d, &postgres_read_mark, &at, target->pipeline);
	pg_ahead_add(d->pg, postgres_rollback_sql, 0, NULL);
}

/* Ask for a look for a stage, and for a whole transaction that reads the row
 * under its lock. */
static void ahead_transaction(struct postgres_destination *d,
			      const struct place *place, int64_t lease_us,
			      const struct target *target)
{
	ahead_leftover(d, place, target);
	postgres_lock_ahead_table(d, place, lease_us);
	ahead_locked(d, place, target, false);
}

/* Unless recover() has asked all this before, and prepare() wrote nothing. */
int postgres_ahead_settled(struct postgres_destination *d, struct error *err)
{
	if (pg_ahead_has(d->pg, postgres_rollback_sql))
		return 0;
	ahead_transaction(d, &d->place, d->lease_us, d->target);
	return pg_ahead_ask_kept(d->pg, err);
}

void postgres_ahead_look_sql(struct strbuf *sql)
{
	strbuf_addstr(sql,
		      "SELECT to_regclass($1), to_regclass($2),\n"
		      "  set_config('" POSTGRES_FAULT_SETTING "', coalesce(");
	postgres_owned_add_fault(sql, "$2");
	strbuf_addstr(sql, ", '" POSTGRES_NO_FAULT "'), true)");
}

/* A new process of the server needs 20 ms for its first look at the catalogs.
 * It has to read much before it can plan. The first answer serves recover();
 * the other is asked again, under the lock. */
int postgres_ahead_warm(struct postgres_destination *d,
			const struct place *place, struct error *err)
{
	const char *params[] = { place->readable, place->watermark };
	struct strbuf sql = STRBUF_INIT;

	postgres_ahead_look_sql(&sql);
	pg_many_begin(d->pg);
	postgres_catalog_relation_ahead(d->pg, place->schema, place->base);
	pg_ahead_add(d->pg, sql.data, ARRAY_SIZE(params), params);
	strbuf_release(&sql);
	return pg_many_ask(d->pg, err);
}

/* A fault is no number, so it ends the message. */
const char postgres_stop_sql[] =
	"SELECT nullif(current_setting('" POSTGRES_FAULT_SETTING
	"'), '" POSTGRES_NO_FAULT "')::integer";

/* The read under the lock can come along if no predecessor is to be ended
 * first, and if the row is this writer's already. */
static bool ahead_is_held(const struct target *target)
{
	const struct writer *w = &target->writer;

	return target->schema && !target->preview && !target->refresh &&
	       w->fence && !w->claim && !(w->predecessor && *w->predecessor);
}

/* Leave a transaction that has failed. The other answers are as old as they
 * are, and a failure is rare: ask again. */
static int ahead_ask(struct postgres_destination *d, struct error *err)
{
	int rc = pg_ahead_ask_kept(d->pg, err);

	if (!rc && pg_has_failed(d->pg))
		rc = pg_exec(d->pg, postgres_rollback_sql, err);
	return rc;
}

/* In one message what recover() asks, and prepare() behind it. The plan that is
 * made of these answers is compared with the table in each transaction that
 * loads. Nothing is read from a table of marks that others may have tampered
 * with: the message ends before. If the row is to be read under its lock, its
 * table is locked first. One look at owner and code then serves both reads.
 * Statements about tables that may not be there come last. */
int postgres_ahead_recover(struct postgres_destination *d,
			   const struct place *place,
			   const struct target *target, struct error *err)
{
	const char *params[] = { place->readable, place->watermark };
	const struct mark_place at = mark_place_of(place);
	int64_t lease_us = target->writer.lease_us;
	struct strbuf sql = STRBUF_INIT;

	pg_ahead_drop(d->pg);
	if (!*d->session)
		postgres_session_ahead(d);
	if (ahead_is_held(target))
		postgres_lock_ahead_table(d, place, lease_us);
	postgres_ahead_look_sql(&sql);
	pg_ahead_add(d->pg, sql.data, ARRAY_SIZE(params), params);
	if (target->schema)
		ahead_plan(d->pg, place, target);
	strbuf_release(&sql);
	pg_ahead_add(d->pg, postgres_stop_sql, 0, NULL);
	ahead_mark(d, &postgres_read_all, &at, target->pipeline);
	if (target->schema)
		ahead_history(d->pg, place, target);
	if (ahead_is_held(target)) {
		ahead_leftover(d, place, target);
		ahead_locked(d, place, target, true);
	}
	if (target->schema)
		ahead_rows(d->pg, place);
	return ahead_ask(d, err);
}
