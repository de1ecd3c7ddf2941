#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/mysql/internal.h"

#define ERRNO_NO_RIGHT 1227
#define ERRNO_NO_TABLE 1109

/* Where a right is granted, and where it is missing. */
struct sight {
	bool everywhere, database, table;
	bool not_database; /* a grant for the database is without it */
	bool revoked; /* in this database */
};

/* information_schema.referential_constraints is silent about tables that the
 * user may not see; InnoDB's own list is not. MariaDB writes names there as it
 * names files. Folded: to find one too many does no harm. */
static const char mysql_keys_sql[] =
	"SELECT MIN(REPLACE(for_name, '/', '.'))\n"
	"FROM information_schema.innodb_foreign\n"
	"WHERE LOWER(ref_name) = LOWER(CONCAT(?, '/', ?))";

static const char mariadb_keys_sql[] =
	"SELECT MIN(REPLACE(for_name, '/', '.'))\n"
	"FROM information_schema.innodb_sys_foreign\n"
	"WHERE LOWER(ref_name) = LOWER(CONCAT(\n"
	"  CONVERT(CAST(CONVERT(? USING filename) AS BINARY) USING ascii),\n"
	"  '/',\n"
	"  CONVERT(CAST(CONVERT(? USING filename) AS BINARY) USING ascii)))";

static int watchers_keys(struct mydb *db, const char *const params[2],
			 struct catalog_table *out, struct error *err)
{
	struct mydb_result *r = NULL;
	struct error why = ERROR_INIT;
	int rc = mydb_query(
		db, &r, mydb_is_mariadb(db) ? mariadb_keys_sql : mysql_keys_sql,
		2, params, &why);

	out->keys_unseen = mydb_failed_with(&why, ERRNO_NO_RIGHT) ||
			   mydb_failed_with(&why, ERRNO_NO_TABLE);
	if (rc && !out->keys_unseen) {
		*err = why;
		return rc;
	}
	if (!rc && mydb_rows(r) && mydb_value(r, 0, 0) && !out->referenced_by)
		out->referenced_by = xstrdup(mydb_value(r, 0, 0));
	mydb_result_free(r);
	return 0;
}

/* One part of what a grant is on: a name in backquotes, or "*", which is NULL
 * in `out`. Returns what is behind it; caller frees `out`. */
static const char *grant_name(const char *at, char **out)
{
	struct strbuf sb = STRBUF_INIT;

	*out = NULL;
	if (*at != '`')
		return *at ? at + 1 : at;
	for (at++; *at && (*at != '`' || at[1] == '`'); at++) {
		at += *at == '`';
		strbuf_addch(&sb, *at);
	}
	*out = strbuf_detach(&sb);
	return *at ? at + 1 : at;
}

/* The pattern of a database in a grant: "%" and "_", unless behind "\". */
static bool grant_matches(const char *pattern, const char *name)
{
	for (; *pattern; pattern++, name++) {
		if (*pattern == '%') {
			while (!grant_matches(pattern + 1, name))
				if (!*name++)
					return false;
			return true;
		}
		if (*pattern == '\\' && pattern[1])
			pattern++;
		else if (*pattern == '_' && *name)
			continue;
		if (*pattern != *name)
			return false;
	}
	return !*name;
}

/* Where a list of rights ends: at " ON ", but not in the name of a column. */
static const char *grant_object(const char *line)
{
	bool quoted = false;

	for (; *line; line++) {
		quoted ^= *line == '`';
		if (!quoted && !strncmp(line, " ON ", 4))
			return line + 4;
	}
	return NULL;
}

/* "GRANT SELECT, CREATE VIEW ON " */
static bool grant_has(const char *rights, const char *right)
{
	size_t n = strlen(right);

	for (const char *at = strchr(rights, ' '); at; at = strchr(at, ',')) {
		at += strspn(at, ", ");
		if ((!strncmp(at, right, n) &&
		     (at[n] == ',' || !at[n] || !strcmp(at + n, " ON "))) ||
		    !strncmp(at, "ALL PRIVILEGES", 14))
			return true;
	}
	return false;
}

/* One line of SHOW GRANTS. */
static void grant_take(struct sight *sight, const char *line, const char *right,
		       const char *const params[2])
{
	const char *object = grant_object(line), *at;
	char *database, *table, *rights;
	bool has;

	if (!object || (*object != '`' && *object != '*'))
		return;
	at = grant_name(object, &database);
	grant_name(*at ? at + 1 : at, &table);
	rights = xstrndup(line, (size_t)(object - line));
	has = grant_has(rights, right);
	if (!database)
		sight->everywhere |= has;
	else if (!grant_matches(database, params[0]))
		;
	else if (!strncmp(line, "REVOKE ", 7))
		sight->revoked |= has;
	else if (table)
		sight->table |= has && !strcasecmp(table, params[1]);
	else if (has)
		sight->database = true;
	else
		sight->not_database = true;
	free(rights);
	free(database);
	free(table);
}

