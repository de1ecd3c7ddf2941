#include "connectors/postgres/surroundings.h"

#include <stdlib.h>
#include <string.h>

#include "clients/pg_ahead.h"
#include "connectors/postgres/relation.h"
#include "core/base/alloc.h"

/* A name in SQL, in quotes or not. */
#define NAME "\"(?:[^\"]|\"\")+\"|(?:[^[:punct:][:space:]]|[_$])+"

/* A view reads as its owner, or with security_invoker as whoever asks. Rows
 * that are read through a parent obey the parent's policies alone. A policy
 * that shows the role every row hides none. A subscription names a partition or
 * one of its parents. Nobody knows which tables functions read. The search path
 * is empty, so that functions that are not the server's are called by schema
 * and name. */
static const char surroundings_sql[] =
	"WITH RECURSIVE tree(oid, who) AS (\n"
	"  SELECT " RELATION_OID
	", oid FROM pg_roles WHERE rolname = current_user\n"
	"  UNION\n"
	"  SELECT next.oid, next.who\n"
	"  FROM tree JOIN pg_class c ON c.oid = tree.oid\n"
	"  CROSS JOIN LATERAL (\n"
	"    SELECT inhrelid, tree.who FROM pg_inherits\n"
	"    WHERE inhparent = c.oid AND $2::bool\n"
	"    UNION ALL\n"
	"    SELECT d.refobjid, CASE WHEN EXISTS (\n"
	"        SELECT FROM pg_options_to_table(c.reloptions)\n"
	"        WHERE CASE option_name WHEN 'security_invoker'\n"
	"              THEN option_value::bool END) THEN me.oid\n"
	"      ELSE c.relowner END\n"
	"    FROM pg_roles me CROSS JOIN pg_rewrite w JOIN pg_depend d\n"
	"      ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid\n"
	"        AND d.refclassid = 'pg_class'::regclass\n"
	"    WHERE me.rolname = current_user AND w.ev_class = c.oid\n"
	"      AND c.relkind = 'v') next(oid, who)),\n"
	"policy AS (\n"
	"  SELECT polrelid, who, polpermissive,\n"
	"    pg_get_expr(polqual, polrelid) AS condition\n"
	"  FROM pg_policy JOIN tree ON polrelid = tree.oid\n"
	"  WHERE polcmd IN ('r', '*') AND EXISTS (\n"
	"    SELECT FROM unnest(polroles) role\n"
	"    WHERE role = 0 OR pg_has_role(who, role, 'USAGE'))),\n"
	"hiding AS (\n"
	"  SELECT c.oid::regclass AS name, quote_ident(u.rolname) AS role\n"
	"  FROM tree JOIN pg_class c ON c.oid = tree.oid\n"
	"    JOIN pg_roles u ON u.oid = tree.who\n"
	"  WHERE NOT ($2::bool AND c.relkind = 'p')\n"
	"    AND c.relrowsecurity AND NOT (u.rolsuper OR u.rolbypassrls\n"
	"      OR NOT c.relforcerowsecurity\n"
	"        AND pg_has_role(u.oid, c.relowner, 'USAGE'))\n"
	"    AND (NOT EXISTS (SELECT FROM policy\n"
	"                     WHERE polrelid = c.oid AND who = u.oid\n"
	"                       AND polpermissive AND condition = 'true')\n"
	"      OR EXISTS (SELECT FROM policy\n"
	"                 WHERE polrelid = c.oid AND who = u.oid\n"
	"                   AND NOT polpermissive AND condition <> 'true'))\n"
	"  ORDER BY 1, 2 LIMIT 1),\n"
	"named AS (\n"
	"  SELECT lower(replace(btrim(m[1], '\"'), '\"\"', '\"')) AS schema,\n"
	"    lower(replace(btrim(m[2], '\"'), '\"\"', '\"')) AS name\n"
	"  FROM regexp_matches($3, '(" NAME ")\\s*\\.\\s*(" NAME ")\\s*\\(',\n"
	"    'g') m),\n"
	"fickle AS (\n"
	"  SELECT format('%I.%I()', s.nspname, p.proname) AS what\n"
	"  FROM named n JOIN pg_namespace s ON lower(s.nspname) = n.schema\n"
	"    JOIN pg_proc p ON p.pronamespace = s.oid\n"
	"      AND lower(p.proname) = n.name\n"
	"  WHERE p.provolatile <> 'i' AND s.nspname <> 'pg_catalog'\n"
	"  UNION ALL\n"
	"  SELECT lower(m[1]) FROM regexp_matches($3,\n"
	"    '(?i)\\m(reg(?:class|proc|procedure|oper|operator|type|role'\n"
	"    '|namespace|collation))\\M') m\n"
	"  ORDER BY 1 LIMIT 1),\n"
	"below(oid) AS (\n"
	"  SELECT " RELATION_OID " UNION\n"
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
	"SELECT hiding.name, hiding.role, origin.name, origin.how,\n"
	"  (SELECT what FROM fickle)\n"
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

/* All SQL of the config. Caller frees. */
static char *surroundings_own_sql(const struct source_spec *source)
{
	struct strbuf sql = STRBUF_INIT;

	if (source->query)
		strbuf_addf(&sql, "%s\n", source->query);
	if (source->where)
		strbuf_addstr(&sql, source->where);
	for (size_t i = 0; i < source->n_expressions; i++)
		strbuf_addf(&sql, "\n%s", source->expressions[i].sql);
	return strbuf_detach(&sql);
}

void postgres_source_surroundings_ahead(struct pg *pg, uint32_t oid,
					const struct source_spec *source,
					enum strategy strategy)
{
	char *text = xstrfmt("%u", oid), *sql = surroundings_own_sql(source);
	const char *params[] = { text, strategy == STRATEGY_XMIN ? "t" : "f",
				 sql };

	pg_ahead_add(pg, surroundings_sql, 3, params);
	free(sql);
	free(text);
}

int postgres_source_surroundings_find(struct pg *pg, uint32_t oid,
				      const struct source_spec *source,
				      enum strategy strategy,
				      struct surroundings *out,
				      struct error *err)
{
	char *text = xstrfmt("%u", oid), *sql = surroundings_own_sql(source);
	const char *params[] = { text, strategy == STRATEGY_XMIN ? "t" : "f",
				 sql };
	struct pg_result *r = NULL;
	int rc = pg_query(pg, &r, surroundings_sql, "1?????", 3, params, err);

	memset(out, 0, sizeof(*out));
	out->strategy = strategy;
	if (!rc) {
		out->hiding = xstrdup(pg_value(r, 0, 0));
		out->role = xstrdup(pg_value(r, 0, 1));
		out->relation = xstrdup(pg_value(r, 0, 2));
		out->origin = surroundings_origin(pg_value(r, 0, 3));
		out->fickle = xstrdup(pg_value(r, 0, 4));
	}
	pg_result_free(r);
	free(sql);
	free(text);
	return rc;
}

void postgres_source_surroundings_release(struct surroundings *s)
{
	free(s->hiding);
	free(s->role);
	free(s->relation);
	free(s->fickle);
	memset(s, 0, sizeof(*s));
}

char *postgres_source_surroundings_show_rows(const struct surroundings *s)
{
	return xstrfmt("ALTER ROLE %s BYPASSRLS, or CREATE POLICY tidemark ON "
		       "%s FOR SELECT TO %s USING (true)",
		       s->role, s->hiding, s->role);
}

void postgres_source_surroundings_explain(const struct surroundings *s,
					  struct strbuf *out)
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

void postgres_source_surroundings_go_there(const struct surroundings *s,
					   struct strbuf *out)
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
