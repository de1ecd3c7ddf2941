#include "connectors/postgres/computed.h"

#include <stdlib.h>
#include <string.h>

#include "connectors/common/tick.h"
#include "core/base/alloc.h"
#include "core/base/strbuf.h"

#define COMPUTED_OUTPUT "Output: "

/* Types of names, which follow a renaming: regproc to regtype, regnamespace,
 * regrole, regcollation and the lists of these. The second list has regconfig
 * and regdictionary, whose constants mostly choose a search. */
#define NAMING	  "24|1008|220[2-9]|221[01]|4089|409[067]|4191|4192"
#define SEARCHING "3734|3735|3769|3770"

static const char *const computed_plain[] = {
	"timezone",
	"transaction_timestamp",
	"statement_timestamp",
	"clock_timestamp",
	NULL,
};

/* The rules of a view and of the views below it, as the trees that the server
 * stores. Each row of a plain view comes from one row of one table, by columns,
 * filters, subqueries in FROM, WITH and UNION ALL. Its functions always give
 * the same result. Functions that depend on the session's settings do, as these
 * are pinned. The top list of results is the last one of a tree, and the lists
 * of UNION ALL stand before it. Where they pass on a column, they say of which
 * relation. A table with parts may get a part that has old rows. */
static const char computed_view_sql[] =
	"WITH RECURSIVE below(oid, kind) AS (\n"
	"  SELECT oid, relkind FROM pg_class WHERE oid = $1::oid UNION\n"
	"  SELECT c.oid, c.relkind FROM below b\n"
	"    JOIN pg_rewrite w ON w.ev_class = b.oid AND b.kind = 'v'\n"
	"    JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass\n"
	"      AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass\n"
	"    JOIN pg_class c ON c.oid = d.refobjid),\n"
	"rule AS (\n"
	"  SELECT w.ev_class, w.ev_action::text AS a FROM below b\n"
	"    JOIN pg_rewrite w ON w.ev_class = b.oid AND b.kind = 'v'),\n"
	"trace(rel, col, kind) AS (\n"
	"  SELECT attrelid, attnum::int, 'v'::\"char\" FROM pg_attribute\n"
	"  WHERE attrelid = $1::oid AND attname = $2 UNION\n"
	"  SELECT c.oid, o[2]::int, c.relkind\n"
	"  FROM trace t JOIN rule r ON r.ev_class = t.rel\n"
	"    LEFT JOIN LATERAL regexp_matches(substring(r.a,\n"
	"        CASE WHEN r.a ~ 'SETOPERATIONSTMT' THEN '(.*):targetList '\n"
	"          ELSE '.*:targetList (.*)' END),\n"
	"      ':resno ' || t.col || ' :resname (?:\\\\.|[^ \\\\])+ '\n"
	"      ':ressortgroupref \\d+ :resorigtbl (\\d+) '\n"
	"      ':resorigcol (\\d+) :resjunk false', 'g') o ON true\n"
	"    LEFT JOIN pg_class c ON c.oid = o[1]::oid),\n"
	"used AS (\n"
	"  SELECT m[1]::oid AS oid FROM rule CROSS JOIN regexp_matches(\n"
	"    a, ':(?:op|hash|neg)?funcid (\\d+)', 'g') m\n"
	"  UNION SELECT o.oprcode FROM rule CROSS JOIN regexp_matches(\n"
	"    a, ':opno (\\d+)', 'g') m JOIN pg_operator o\n"
	"    ON o.oid = m[1]::oid),\n"
	"fickle AS (\n"
	"  SELECT FROM pg_proc p JOIN used ON used.oid = p.oid\n"
	"  WHERE p.provolatile <> 'i' AND NOT (\n"
	"    p.provolatile = 's' AND p.oid < 16384\n"
	"    AND (p.oid IN (SELECT castfunc FROM pg_cast)\n"
	"      OR p.oid IN (SELECT oprcode FROM pg_operator)\n"
	"      OR p.proname IN ('array_to_json', 'array_to_string', 'concat',\n"
	"        'concat_ws', 'date_part', 'date_trunc', 'extract',\n"
	"        'format', 'json_build_array', 'json_build_object',\n"
	"        'jsonb_build_array', 'jsonb_build_object', 'row_to_json',\n"
	"        'timezone', 'to_char', 'to_date', 'to_json', 'to_jsonb',\n"
	"        'to_number', 'to_timestamp')))),\n"
	"filled AS (\n"
	"  SELECT bool_and(rel IS NOT NULL AND col > 0)\n"
	"      AND bool_or(kind <> 'v') AS traced,\n"
	"    string_agg(pg_get_expr(d.adbin, d.adrelid), ', ') AS text\n"
	"  FROM trace LEFT JOIN pg_attrdef d\n"
	"    ON d.adrelid = rel AND d.adnum = col AND kind <> 'v')\n"
	"SELECT bool_or(a !~ ':hasSubLinks true'\n"
	"    AND a ~ ':has(Aggs|WindowFuncs) true"
	"|:(groupClause|groupingSets|havingQual) [^<]'),\n"
	"  EXISTS (SELECT FROM fickle)\n"
	"  OR EXISTS (\n"
	"    SELECT FROM below b WHERE b.kind = 'p'\n"
	"      OR b.oid IN (SELECT inhparent FROM pg_inherits))\n"
	"  OR bool_or(\n"
	"    a ~ ':has(SubLinks|TargetSRFs|DistinctOn|Recursive|ModifyingCTE) "
	"true'\n"
	"    OR a ~ ':(distinctClause|limitOffset|limitCount|tablesample) "
	"[^<]'\n"
	"    OR a ~ ':rtekind (?![016]\\M)'\n"
	"    OR a ~ '\\{(SQLVALUEFUNCTION|NEXTVALUEEXPR|SUBLINK)'\n"
	"    OR a ~ '\\{COERCEVIAIO' AND a ~ ':resulttype "
	"(1082|1083|1114|1184|1266)\\M'\n"
	"    OR a ~ ':(?!const)\\w*type(id)? (" NAMING "|" SEARCHING ")\\M'\n"
	"    OR a ~ ':consttype (" NAMING ")\\M'\n"
	"    OR replace(a, 'SETOPERATIONSTMT :op 1 :all true', '')\n"
	"      ~ 'SETOPERATIONSTMT'\n"
	"    OR regexp_replace(a, ':fromlist "
	"(<>|\\(\\{RANGETBLREF :rtindex \\d+\\}\\))', '', 'g') ~ "
	"':fromlist'),\n"
	"  coalesce((SELECT traced FROM filled), false),\n"
	"  (SELECT text FROM filled),\n"
	"  (SELECT string_agg(pg_get_expr(d.adbin, d.adrelid), ', ')\n"
	"   FROM below b JOIN pg_attrdef d ON d.adrelid = b.oid\n"
	"     JOIN pg_attribute t ON t.attrelid = d.adrelid\n"
	"       AND t.attnum = d.adnum\n"
	"   WHERE t.atttypid IN (1082, 1114, 1184))\n"
	"FROM rule";

