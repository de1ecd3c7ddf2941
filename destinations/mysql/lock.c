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

/* Who has the lock $1. */
static const char holder_sql[] =
	"SELECT p.id, p.user, p.host, p.command, p.time\n"
	"FROM information_schema.processlist p\n"
	"WHERE p.id = IS_USED_LOCK(?)";

char *my_lock_name(const struct place *place, enum my_lock kind,
		   const char *pipeline)
{
	char hash[DIGEST_TEXT_SIZE], *name;
	/* Who appends to a raw table takes the next of its numbers. */
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
static int lock_refuse(struct mydst *d, enum my_lock kind, const char *name,
		       const char *pipeline, struct error *err)
{
	struct mydb_result *r = NULL;
	struct error ignored = ERROR_INIT;
	int rc = mydb_query(d->db, &r, holder_sql, "ttttt", 1, &name, &ignored);

	if (!rc && mydb_rows(r))
		rc = error_set(err, ERROR_STATE,
			       "pipeline %s: %s: connection %s (%s@%s, %s for "
			       "%s s); wait for it, or stop it",
			       pipeline, lock_doing[kind], mydb_value(r, 0, 0),
			       mydb_value(r, 0, 1), mydb_value(r, 0, 2),
			       mydb_value(r, 0, 3), mydb_value(r, 0, 4));
	else
		rc = error_set(err, ERROR_STATE, "pipeline %s: %s", pipeline,
			       lock_doing[kind]);
	mydb_result_free(r);
	return rc;
}

int my_lock_take(struct mydst *d, enum my_lock kind, const char *pipeline,
		 int seconds, struct error *err)
{
	char *name, *wait;
	const char *params[2];
	struct mydb_result *r = NULL;
	const char *got;
	int rc;

	if (d->held[kind])
		return 0;
	name = my_lock_name(&d->place, kind, pipeline);
	wait = xstrfmt("%d", seconds);
	params[0] = name;
	params[1] = wait;
	rc = mydb_query(d->db, &r, "SELECT GET_LOCK(?, ?)", "1?", 2, params,
			err);
	got = rc ? NULL : mydb_value(r, 0, 0);
	if (got && *got == '1')
		d->held[kind] = xstrdup(name);
	else if (!rc)
		rc = lock_refuse(d, kind, name, pipeline, err);
	mydb_result_free(r);
	free(wait);
	free(name);
	return rc;
}

int my_lock_end_holder(struct mydst *d, const char *session,
		       const char *pipeline, struct error *err)
{
	struct mydb_result *r = NULL;
	char *names[LOCK_KINDS];
	const char *params[LOCK_KINDS + 1] = { session };
	int rc;

	for (int kind = 0; kind < LOCK_KINDS; kind++)
		params[kind + 1] = names[kind] =
			my_lock_name(&d->place, (enum my_lock)kind, pipeline);
	rc = mydb_query(d->db, &r,
			"SELECT ? IN (IS_USED_LOCK(?), IS_USED_LOCK(?),\n"
			"  IS_USED_LOCK(?))",
			"1?", ARRAY_SIZE(params), params, err);
	if (!rc && mydb_value(r, 0, 0) && *mydb_value(r, 0, 0) == '1')
		rc = my_execf(d->db, err, "KILL %lu",
			      strtoul(session, NULL, 10));
	mydb_result_free(r);
	for (int kind = 0; kind < LOCK_KINDS; kind++)
		free(names[kind]);
	return rc;
}

void my_lock_release(struct mydst *d, enum my_lock kind)
{
	struct mydb_result *r = NULL;
	struct error ignored = ERROR_INIT;
	const char *name = d->held[kind];

	if (name && mydb_alive(d->db))
		mydb_query(d->db, &r, "SELECT RELEASE_LOCK(?)", "1?", 1, &name,
			   &ignored);
	mydb_result_free(r);
	free(d->held[kind]);
	d->held[kind] = NULL;
}

void my_lock_forget(struct mydst *d)
{
	for (int kind = 0; kind < LOCK_KINDS; kind++) {
		free(d->held[kind]);
		d->held[kind] = NULL;
	}
}
