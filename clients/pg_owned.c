#include "clients/pg_owned.h"

#include <string.h>

/* "has trigger x, default value for column y of table z". The list names all
 * objects on the relation c of pg_class that may run code or hide rows from us.
 * It includes tables whose triggers fire with it, by inheritance or a cascade,
 * which leaves deferred triggers to whoever commits. It includes all parts that
 * depend on objects which are not built in. The server's own objects, also
 * those found in ICU, have numbers below 16384. The catalogs are given as
 * numbers, which never change: pg_class, pg_attrdef, pg_constraint; pg_proc,
 * pg_type, pg_operator, pg_opclass, pg_opfamily, pg_collation. OFFSET 0 makes
 * the server begin with our few parts, and not with all objects of the database
 * that depend on a type. More conditions may follow, then the end. */
#define OWNED_ATTACHED                                                         \
	"(SELECT 'has ' || string_agg(name, ', ' ORDER BY name) FROM (\n"      \
	"  SELECT format('trigger %I', g.tgname) AS name FROM pg_trigger g\n"  \
	"  WHERE g.tgrelid = c.oid AND NOT g.tgisinternal\n"                   \
	"  UNION SELECT format('rule %I', r.rulename) FROM pg_rewrite r\n"     \
	"  WHERE r.ev_class = c.oid\n"                                         \
	"  UNION SELECT format('policy %I', p.polname) FROM pg_policy p\n"     \
	"  WHERE p.polrelid = c.oid\n"                                         \
	"  UNION SELECT 'row security' WHERE row_security_active(c.oid)\n"     \
	"  UNION SELECT format('child table %s', h.inhrelid::regclass)\n"      \
	"  FROM pg_inherits h WHERE h.inhparent = c.oid\n"                     \
	"  UNION SELECT format('%s, which uses %s',\n"                         \
	"    pg_describe_object(d.classid, d.objid, d.objsubid),\n"            \
	"    pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid))\n"   \
	"  FROM (SELECT 1259 AS class, c.oid AS id\n"                          \
	"    UNION ALL SELECT 1259, i.indexrelid\n"                            \
	"    FROM pg_index i WHERE i.indrelid = c.oid\n"                       \
	"    UNION ALL SELECT 2604, v.oid\n"                                   \
	"    FROM pg_attrdef v WHERE v.adrelid = c.oid\n"                      \
	"    UNION ALL SELECT 2606, k.oid\n"                                   \
	"    FROM pg_constraint k WHERE k.conrelid = c.oid) AS part\n"         \
	"  CROSS JOIN LATERAL (SELECT * FROM pg_depend f\n"                    \
	"    WHERE f.classid = part.class AND f.objid = part.id\n"             \
	"      AND f.refobjid >= 16384 AND f.refclassid\n"                     \
	"        IN (1255, 1247, 2617, 2616, 2753, 3456) OFFSET 0) AS d\n"     \
	"  UNION SELECT format('foreign key %I from table %s', k.conname,\n"   \
	"    k.conrelid::regclass)\n"                                          \
	"  FROM pg_trigger g JOIN pg_constraint k ON k.oid = g.tgconstraint\n" \
	"  JOIN pg_class o ON o.oid = k.conrelid\n"                            \
	"  WHERE g.tgrelid = c.oid AND k.confrelid = c.oid\n"                  \
	"    AND o.oid <> c.oid"

/* A built-in function may run SQL of its own: query_to_xml(). A constant runs
 * nothing, not even in a column that somebody has added. */
#define OWNED_COMPUTED                                                         \
	"(SELECT format('computes column %I by %s', a.attname, e.text)\n"      \
	"  FROM pg_attrdef d JOIN pg_attribute a\n"                            \
	"    ON a.attrelid = d.adrelid AND a.attnum = d.adnum\n"               \
	"  CROSS JOIN LATERAL pg_get_expr(d.adbin, c.oid) AS e(text)\n"        \
	"  WHERE d.adrelid = c.oid AND (a.attgenerated <> '' OR e.text !~\n"   \
	"    '^(now[(][)]|CURRENT_TIMESTAMP|NULL|true|false|[-0-9.()]+'\n"     \
	"    '|''([^'']|'''')*'')(::[a-z ]+([(][0-9,]+[)])?)*$')\n"            \
	"  LIMIT 1)"

/* Operators that are built in run nothing either. */
#define OWNED_CHECKS                                                           \
	"(SELECT format('has constraint %I', k.conname)\n"                     \
	"  FROM pg_constraint k\n"                                             \
	"  WHERE k.conrelid = c.oid AND k.contype = 'c'\n"                     \
	"    AND pg_get_constraintdef(k.oid) ~ '\\w[(]' LIMIT 1)"

#define OWNER_FAULT PG_OWNED_OWNER("c.relowner")

static const char table_sql[] =
	"coalesce(" OWNER_FAULT ",\n"
	"  CASE WHEN c.relkind <> 'r' THEN 'is not a table' END,\n"
	/* Its parent's key is computed for each row that is written here. */
	"  (SELECT format('is a partition of table %s',\n"
	"      h.inhparent::regclass)\n"
	"    FROM pg_inherits h\n"
	"    WHERE c.relispartition AND h.inhrelid = c.oid),\n"
	"  ";
static const char attached_sql[] = OWNED_ATTACHED;
static const char neighbours_sql[] = " AND o.relnamespace <> c.relnamespace";
static const char computed_sql[] =
	") AS names),\n  " OWNED_COMPUTED ",\n  " OWNED_CHECKS ")";

/* A compiler need not take a string of more than 4095 characters. */
void pg_owned_add_table(struct strbuf *sql, bool schema_is_ours)
{
	strbuf_addstr(sql, table_sql);
	strbuf_addstr(sql, attached_sql);
	if (schema_is_ours)
		strbuf_addstr(sql, neighbours_sql);
	strbuf_addstr(sql, computed_sql);
}

const char *pg_owned_heir(const char *fault)
{
	const char *found = NULL, *at = fault;

	while ((at = strstr(at, PG_OWNED_NOT_TO))) {
		at += strlen(PG_OWNED_NOT_TO);
		found = at;
	}
	return strstr(fault, "belongs to role ") ? found : NULL;
}
