#include "destinations/sqlite/internal.h"

/* Triggers have names of their own; a virtual table has no page. */
static const char owned_sql[] =
	"SELECT CASE WHEN type <> 'table' OR rootpage = 0 THEN\n"
	"    'is not a table'\n"
	"  ELSE 'has trigger ' || (\n"
	"    SELECT group_concat(g.name, ', ') FROM main.sqlite_schema AS g\n"
	"    WHERE g.type = 'trigger'\n"
	"      AND g.tbl_name = '" NAME_WATERMARK_TABLE "' COLLATE NOCASE)\n"
	"  END\n"
	"FROM main.sqlite_schema\n"
	"WHERE name = '" NAME_WATERMARK_TABLE "' COLLATE NOCASE\n"
	"  AND type <> 'trigger'";

int sqlite_target_owned_has_marks(struct sqlite *db, bool *out,
				  struct error *err)
{
	struct sqlite_statement *st = NULL;
	int rc = sqlite_prepare(db, &st, owned_sql, err);

	*out = false;
	if (!rc)
		rc = sqlite_step(st, err);
	if (rc == 1) {
		*out = true;
		rc = mark_keeper_check(NAME_WATERMARK_TABLE, sqlite_path(db),
				       sqlite_str(st, 0), MARK_HARM_HIDES, err);
	}
	sqlite_finalize(st);
	return rc;
}
