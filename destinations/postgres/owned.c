#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/postgres/owned.h"

/* Its columns by the numbers of their types, which are built in. */
#define OWNED_MARK_COLUMNS                                                     \
	"('pipeline', 25::oid), ('watermark', 114), ('batch_id', 25),\n"       \
	"      ('fence', 20), ('rows_total', 20), ('updated_at', 1184),\n"     \
	"      ('created_target', 16), ('target', 25), ('target_id', 25),\n"   \
	"      ('target_rows', 20)"

#define OWNED_MARK_LACKS                                                       \
	"(SELECT format('has no column %s of the type %s', k.name,\n"          \
	"    format_type(k.type, NULL))\n"                                     \
	"  FROM (VALUES " OWNED_MARK_COLUMNS ") AS k(name, type)\n"            \
	"  WHERE NOT EXISTS (SELECT FROM pg_attribute a\n"                     \
	"    WHERE a.attrelid = c.oid AND a.attname = k.name\n"                \
	"      AND a.atttypid = k.type AND a.attnum > 0\n"                     \
	"      AND NOT a.attisdropped) LIMIT 1)"

void postgres_owned_add_fault(struct strbuf *sql, const char *name)
{
	strbuf_addstr(sql, "(SELECT coalesce(");
	pg_owned_add_table(sql, false);
	strbuf_addf(sql,
		    ",\n  %s)\n"
		    "FROM pg_class c WHERE c.oid = to_regclass(%s))",
		    OWNED_MARK_LACKS, name);
}

static void owned_add_fix(struct strbuf *fix, const char *fault,
			  const struct place *place)
{
	const char *heir = pg_owned_heir(fault);

	if (heir)
		strbuf_addf(fix,
			    "look into it, and have its owner or a superuser "
			    "run ALTER TABLE %s OWNER TO %s; docs/rights.md "
			    "tells how several logins share their "
			    "tables. " NAME_MARKS_ANEW,
			    place->watermark, heir);
	else
		strbuf_addstr(fix, NAME_MARKS_FIX);
}

int postgres_owned_refuse(const char *fault, const struct place *place,
			  struct error *err)
{
	struct strbuf fix = STRBUF_INIT;
	int rc;

	if (!fault)
		return 0;
	owned_add_fix(&fix, fault, place);
	error_clear(err);
	rc = error_set(
		err, ERROR_SCHEMA,
		"table %s, where marks are kept, %s" PG_OWNED_WHY ERROR_FIX
		"; %s",
		place->watermark, fault, fix.data);
	strbuf_release(&fix);
	return rc;
}

/* A bad mark table that was found by the way: the words of it. */
int postgres_owned_explain(struct pg *pg, const struct place *place,
			   struct error *err)
{
	struct error ignored = ERROR_INIT;
	const char *params[] = { place->watermark };
	struct strbuf sql = STRBUF_INIT;
	struct pg_result *r = NULL;
	int rc = -(int)err->code;

	if (!error_has_code(err, PG_OWNED_STATE))
		return rc;
	strbuf_addstr(&sql, "SELECT ");
	postgres_owned_add_fault(&sql, "$1");
	if (!pg_query(pg, &r, sql.data, "1?", 1, params, &ignored) &&
	    pg_value(r, 0, 0))
		rc = postgres_owned_refuse(pg_value(r, 0, 0), place, err);
	pg_result_free(r);
	strbuf_release(&sql);
	return rc;
}

/* A statement that fails if something is wrong with the table of the marks;
 * none is there: nothing is wrong. */
void postgres_owned_stop(struct strlist *out, const struct place *place)
{
	struct strbuf sql = STRBUF_INIT;

	strbuf_addstr(&sql, PG_OWNED_STOP_BEGIN "SELECT ");
	postgres_owned_add_fault(&sql, "n.name");
	strbuf_addstr(&sql, " FROM (VALUES (");
	sql_quote_literal(&sql, place->watermark);
	strbuf_addstr(&sql, "::text)) AS n(name)" PG_OWNED_STOP_END);
	strlist_add(out, sql.data);
	strbuf_release(&sql);
}

void postgres_owned_lock(struct strlist *out, const struct place *place)
{
	char *sql = xstrfmt("LOCK TABLE %s IN ROW EXCLUSIVE MODE",
			    place->watermark);

	strlist_add(out, sql);
	free(sql);
}

int postgres_owned_check(struct postgres_destination *d,
			 const struct place *place, struct error *err)
{
	struct strlist sql = STRLIST_INIT;
	int rc;

	postgres_owned_lock(&sql, place);
	postgres_owned_stop(&sql, place);
	rc = pg_exec_list(d->pg, &sql, err);
	strlist_release(&sql);
	if (!rc || !pg_alive(d->pg))
		return rc;
	postgres_session_rollback(d);
	return postgres_owned_explain(d->pg, place, err);
}

/* Rows of a raw table are Tidemark's own. A target may be of anybody, who is
 * trusted by it being named. */
void postgres_owned_look(const struct catalog_table *t,
			 const struct place *place, const struct target *target,
			 struct problems *out)
{
	const char *fault = t->owner_fault ? t->owner_fault : t->code_fault;
	const char *heir =
		t->owner_fault ? pg_owned_heir(t->owner_fault) : NULL;
	char *fix;

	if (!t->exists || !fault)
		return;
	if (target->mode != LOAD_APPEND || !heir) {
		problems_add(
			out, SEVERITY_WARNING, ERROR_NONE, "target-of-others",
			"trust that role as much as this user, or load "
			"as a user that may do no more than that role",
			"table %s: it %s" PG_OWNED_WHY, target->table, fault);
		return;
	}
	fix = xstrfmt("look into it, and have its owner or a superuser run "
		      "ALTER TABLE %s OWNER TO %s, or name another destination "
		      "table",
		      place->rows, heir);
	problems_add(out, SEVERITY_ERROR, ERROR_SCHEMA, "unsafe-raw", fix,
		     "table %s: %s, where its rows are kept, %s" PG_OWNED_WHY,
		     target->table, place->rows, fault);
	free(fix);
}
