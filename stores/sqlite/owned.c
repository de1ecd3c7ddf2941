#include "stores/sqlite/owned.h"

#include "core/plugin/store.h"

/* The tables of the migrations. */
#define OWNED_TABLES                                                           \
	"('" STORE_MIGRATIONS_TABLE "', 'attempts', 'batches', 'choices',\n"   \
	"  'chunks', 'control_events', 'controls', 'dead_letters',\n"          \
	"  'hook_runs', 'hooks', 'leases', 'notices', 'paces', 'runs',\n"      \
	"  'watermarks')"

/* Views and triggers of other tables are of others, and nothing runs them. */
static const char owned_sql[] =
	"SELECT CASE WHEN type = 'trigger'\n"
	"    THEN 'table ' || tbl_name || ' has trigger ' || name\n"
	"    ELSE name || ' is not a table' END\n"
	"FROM main.sqlite_schema\n"
	"WHERE lower(tbl_name) IN " OWNED_TABLES "\n"
	"  AND (type IN ('trigger', 'view')\n"
	"    OR type = 'table' AND rootpage = 0)\n"
	"ORDER BY 1 LIMIT 1";

int sqlite_store_check_owned(struct sqlite *db, struct error *err)
{
	struct sqlite_statement *st = NULL;
	int rc = sqlite_prepare(db, &st, owned_sql, err);

	if (!rc)
		rc = sqlite_step(st, err);
	if (rc == 1)
		rc = error_set(err, ERROR_SCHEMA,
			       "%s: %s, which could change or hide what is "
			       "kept there" ERROR_FIX
			       "; look into it, then drop it, or choose "
			       "another file under state; no mark is lost, for "
			       "the destination has them",
			       sqlite_path(db), sqlite_str(st, 0));
	sqlite_finalize(st);
	return rc;
}
