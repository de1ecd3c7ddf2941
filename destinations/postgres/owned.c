#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/postgres/owned.h"

static const char fault_sql[] = "SELECT " OWNED_MARK_FAULT("$1");

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
	struct pg_result *r = NULL;
	int rc = -(int)err->code;

	if (!error_has_code(err, PG_OWNED_STATE))
		return rc;
	if (!pg_query(pg, &r, fault_sql, "1?", 1, params, &ignored) &&
	    pg_value(r, 0, 0))
		rc = postgres_owned_refuse(pg_value(r, 0, 0), place, err);
	pg_result_free(r);
	return rc;
}

void postgres_owned_hold(struct strbuf *sql, const struct place *place)
{
	static const char begin[] = PG_OWNED_STOP_BEGIN
		"SELECT " OWNED_MARK_FAULT("n.name") " FROM (VALUES (";
	static const char end[] = "::text)) AS n(name)" PG_OWNED_STOP_END ";\n";

	strbuf_addf(sql, "LOCK TABLE %s IN ROW EXCLUSIVE MODE;\n%s",
		    place->watermark, begin);
	sql_quote_literal(sql, place->watermark);
	strbuf_addstr(sql, end);
}

int postgres_owned_check(struct postgres_destination *d,
			 const struct place *place, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc;

	postgres_owned_hold(&sql, place);
	rc = pg_exec(d->pg, sql.data, err);
	strbuf_release(&sql);
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