/* Of several patterns that match a database the server heeds one: then all
 * have to have it. */
static bool grants_give(const struct mydb_result *r, const char *right,
			const char *const params[2])
{
	struct sight sight = { .table = false };

	for (size_t i = 0; i < mydb_rows(r); i++)
		grant_take(&sight, mydb_value(r, i, 0), right, params);
	return sight.table || (sight.everywhere && !sight.revoked) ||
	       (sight.database && !sight.not_database);
}

/* MySQL shows triggers to those alone who may make some. */
static int watchers_triggers(struct mydb *db, const char *const params[2],
			     struct catalog_table *out, struct error *err)
{
	struct mydb_result *r = NULL;
	int rc = mydb_query(db, &r, "SHOW GRANTS", 0, NULL, err);

	out->triggers_unseen = !rc && !grants_give(r, "TRIGGER", params);
	mydb_result_free(r);
	return rc;
}

int my_watchers_read(struct mydb *db, const char *database, const char *table,
		     const struct target *target, struct catalog_table *out,
		     struct error *err)
{
	const char *params[2] = { database, table };
	bool keys = target->refresh || target->mode == LOAD_DELETE_INSERT ||
		    out->other_unique;
	int rc = 0;

	if (out->exists && keys)
		rc = watchers_keys(db, params, out, err);
	if (!rc && out->exists && !out->triggers && !mydb_is_mariadb(db) &&
	    (target->refresh || target->mode != LOAD_APPEND))
		rc = watchers_triggers(db, params, out, err);
	return rc;
}

char *my_watchers_grant(struct mydb *db, const char *right, const char *on)
{
	struct mydb_result *r = NULL;
	struct error ignored = ERROR_INIT;
	struct strbuf sb = STRBUF_INIT;
	const char *user = "", *host;
	char *name;

	if (!mydb_query(db, &r, "SELECT CURRENT_USER()", 0, NULL, &ignored))
		user = mydb_value(r, 0, 0);
	host = strrchr(user, '@');
	name = xstrndup(user, host ? (size_t)(host - user) : strlen(user));
	strbuf_addf(&sb, "GRANT %s ON %s TO ", right, on);
	sql_quote_literal(&sb, name);
	strbuf_addch(&sb, '@');
	sql_quote_literal(&sb, host ? host + 1 : "%");
	free(name);
	mydb_result_free(r);
	return strbuf_detach(&sb);
}

int my_watchers_rights(struct mydst *d, const struct place *place,
		       const struct target *target, struct problems *out,
		       struct error *err)
{
	static const struct {
		const char *right;
		bool refresh, append; /* only then */
	} needed[] = {
		{ "SELECT", false, false },
		{ "INSERT", false, false },
		{ "UPDATE", false, false },
		{ "CREATE", false, false },
		{ "CREATE TEMPORARY TABLES", false, false },
		{ "ALTER", true, false },
		{ "DROP", true, false },
		{ "CREATE VIEW", false, true },
	};
	const char *params[2] = { place->database, place->base };
	struct strbuf missing = STRBUF_INIT, on = STRBUF_INIT;
	struct mydb_result *r = NULL;
	int rc = mydb_query(d->db, &r, "SHOW GRANTS", 0, NULL, err);
	char *grant;

	for (size_t i = 0; !rc && i < ARRAY_SIZE(needed); i++)
		if ((!needed[i].refresh || target->refresh) &&
		    (!needed[i].append || target->mode == LOAD_APPEND) &&
		    !grants_give(r, needed[i].right, params))
			strbuf_addf(&missing, "%s%s", missing.len ? ", " : "",
				    needed[i].right);
	mydb_result_free(r);
	if (missing.len) {
		sql_quote_name(&on, place->database, '`');
		strbuf_addstr(&on, ".*");
		grant = my_watchers_grant(d->db, missing.data, on.data);
		problems_add(out, SEVERITY_WARNING, ERROR_NONE,
			     "missing-rights", grant,
			     "table %s: the user has no grant of %s, which "
			     "loading takes",
			     target->table, missing.data);
		free(grant);
	}
	strbuf_release(&missing);
	strbuf_release(&on);
	return rc;
}
