#include "stores/postgres/owned.h"

#include <string.h>

#include "clients/pg_lock.h"
#include "clients/pg_owned.h"
#include "core/base/strbuf.h"

#define SCHEMA_FAULT	PG_OWNED_OWNER("n.nspowner")
#define GRANTEE_IS_OURS PG_OWNED_IS_OURS("a.grantee")

/* The history may lose its last moments in a crash of the server. The truth is
 * in the destination, and a run that finds nothing to do should wait for a disk
 * only once, for its lease. All transactions here are short, unless a process
 * was paused in one. Such a transaction is ended before others, who wait for
 * its locks, lose patience.
 *
 * Whoever may make objects in the schema could have functions of their own
 * found before those of the server. So the statement that has looked also sets
 * the path, and nothing comes in between. */
static const char looked_sql[] =
	/* To print a default takes a lock on its table. */
	"WITH patient AS MATERIALIZED (SELECT\n"
	"  set_config('lock_timeout', '" PG_LOCK_WAIT "', false)),\n"
	"looked AS (SELECT true AS there, coalesce(\n"
	"  'schema tidemark ' || " SCHEMA_FAULT ",\n"
	"  (SELECT 'schema tidemark lets ' || CASE a.grantee WHEN 0\n"
	"     THEN 'everybody'\n"
	"     ELSE format('role %I', pg_get_userbyid(a.grantee)) END\n"
	"     || ' make objects in it'\n"
	"   FROM aclexplode(n.nspacl) a WHERE a.privilege_type = 'CREATE'\n"
	"     AND (a.grantee = 0\n"
	"       OR NOT " GRANTEE_IS_OURS ")\n"
	"   LIMIT 1),\n"
	"  (SELECT min(format('table tidemark.%I ', c.relname)\n"
	"     || ";
static const char enter_sql[] =
	") FROM pg_class c\n"
	"   WHERE c.relnamespace = n.oid\n"
	"     AND c.relkind IN ('r', 'p', 'v', 'm', 'f')),\n"
	"  (SELECT format('schema tidemark has function %s',\n"
	"     p.oid::regprocedure)\n"
	"   FROM pg_proc p WHERE p.pronamespace = n.oid LIMIT 1),\n"
	"  (SELECT format('schema tidemark has operator %s',\n"
	"     o.oid::regoperator)\n"
	"   FROM pg_operator o WHERE o.oprnamespace = n.oid LIMIT 1))\n"
	"  AS fault\n"
	"FROM patient CROSS JOIN pg_namespace n\n"
	"WHERE n.nspname = 'tidemark')\n"
	"SELECT fault, CASE WHEN there AND fault IS NULL THEN\n"
	"    set_config('search_path',\n"
	"      'pg_catalog, tidemark, pg_temp', false)\n"
	"  END, CASE WHEN $1 THEN concat(\n"
	"    set_config('synchronous_commit', 'off', false),\n"
	"    set_config('lock_timeout', '" PG_LOCK_WAIT "', false),\n"
	"    set_config('idle_in_transaction_session_timeout', '4s', false))\n"
	"  END\n"
	"FROM (VALUES (1)) AS one LEFT JOIN looked ON true";

static int owned_refuse(const char *fault, struct error *err)
{
	const char *heir = pg_owned_heir(fault);
	const char *end = strstr(fault, " belongs to ");
	struct strbuf fix = STRBUF_INIT;
	int rc;

	if (heir && end)
		strbuf_addf(&fix,
			    "have its owner or a superuser run ALTER %.*s "
			    "OWNER TO %s; docs/rights.md tells how several "
			    "logins share their tables",
			    (int)(end - fault), fault, heir);
	else
		strbuf_addstr(&fix, "take away what Tidemark did not make");
	rc = error_set(err, ERROR_SCHEMA,
		       "%s" PG_OWNED_WHY ERROR_FIX
		       "; look into it, then %s, or choose another database "
		       "under state; no mark is lost, for the destination has "
		       "them",
		       fault, fix.data);
	strbuf_release(&fix);
	return rc;
}

int postgres_store_enter(struct pg *pg, bool open, struct error *err)
{
	const char *params[] = { open ? "t" : "f" };
	struct strbuf sql = STRBUF_INIT;
	struct pg_result *r = NULL;
	int rc;

	strbuf_addstr(&sql, looked_sql);
	pg_owned_add_table(&sql, true);
	strbuf_addstr(&sql, enter_sql);
	rc = pg_query(pg, &r, sql.data, "1???", 1, params, err);
	strbuf_release(&sql);
	if (!rc && pg_value(r, 0, 0))
		rc = owned_refuse(pg_value(r, 0, 0), err);
	pg_result_free(r);
	return rc;
}
