/*
 * Objects that have our names and that somebody else has made, or has added to:
 * a trigger, a rule, a policy, a default or an index of theirs runs with the
 * rights of whoever writes to the table. SQL that looks for them, of which each
 * expression is NULL where nothing is wrong.
 *
 * The session runs under search_path = pg_catalog.
 */
#ifndef TIDEMARK_CLIENTS_PG_OWNED_H
#define TIDEMARK_CLIENTS_PG_OWNED_H

/* Can the role of that oid do nothing with our rights that it could not do
 * without, or is it trusted? Superusers, members of our role, our role itself,
 * and roles that it is a member of: not by being a superuser, who is said to be
 * a member of all. Membership that gives neither rights nor SET ROLE (16 and
 * later) is none. And the owner of the database, by any name. */
#define PG_OWNED_IS_OURS(role)                                                 \
	"(pg_has_role(" role ", current_user, 'MEMBER')\n"                     \
	"OR pg_has_role(" role ", (SELECT datdba FROM pg_database\n"           \
	"WHERE datname = current_database()), 'MEMBER')\n"                     \
	" OR pg_get_userbyid(" role ") = 'pg_database_owner'\n"                \
	" OR " role " IN (WITH RECURSIVE ours AS (\n"                          \
	"   SELECT oid FROM pg_roles WHERE rolname = current_user\n"           \
	"   UNION SELECT m.roleid FROM ours o\n"                               \
	"   JOIN pg_auth_members m ON m.member = o.oid AND NOT to_jsonb(m)\n"  \
	"     @> '{\"set_option\": false, \"inherit_option\": false}')\n"      \
	"  SELECT oid FROM ours))"

/* "belongs to role x, not to y": y, who we are, follows the last of these. */
#define PG_OWNED_NOT_TO ", not to "
#define PG_OWNED_OWNER(role)                                                   \
	"CASE WHEN NOT " PG_OWNED_IS_OURS(                                     \
		role) " THEN\n  format('belongs to role %I" PG_OWNED_NOT_TO    \
		      "%I', "                                                  \
		      "pg_get_userbyid(" role "), current_user) END"

/* "has trigger x, default value for column y of table z": all that is on the
 * relation c of pg_class and may run code or hide rows from us; and all of it
 * that depends on what is not built in. The server gives its own objects, also
 * those that it finds in ICU, numbers below 16384. The catalogs in numbers,
 * which never change: pg_class, pg_attrdef, pg_constraint; pg_proc, pg_type,
 * pg_operator, pg_opclass, pg_opfamily, pg_collation. */
#define PG_OWNED_ATTACHED                                                      \
	"(SELECT 'has ' || string_agg(name, ', ' ORDER BY name) FROM (\n"      \
	"  SELECT format('trigger %I', g.tgname) AS name FROM pg_trigger g\n"  \
	"  WHERE g.tgrelid = c.oid AND NOT g.tgisinternal\n"                   \
	"  UNION SELECT format('rule %I', r.rulename) FROM pg_rewrite r\n"     \
	"  WHERE r.ev_class = c.oid\n"                                         \
	"  UNION SELECT format('policy %I', p.polname) FROM pg_policy p\n"     \
	"  WHERE p.polrelid = c.oid\n"                                         \
	"  UNION SELECT 'row security' WHERE row_security_active(c.oid)\n"     \
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
	"  JOIN pg_depend d ON d.classid = part.class AND d.objid = part.id\n" \
	"  WHERE d.refobjid >= 16384\n"                                        \
	"    AND d.refclassid IN (1255, 1247, 2617, 2616, 2753, 3456))\n"      \
	"  AS names)"

/* The relation c of pg_class as a table of our own: what is wrong with it. */
#define PG_OWNED_TABLE                                                         \
	"coalesce(" PG_OWNED_OWNER(                                            \
		"c.relowner") ",\n"                                            \
			      "  CASE WHEN c.relkind <> 'r' THEN 'is not a "   \
			      "table' END,\n"                                  \
			      "  " PG_OWNED_ATTACHED ")"

/* In a script of several statements: the one that ends it with PG_OWNED_STATE
 * where the text expression between the two is not NULL. */
#define PG_OWNED_STOP_BEGIN "SELECT (\n"
#define PG_OWNED_STOP_END   ")::integer"
#define PG_OWNED_STATE	    "22P02"

/* Behind the name of such an object, in an error. */
#define PG_OWNED_WHY                                                           \
	", so code of somebody else could run with the rights of this user"

/* The role y of such a text, quoted; NULL: it is about something else. */
const char *pg_owned_heir(const char *fault);

#endif
