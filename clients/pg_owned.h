/*
 * SQL that looks for objects with our names that somebody else has made or has
 * added to. A foreign trigger, rule, policy, default or index runs with the
 * rights of whoever writes to the table. Each expression is NULL where nothing
 * is wrong.
 *
 * The session runs under search_path = pg_catalog.
 */
#ifndef TIDEMARK_CLIENTS_PG_OWNED_H
#define TIDEMARK_CLIENTS_PG_OWNED_H

#include <stdbool.h>

#include "core/base/strbuf.h"

/* Is the role with that oid harmless: trusted, or unable to gain anything by
 * our rights? Superusers, members of our role, our role itself, roles that it
 * is a member of, and the owner of the database are harmless. pg_has_role()
 * would take a superuser for a member of every role, so our own memberships are
 * followed one by one. Membership that gives neither rights nor SET ROLE (16
 * and later) does not count. */
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

/* Append a text expression that says what is wrong with the relation c of
 * pg_class as a table of our own; NULL: nothing. Foreign keys from other
 * tables of its schema may point at it, where all of those tables are
 * checked as well. */
void pg_owned_add_table(struct strbuf *sql, bool schema_is_ours);

/* Part of a script of several statements. It ends the script with
 * PG_OWNED_STATE if the text expression between the two parts is not NULL. */
#define PG_OWNED_STOP_BEGIN "SELECT (\n"
#define PG_OWNED_STOP_END   ")::integer"
#define PG_OWNED_STATE	    "22P02"

/* Behind the name of such an object, in an error. */
#define PG_OWNED_WHY                                                           \
	", so code of somebody else could run with the rights of this user"

/* The role y of such a text, quoted; NULL: it is about something else. */
const char *pg_owned_heir(const char *fault);

#endif
