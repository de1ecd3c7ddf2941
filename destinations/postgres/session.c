#include <stdatomic.h>
#include <stdlib.h>

#include "clients/pg_ahead.h"
#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "destinations/postgres/ahead.h"
#include "destinations/postgres/postgres.h"

/* A server whose client has died in the middle of a statement notices, and lets
 * go of its locks. It is new in 14, and other systems than Linux have it since
 * 16, or refuse it. */
#define SESSION_CHECK                                                          \
	"  CASE WHEN current_setting('client_connection_check_interval',\n"    \
	"    true) IS NOT NULL AND (version() LIKE '%linux%'\n"                \
	"    OR current_setting('server_version_num')::int >= 160000\n"        \
	"    AND version() ~ 'darwin|bsd')\n"                                  \
	"  THEN set_config('client_connection_check_interval', '10s', "        \
	"false)\n"                                                             \
	"  END"

/* Settings of the pinned session. The stage's schema comes last, so that
 * nothing in it can stand for a catalog. The merge looks keys up in the
 * target's index, in the stage's (key) order. A hash or merge join would read
 * the whole target for each batch. The planner knows nothing about the stage,
 * and may well choose it. */
/* A process that is paused inside a transaction must not hold its locks for
 * ever. The server ends such a session, and the next run goes on. */
static const char session_sql[] =
	"SELECT set_config('search_path', 'pg_catalog, pg_temp', false),\n"
	"  set_config('idle_in_transaction_session_timeout', '30s', false),\n"
	"  set_config('enable_hashjoin', 'off', false),\n"
	"  set_config('enable_mergejoin', 'off', false),\n"
	"  set_config('jit', 'off', false),\n"
	"  set_config('" POSTGRES_FAULT_SETTING "', '', false),\n"
	"  set_config('temp_buffers', '32MB', false),\n" SESSION_CHECK;

/* A session may serve one pipeline after another. So its name has the number of
 * its use, which it holds as a lock for others to see: "tdmk" in bytes, and the
 * number. Resetting the session gives it up. */
#define SESSION_USE "1952738667"

static const char session_name_sql[] =
	"SELECT pid || ' ' || backend_start || ' ' || $1::text,\n"
	"  pg_try_advisory_lock_shared(" SESSION_USE ", $1::text::integer)\n"
	"FROM pg_stat_activity WHERE pid = pg_backend_pid()";

/* The start guards against a pid that has been given out again. */
static const char session_end_sql[] =
	"SELECT pg_terminate_backend(a.pid)\n"
	"FROM pg_stat_activity a\n"
	"JOIN pg_locks l ON l.pid = a.pid AND l.locktype = 'advisory'\n"
	"  AND l.classid = " SESSION_USE " AND l.objsubid = 2\n"
	"WHERE a.pid || ' ' || a.backend_start || ' ' || l.objid = $1";

/* The number of the next use, as text: caller frees. */
static char *session_use(struct postgres_destination *d)
{
	static atomic_uint uses;

	if (!d->use)
		d->use = (atomic_fetch_add(&uses, 1) + 1) & INT32_MAX;
	return xstrfmt("%u", d->use);
}

void postgres_session_ahead(struct postgres_destination *d)
{
	char *use = session_use(d);
	const char *param = use;

	pg_ahead_add(d->pg, session_name_sql, 1, &param);
	free(use);
}

int postgres_session_start(struct postgres_destination *d, struct error *err)
{
	struct pg_result *r = NULL;
	char *use = session_use(d);
	const char *param = use;
	int rc = pg_query(d->pg, &r, session_name_sql, "tt", 1, &param, err);

	if (!rc && pg_rows(r)) {
		free(d->session);
		d->session = xstrdup(pg_value(r, 0, 0));
	}
	d->use = 0;
	pg_result_free(r);
	free(use);
	return rc;
}

int postgres_session_end(struct pg *pg, const char *session, struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(pg, &r, session_end_sql, "?", 1, &session, err);

	pg_result_free(r);
	return rc;
}

int postgres_session_open(struct postgres_destination *d, struct pg **out,
			  struct error *err)
{
	struct pg_options options = { .pin = true,
				      .settings = session_sql,
				      .application = "load",
				      .replaces = d->pg != NULL };

	d->staged = false;
	return pg_open(out, &d->conn, &options, err);
}

void postgres_session_rollback(struct postgres_destination *d)
{
	struct error ignored = ERROR_INIT;

	if (pg_alive(d->pg))
		pg_exec(d->pg, "ROLLBACK", &ignored);
}

int postgres_stage_create(struct postgres_destination *d, struct error *err)
{
	/* AS SELECT keeps types, domains and collations of the columns, and
	 * neither constraints nor defaults. */
	int rc = pg_execf(d->pg, err,
			  "DROP TABLE IF EXISTS " STAGE ";\n"
			  "CREATE TEMP TABLE _tidemark_stage\n"
			  "ON COMMIT DELETE ROWS AS\n"
			  "SELECT %s FROM %s WITH NO DATA",
			  d->columns.data, d->rows);

	d->staged = !rc;
	return rc ? rc : failpoint("stage_created", err);
}