/* The planner has looked through views and subqueries: each node of a plan
 * says what it puts out. */
static int computed_explain(struct pg *pg, const struct source_table *table,
			    const struct source_column *mark,
			    struct strbuf *found, struct error *err)
{
	struct pg_result *r = NULL;
	char *sql = xstrfmt("EXPLAIN (VERBOSE, COSTS OFF) SELECT %s FROM %s "
			    "AS %s",
			    mark->sql, table->sql, table->alias);
	int rc = pg_query(pg, &r, sql, "t", 0, NULL, err);

	for (int i = 0; !rc && i < pg_rows(r); i++) {
		const char *line = pg_value(r, i, 0);
		const char *at = strstr(line, COMPUTED_OUTPUT);

		if (at && strspn(line, " ") == (size_t)(at - line))
			strbuf_addf(found, "%s%s", found->len ? ", " : "",
				    at + strlen(COMPUTED_OUTPUT));
	}
	pg_result_free(r);
	free(sql);
	return rc;
}

int postgres_source_computed_read(struct pg *pg, struct source_layout *l,
				  struct error *err)
{
	const struct relation *relation = postgres_source_relation(l);
	struct source_column *mark = l->columns[l->mark];
	struct strbuf found = STRBUF_INIT;
	struct pg_result *r = NULL;
	char *oid = xstrfmt("%u", relation->oid);
	const char *params[] = { oid, mark->expression ? "" : mark->name };
	int rc = 0;

	if (relation->kind == RELATION_VIEW &&
	    relation->oid != RELATION_OF_QUERY)
		rc = pg_query(pg, &r, computed_view_sql, "1ttt??", 2, params,
			      err);
	free(oid);
	if (rc || !r)
		return rc;
	if (*pg_value(r, 0, 0) == 't') {
		strbuf_addstr(&found, TICK_GROUPED);
	} else if (*pg_value(r, 0, 1) == 't') {
		strbuf_addstr(&found, TICK_OTHERS);
	} else if (*pg_value(r, 0, 2) == 't') {
		if (pg_value(r, 0, 3))
			strbuf_addstr(&found, pg_value(r, 0, 3));
	} else {
		rc = computed_explain(pg, &l->table, mark, &found, err);
		if (pg_value(r, 0, 4))
			strbuf_addf(&found, ", %s", pg_value(r, 0, 4));
	}
	free(mark->computed);
	mark->computed = strbuf_detach(&found);
	pg_result_free(r);
	return rc;
}

bool postgres_source_computed_is_plain(const struct source_column *mark)
{
	return tick_is_plain(mark->expression, &mark->type, computed_plain) &&
	       tick_is_plain(mark->computed, &mark->type, computed_plain);
}

enum tick_doubt postgres_source_computed_doubt(const struct source_column *mark)
{
	return tick_doubt(mark->expression, mark->computed);
}
