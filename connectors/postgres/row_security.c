#include "connectors/postgres/row_security.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

static const char row_security_sql[] =
	"WITH RECURSIVE tree(oid) AS (\n"
	"  SELECT $1::oid UNION\n"
	"  SELECT i.inhrelid FROM pg_inherits i JOIN tree\n"
	"    ON i.inhparent = tree.oid WHERE $2::bool),\n"
	"policy AS (\n"
	"  SELECT polrelid, polpermissive,\n"
	"    pg_get_expr(polqual, polrelid) AS condition\n"
	"  FROM pg_policy JOIN tree ON polrelid = tree.oid\n"
	"  WHERE polcmd IN ('r', '*') AND EXISTS (\n"
	"    SELECT FROM unnest(polroles) role\n"
	"    WHERE role = 0 OR pg_has_role(role, 'USAGE')))\n"
	"SELECT c.oid::regclass, quote_ident(current_user)\n"
	"FROM tree JOIN pg_class c ON c.oid = tree.oid\n"
	"WHERE NOT ($2::bool AND c.relkind = 'p') AND "
	"row_security_active(c.oid)\n"
	"  AND (NOT EXISTS (SELECT FROM policy WHERE polrelid = c.oid\n"
	"                   AND polpermissive AND condition = 'true')\n"
	"    OR EXISTS (SELECT FROM policy WHERE polrelid = c.oid\n"
	"               AND NOT polpermissive AND condition <> 'true'))\n"
	"ORDER BY 1 LIMIT 1";

int row_security_find(struct pg *pg, uint32_t oid, enum strategy strategy,
		      struct row_security *out, struct error *err)
{
	char *text = xstrfmt("%u", oid);
	const char *params[] = { text, strategy == STRATEGY_XMIN ? "t" : "f" };
	struct pg_result *r = NULL;
	int rc = pg_query(pg, &r, row_security_sql, 2, params, err);

	memset(out, 0, sizeof(*out));
	if (!rc && pg_rows(r)) {
		out->table = xstrdup(pg_value(r, 0, 0));
		out->role = xstrdup(pg_value(r, 0, 1));
	}
	pg_result_free(r);
	free(text);
	return rc;
}

void row_security_release(struct row_security *s)
{
	free(s->table);
	free(s->role);
	memset(s, 0, sizeof(*s));
}

char *row_security_fix(const struct row_security *s)
{
	return xstrfmt("ALTER ROLE %s BYPASSRLS, or CREATE POLICY tidemark ON "
		       "%s FOR SELECT TO %s USING (true)",
		       s->role, s->table, s->role);
}
