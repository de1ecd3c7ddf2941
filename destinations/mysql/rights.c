#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/mysql/internal.h"

/* Where a right is granted, and where it is missing. */
struct sight {
	bool everywhere, database, table;
	bool not_database; /* a grant for the database is without it */
	bool revoked; /* in this database */
};

/* One part of a grant's object: a name in backquotes, or "*", which is NULL in
 * `out`. Returns the text behind it; caller frees `out`. */
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

/* If several patterns match a database, the server heeds one of them. So all
 * have to have the right. */
static bool grants_give(const struct mysql_client_result *r, const char *right,
			const char *const params[2])
{
	struct sight sight = { .table = false };

	for (size_t i = 0; i < mysql_client_rows(r); i++)
		grant_take(&sight, mysql_client_value(r, i, 0), right, params);
	return sight.table || (sight.everywhere && !sight.revoked) ||
	       (sight.database && !sight.not_database);
}

int mysql_target_rights_give(struct mysql_client *db, const char *right,
			     const char *const params[2], bool *out,
			     struct error *err)
{
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query(db, &r, "SHOW GRANTS", "t", 0, NULL, err);

	*out = !rc && grants_give(r, right, params);
	mysql_client_result_free(r);
	return rc;
}

char *mysql_target_rights_grant(struct mysql_client *db, const char *right,
				const char *on)
{
	struct mysql_client_result *r = NULL;
	struct error ignored = ERROR_INIT;
	struct strbuf sb = STRBUF_INIT;
	const char *user = "", *host;
	char *name;

	if (!mysql_client_query(db, &r, "SELECT CURRENT_USER()", "1t", 0, NULL,
				&ignored))
		user = mysql_client_value(r, 0, 0);
	host = strrchr(user, '@');
	name = xstrndup(user, host ? (size_t)(host - user) : strlen(user));
	strbuf_addf(&sb, "GRANT %s ON %s TO ", right, on);
	mysql_client_quote(&sb, name);
	strbuf_addch(&sb, '@');
	mysql_client_quote(&sb, host ? host + 1 : "%");
	free(name);
	mysql_client_result_free(r);
	return strbuf_detach(&sb);
}

/* Rights that a mode or a refresh needs beyond those of every load. */
struct rights_needed {
	const char *right;
	bool always, refresh, append, delete_insert;
	bool drift; /* for a column that comes later */
};

static const struct rights_needed rights_needed[] = {
	{ .right = "SELECT", .always = true },
	{ .right = "INSERT", .always = true },
	{ .right = "UPDATE", .always = true },
	{ .right = "DELETE", .delete_insert = true },
	{ .right = "CREATE", .always = true },
	{ .right = "CREATE TEMPORARY TABLES", .always = true },
	{ .right = "ALTER", .refresh = true, .drift = true },
	{ .right = "DROP", .refresh = true, .append = true },
	{ .right = "CREATE VIEW", .append = true },
	{ .right = "TRIGGER", .refresh = true }, /* shows them */
};

static bool rights_are_needed(const struct rights_needed *n,
			      const struct target *target)
{
	return n->always || (n->refresh && target->refresh) ||
	       (n->append && target->mode == LOAD_APPEND) ||
	       (n->delete_insert && target->mode == LOAD_DELETE_INSERT);
}

void mysql_target_rights_of_mode(struct strbuf *out, enum load_mode mode)
{
	const struct target target = { .mode = mode,
				       .refresh = mode == LOAD_REPLACE };

	for (size_t i = 0; i < ARRAY_SIZE(rights_needed); i++)
		if (rights_are_needed(&rights_needed[i], &target) ||
		    rights_needed[i].drift)
			strbuf_addf(out, "%s%s", out->len ? ", " : "",
				    rights_needed[i].right);
}

int mysql_target_rights_missing(struct mysql_target *d,
				const struct place *place,
				const struct target *target, struct strbuf *out,
				struct error *err)
{
	const char *params[2] = { place->database, place->base };
	struct mysql_client_result *r = NULL;
	int rc =
		mysql_client_query(d->db, &r, "SHOW GRANTS", "t", 0, NULL, err);

	for (size_t i = 0; !rc && i < ARRAY_SIZE(rights_needed); i++)
		if (rights_are_needed(&rights_needed[i], target) &&
		    !grants_give(r, rights_needed[i].right, params))
			strbuf_addf(out, "%s%s", out->len ? ", " : "",
				    rights_needed[i].right);
	mysql_client_result_free(r);
	return rc;
}

static void rights_report(struct mysql_target *d, const struct place *place,
			  const struct target *target, const char *missing,
			  enum severity severity, const char *purpose,
			  struct problems *out)
{
	struct strbuf on = STRBUF_INIT;
	char *grant;

	sql_quote_name(&on, place->database, '`');
	strbuf_addstr(&on, ".*");
	grant = mysql_target_rights_grant(d->db, missing, on.data);
	problems_add(out, severity, ERROR_NONE, "missing-rights", grant,
		     "table %s: the user has no grant of %s, which %s takes",
		     target->table, missing, purpose);
	free(grant);
	strbuf_release(&on);
}

/* Loading begins without it, and fails on the day when the source changes. */
static int rights_inspect_drift(struct mysql_target *d,
				const struct place *place,
				const struct target *target,
				struct problems *out, struct error *err)
{
	const char *params[2] = { place->database, place->base };
	bool given = false;
	int rc;

	if (target->refresh || (target->drift.on_new_column == DRIFT_STOP &&
				target->drift.on_type_change == DRIFT_STOP))
		return 0;
	rc = mysql_target_rights_give(d->db, "ALTER", params, &given, err);
	if (!rc && !given)
		rights_report(d, place, target, "ALTER", SEVERITY_INFO,
			      "a column that is added or widened later", out);
	return rc;
}

int mysql_target_rights_inspect(struct mysql_target *d,
				const struct place *place,
				const struct target *target,
				struct problems *out, struct error *err)
{
	struct strbuf missing = STRBUF_INIT;
	int rc = mysql_target_rights_missing(d, place, target, &missing, err);

	if (missing.len)
		rights_report(d, place, target, missing.data, SEVERITY_WARNING,
			      "loading", out);
	strbuf_release(&missing);
	return rc ? rc : rights_inspect_drift(d, place, target, out, err);
}
