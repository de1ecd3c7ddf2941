#include "connectors/postgres/surroundings.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

/* A policy that shows the role every row hides none. A subscription names a
 * partition or one of its parents. What functions read is not known. */
static const char surroundings_sql[] =
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
	"    WHERE role = 0 OR pg_has_role(role, 'USAGE'))),\n"
	"hiding AS (\n"
	"  SELECT c.oid::regclass AS name\n"
	"  FROM tree JOIN pg_class c ON c.oid = tree.oid\n"
	"  WHERE NOT ($2::bool AND c.relkind = 'p')\n"
	"    AND row_security_active(c.oid)\n"
	"    AND (NOT EXISTS (SELECT FROM policy WHERE polrelid = c.oid\n"
	"                     AND polpermissive AND condition = 'true')\n"
	"      OR EXISTS (SELECT FROM policy WHERE polrelid = c.oid\n"
	"                 AND NOT polpermissive AND condition <> 'true'))\n"
	"  ORDER BY 1 LIMIT 1),\n"
	"below(oid) AS (\n"
	"  SELECT $1::oid UNION\n"
	"  SELECT next.oid FROM below b JOIN pg_class c ON c.oid = b.oid\n"
	"  CROSS JOIN LATERAL (\n"
	"    SELECT inhrelid FROM pg_inherits WHERE inhparent = b.oid\n"
	"    UNION ALL\n"
	"    SELECT d.refobjid FROM pg_rewrite w JOIN pg_depend d\n"
	"      ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid\n"
	"        AND d.refclassid = 'pg_class'::regclass\n"
	"    WHERE w.ev_class = b.oid AND c.relkind = 'v') next(oid)),\n"
	"origin AS (\n"
	"  SELECT c.oid::regclass AS name, CASE c.relkind\n"
	"      WHEN 'f' THEN 'f' WHEN 'm' THEN 'm' ELSE 's' END AS how\n"
	"  FROM below JOIN pg_class c ON c.oid = below.oid\n"
	"  WHERE c.relkind IN ('f', 'm') OR EXISTS (\n"
	"    SELECT FROM pg_subscription_rel WHERE srrelid = c.oid\n"
	"      OR srrelid IN (SELECT relid\n"
	"                     FROM pg_partition_ancestors(c.oid) p(relid)))\n"
	"  ORDER BY 2, 1 LIMIT 1)\n"
	"SELECT hiding.name, quote_ident(current_user), origin.name, "
	"origin.how\n"
	"FROM (VALUES (1)) one LEFT JOIN hiding ON true\n"
	"  LEFT JOIN origin ON true";

static enum origin surroundings_origin(const char *how)
{
	switch (how ? *how : '\0') {
	case 's':
		return ORIGIN_SUBSCRIPTION;
	case 'f':
		return ORIGIN_FOREIGN;
	case 'm':
		return ORIGIN_MATERIALIZED;
	default:
		return ORIGIN_HERE;
	}
}

int surroundings_find(struct pg *pg, uint32_t oid, enum strategy strategy,
		      struct surroundings *out, struct error *err)
{
	char *text = xstrfmt("%u", oid);
	const char *params[] = { text, strategy == STRATEGY_XMIN ? "t" : "f" };
	struct pg_result *r = NULL;
	int rc = pg_query(pg, &r, surroundings_sql, "1?t??", 2, params, err);

	memset(out, 0, sizeof(*out));
	out->strategy = strategy;
	if (!rc) {
		out->hiding = xstrdup(pg_value(r, 0, 0));
		out->role = xstrdup(pg_value(r, 0, 1));
		out->relation = xstrdup(pg_value(r, 0, 2));
		out->origin = surroundings_origin(pg_value(r, 0, 3));
	}
	pg_result_free(r);
	free(text);
	return rc;
}

void surroundings_release(struct surroundings *s)
{
	free(s->hiding);
	free(s->role);
	free(s->relation);
	memset(s, 0, sizeof(*s));
}

char *surroundings_show_rows(const struct surroundings *s)
{
	return xstrfmt("ALTER ROLE %s BYPASSRLS, or CREATE POLICY tidemark ON "
		       "%s FOR SELECT TO %s USING (true)",
		       s->role, s->hiding, s->role);
}

void surroundings_explain(const struct surroundings *s, struct strbuf *out)
{
	static const char *const why[] = {
		[ORIGIN_HERE] = "",
		[ORIGIN_SUBSCRIPTION] = "is filled by a subscription: its rows "
					"were committed at the publisher, and "
					"arrive later",
		[ORIGIN_FOREIGN] = "is a foreign table: the transactions that "
				   "write it are another server's, and do not "
				   "show here",
		[ORIGIN_MATERIALIZED] = "is a materialized view: rows appear "
					"when it is refreshed, long after they "
					"were committed",
	};

	strbuf_addf(out, "%s %s", s->relation, why[s->origin]);
}

void surroundings_go_there(const struct surroundings *s, struct strbuf *out)
{
	static const struct {
		const char *place, *lag;
	} fixes[] = {
		[ORIGIN_HERE] = { "", "" },
		[ORIGIN_SUBSCRIPTION] = { "the publisher",
					  "how late rows may arrive" },
		[ORIGIN_FOREIGN] = { "the server that has the table",
				     "how late rows may be committed there" },
		[ORIGIN_MATERIALIZED] = { "the tables below it",
					  "how long it may go without a "
					  "refresh" },
	};

	strbuf_addf(out, "read from %s", fixes[s->origin].place);
	if (s->strategy != STRATEGY_XMIN)
		strbuf_addf(out, ", or set watermark.lag to %s",
			    fixes[s->origin].lag);
}
