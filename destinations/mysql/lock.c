#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/digest.h"
#include "destinations/mysql/internal.h"

/* The server takes names of 64 characters, for all of its databases. */
#define HASH_DIGITS 32

static const char *const lock_words[LOCK_KINDS] = {
	[LOCK_DDL] = "ddl",
	[LOCK_LOAD] = "load",
	[LOCK_REFRESH] = "refresh",
};

static const char *const lock_doing[LOCK_KINDS] = {
	[LOCK_DDL] = ("another run is just making or altering tables in this "
		      "database"),
	[LOCK_LOAD] = "another run is just loading its table",
	[LOCK_REFRESH] = "another run of it is refreshing its table",
};

static const char take_sql[] = "SELECT GET_LOCK(?, ?)";
static const char release_sql[] = "SELECT RELEASE_LOCK(?)";

/* The holder of the lock $1. */
static const char holder_sql[] =
	"SELECT p.id, p.user, p.host, p.command, p.time\n"
	"FROM information_schema.processlist p\n"
	"WHERE p.id = IS_USED_LOCK(?)";

char *mysql_target_lock_name(const struct place *place,
			     enum mysql_target_lock kind, const char *pipeline)
{
	char hash[DIGEST_TEXT_SIZE], *name;
	/* A writer that appends to a raw table takes the next of its
	 * numbers. */
	bool raw = kind == LOCK_LOAD && strcmp(place->table, place->base) != 0;
	char *text = xstrfmt("%s.%s", place->database,
			     kind == LOCK_DDL ? ""
			     : raw	      ? place->rows
					      : pipeline);

	digest_hash_text(text, strlen(text), hash);
	name = xstrfmt("tidemark.%s.%.*s", lock_words[kind], HASH_DIGITS, hash);
	free(text);
	return name;
}

/* "connection 12 (app@10.0.0.5:4711, Query for 3 s)". */
static int lock_refuse(struct mysql_target *d, enum mysql_target_lock kind,
		       const char *name, const char *pipeline,
		       struct error *err)
{
	struct mysql_client_result *r = NULL;
	struct error ignored = ERROR_INIT;
	int rc = mysql_client_query(d->db, &r, holder_sql, "ttttt", 1, &name,
				    &ignored);

	if (!rc && mysql_client_rows(r))
		rc = error_set(err, ERROR_STATE,
			       "pipeline %s: %s: connection %s (%s@%s, %s for "
			       "%s s); wait for it, or stop it",
			       pipeline, lock_doing[kind],
			       mysql_client_value(r, 0, 0),
			       mysql_client_value(r, 0, 1),
			       mysql_client_value(r, 0, 2),
			       mysql_client_value(r, 0, 3),
			       mysql_client_value(r, 0, 4));
	else
		rc = error_set(err, ERROR_STATE, "pipeline %s: %s", pipeline,
			       lock_doing[kind]);
	mysql_client_result_free(r);
	return rc;
}

void mysql_target_lock_foresee(struct mysql_target *d,
			       const struct place *place,
			       enum mysql_target_lock kind,
			       const char *pipeline, int seconds, bool take,
			       struct strlist *out)
{
	char *name = mysql_target_lock_name(place, kind, pipeline);
	char *wait = xstrfmt("%d", seconds);
	const char *params[] = { name, wait };

	if (take && !d->held[kind])
		mysql_client_foresee(d->db, out, take_sql, 2, params);
	else if (!take)
		mysql_client_foresee(d->db, out, release_sql, 1, params);
	free(wait);
	free(name);
}

int mysql_target_lock_take(struct mysql_target *d, enum mysql_target_lock kind,
			   const char *pipeline, int seconds, struct error *err)
{
	char *name, *wait;
	const char *params[2];
	struct mysql_client_result *r = NULL;
	const char *got;
	int rc;

	if (d->held[kind])
		return 0;
	name = mysql_target_lock_name(&d->place, kind, pipeline);
	wait = xstrfmt("%d", seconds);
	params[0] = name;
	params[1] = wait;
	rc = mysql_client_query(d->db, &r, take_sql, "1?", 2, params, err);
	got = rc ? NULL : mysql_client_value(r, 0, 0);
	if (got && *got == '1')
		d->held[kind] = xstrdup(name);
	else if (!rc)
		rc = lock_refuse(d, kind, name, pipeline, err);
	mysql_client_result_free(r);
	free(wait);
	free(name);
	return rc;
}

static int lock_kill(struct mysql_target *d, unsigned long session,
		     struct error *err)
{
	char *sql = xstrfmt("KILL %lu", session);
	int rc = mysql_client_exec(d->db, sql, err);

	free(sql);
	return rc;
}

int mysql_target_lock_end_holder(struct mysql_target *d, const char *session,
				 const char *pipeline, struct error *err)
{
	struct mysql_client_result *r = NULL;
	char *names[LOCK_KINDS];
	const char *params[LOCK_KINDS + 1] = { session };
	int rc;

	for (int kind = 0; kind < LOCK_KINDS; kind++)
		params[kind + 1] = names[kind] = mysql_target_lock_name(
			&d->place, (enum mysql_target_lock)kind, pipeline);
	rc = mysql_client_query(
		d->db, &r,
		"SELECT ? IN (IS_USED_LOCK(?), IS_USED_LOCK(?),\n"
		"  IS_USED_LOCK(?))",
		"1?", ARRAY_SIZE(params), params, err);
	if (!rc && mysql_client_value(r, 0, 0) &&
	    *mysql_client_value(r, 0, 0) == '1')
		rc = lock_kill(d, strtoul(session, NULL, 10), err);
	mysql_client_result_free(r);
	for (int kind = 0; kind < LOCK_KINDS; kind++)
		free(names[kind]);
	return rc;
}

void mysql_target_lock_release(struct mysql_target *d,
			       enum mysql_target_lock kind)
{
	struct mysql_client_result *r = NULL;
	struct error ignored = ERROR_INIT;
	const char *name = d->held[kind];

	if (name && mysql_client_alive(d->db))
		d->used |= mysql_client_query(d->db, &r, release_sql, "1?", 1,
					      &name, &ignored) != 0;
	mysql_client_result_free(r);
	free(d->held[kind]);
	d->held[kind] = NULL;
}

bool mysql_target_lock_is_held(const struct mysql_target *d)
{
	bool any = false;

	for (int kind = 0; kind < LOCK_KINDS; kind++)
		any |= d->held[kind] != NULL;
	return any;
}

void mysql_target_lock_forget(struct mysql_target *d)
{
	for (int kind = 0; kind < LOCK_KINDS; kind++) {
		free(d->held[kind]);
		d->held[kind] = NULL;
	}
}
