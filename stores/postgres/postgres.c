#include <stdlib.h>
#include <string.h>

#include "clients/pg.h"
#include "clients/pg_ahead.h"
#include "clients/pg_lock.h"
#include "core/base/alloc.h"
#include "core/plugin/store.h"
#include "stores/postgres/grants.h"
#include "stores/postgres/owned.h"

/* Any number that nobody else locks: "tidemark" in bytes. */
#define POSTGRES_STORE_LOCK "8388068008457105771"

/* Statements that wait for the next message, and their values. */
#define STORE_MOST_WAITING 16
#define STORE_MOST_BYTES   ((size_t)64 << 10)

extern const struct store_ops postgres_store;
extern const struct migrations migrations_postgres;

struct postgres_store {
	struct store base;
	const struct connection *conn; /* to connect again */
	struct pg *pg;
	bool in_transaction;
	bool defers; /* its statements without an answer may wait ... */
	bool begun; /* the server knows of it */
	size_t waiting; /* ... for the next message: how many do, */
	size_t waiting_bytes; /* and what they hold */
};

static struct pg *postgres_store_pg(struct store *s)
{
	return ((struct postgres_store *)s)->pg;
}

static int postgres_store_connect(struct pg **out,
				  const struct connection *conn,
				  struct error *err)
{
	static const struct pg_options options = { .pin = true,
						   .application = "state" };
	struct pg *pg = NULL;
	int rc = pg_open(&pg, conn, &options, err);

	if (!rc)
		rc = postgres_store_enter(pg, true, err);
	if (rc) {
		pg_close(pg);
		error_prefix(err, "state store");
		return rc;
	}
	*out = pg;
	return 0;
}

/* A server that was restarted, or has ended our session, is back. Statements
 * under way have failed, but new ones may work. */
static int postgres_store_ready(struct store *base, struct error *err)
{
	struct postgres_store *s = (struct postgres_store *)base;
	struct pg *pg = NULL;
	int rc;

	if (pg_alive(s->pg) || s->in_transaction)
		return 0;
	rc = postgres_store_connect(&pg, s->conn, err);
	if (rc)
		return rc;
	pg_close(s->pg);
	s->pg = pg;
	return 0;
}

static int postgres_store_start(struct store *base, const char *sql,
				struct error *err)
{
	struct postgres_store *s = (struct postgres_store *)base;
	int rc = postgres_store_ready(base, err);

	if (!rc)
		rc = pg_exec(s->pg, sql, err);
	s->in_transaction = !rc;
	/* If it failed, it may have begun all the same. */
	s->begun = true;
	s->defers = false;
	return rc;
}

/* A statement that answers nothing waits for the next one that does, or for the
 * end of the transaction: one message has them all. */
static void postgres_store_wait(struct postgres_store *s, const char *sql,
				const char *const *params, int n)
{
	pg_ahead_add(s->pg, sql, n, params);
	s->waiting++;
	for (int i = 0; i < n; i++)
		s->waiting_bytes += params[i] ? strlen(params[i]) : 0;
}

/* More is sent at once, as memory is bounded. */
static bool postgres_store_is_full(const struct postgres_store *s)
{
	return s->waiting >= STORE_MOST_WAITING ||
	       s->waiting_bytes >= STORE_MOST_BYTES;
}

/* Send what waits; the answer to the last can then be had by pg_query(). */
static int postgres_store_send(struct postgres_store *s, struct error *err)
{
	int rc = pg_ahead_ask_kept(s->pg, err);

	s->begun = true;
	s->waiting = s->waiting_bytes = 0;
	return rc ? rc : pg_ahead_failed(s->pg, err);
}

static void postgres_store_rollback(struct store *base)
{
	struct postgres_store *s = (struct postgres_store *)base;
	struct error ignored = ERROR_INIT;

	s->in_transaction = false;
	s->waiting = s->waiting_bytes = 0;
	pg_ahead_drop(s->pg);
	/* On a lost connection the server rolls back by itself. */
	if (s->begun && pg_alive(s->pg))
		pg_exec(s->pg, "ROLLBACK", &ignored);
	s->begun = false;
}

/* CREATE SCHEMA IF NOT EXISTS asks for the right to create one even where it
 * exists. So look for it first, and afterwards check that it is ours, for
 * somebody may have been quicker. */
static int postgres_store_make_schema(struct pg *pg, struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(pg, &r,
			  "SELECT 1 FROM pg_namespace\n"
			  "WHERE nspname = 'tidemark'",
			  "t", 0, NULL, err);

	if (!rc && pg_rows(r) == 0)
		rc = pg_exec(pg, "CREATE SCHEMA tidemark", err);
	pg_result_free(r);
	return rc ? rc : postgres_store_enter(pg, false, err);
}

/* Whoever has had one of its tables, or the migrations' lock, the longest. */
static const char postgres_store_holder_sql[] =
	"SELECT l.pid FROM pg_locks AS l\n"
	"JOIN pg_database AS d ON d.oid = l.database\n"
	"  AND d.datname = current_database()\n"
	"LEFT JOIN pg_class AS c ON c.oid = l.relation\n"
	"LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid\n"
	"WHERE l.granted AND l.pid <> pg_backend_pid()\n"
	"  AND (l.locktype = 'advisory' AND l.objsubid = 1\n"
	"       AND (l.classid::bigint << 32 | l.objid::bigint)\n"
	"         = " POSTGRES_STORE_LOCK "\n"
	"    OR c.relnamespace = to_regnamespace('tidemark')\n"
	"       AND l.mode <> 'AccessShareLock')\n"
	"ORDER BY a.xact_start";

/* The code of a failed statement; `err` may be NULL. */
static int postgres_store_failed(struct store *s, int rc, struct error *err)
{
	char *what;

	if (!err || !pg_lock_missed(err))
		return store_damaged(rc,
				     "or the role may not use the schema "
				     "tidemark: grant that, or drop the "
				     "schema",
				     err);
	postgres_store_rollback(s);
	what = xstrfmt("state store %s is locked by another process", s->where);
	pg_lock_explain(postgres_store_pg(s), what, postgres_store_holder_sql,
			0, NULL, err);
	free(what);
	/* A lock on the tables says nothing about a lease in them. */
	err->code = ERROR_TRANSIENT;
	return -ERROR_TRANSIENT;
}

static int postgres_store_commit(struct store *base, struct error *err)
{
	struct postgres_store *s = (struct postgres_store *)base;
	int rc;

	s->in_transaction = false;
	if (!s->waiting)
		return pg_exec(s->pg, "COMMIT", err);
	postgres_store_wait(s, "COMMIT", NULL, 0);
	rc = postgres_store_send(s, err);
	pg_ahead_drop(s->pg);
	return rc ? postgres_store_failed(base, rc, err) : 0;
}

/* Waiting statements are sent first: the script belongs behind them. */
static int postgres_store_script(struct store *s, const char *sql,
				 struct error *err)
{
	struct postgres_store *own = (struct postgres_store *)s;
	char *script = xstrfmt("SET LOCAL search_path = tidemark, pg_catalog;\n"
			       "%s\n;\nSET LOCAL search_path = pg_catalog, "
			       "tidemark, pg_temp",
			       sql);
	int rc = own->waiting ? postgres_store_send(own, err) : 0;

	if (!rc)
		rc = pg_exec(own->pg, script, err);
	free(script);
	return rc ? postgres_store_failed(s, rc, err) : 0;
}

/* Tables that a crash of the server took back would be missed by a run that
 * goes on. */
static int postgres_store_begin_migration(struct store *s, struct error *err)
{
	int rc = postgres_store_start(
		s,
		"BEGIN; SET LOCAL synchronous_commit = on;"
		"SELECT pg_advisory_xact_lock(" POSTGRES_STORE_LOCK ")",
		err);

	return rc ? postgres_store_failed(s, rc, err)
		  : postgres_store_make_schema(postgres_store_pg(s), err);
}

static int postgres_store_begin(struct store *s, enum store_begin how,
				struct error *err)
{
	struct postgres_store *own = (struct postgres_store *)s;
	int rc;

	if (how == STORE_MIGRATION)
		return postgres_store_begin_migration(s, err);
	rc = postgres_store_ready(s, err);
	if (rc)
		return rc;
	pg_ahead_drop(own->pg);
	own->in_transaction = true;
	own->defers = true;
	own->begun = false;
	postgres_store_wait(own, "BEGIN", NULL, 0);
	if (how == STORE_DURABLE)
		postgres_store_wait(own, "SET LOCAL synchronous_commit = on",
				    NULL, 0);
	return 0;
}

static int postgres_store_row(const struct pg_result *r, int row,
			      store_row callback, void *ctx, struct error *err)
{
	int n = pg_columns(r);
	const char **values = xcalloc((size_t)n + 1, sizeof(*values));
	int rc;

	for (int i = 0; i < n; i++)
		values[i] = pg_value(r, row, i);
	rc = callback(ctx, values, err);
	free(values);
	return rc;
}

static int postgres_store_run(struct store *s, const char *sql,
			      const char *const *params, int n_params,
			      const char *shape, store_row row, void *ctx,
			      struct error *err)
{
	struct postgres_store *own = (struct postgres_store *)s;
	bool defers = own->in_transaction && own->defers && !row && !shape;
	struct pg_result *r = NULL;
	int rc = postgres_store_ready(s, err);

	if (!rc && (defers || own->waiting))
		postgres_store_wait(own, sql, params, n_params);
	if (!rc && defers && !postgres_store_is_full(own))
		return 0;
	if (!rc && own->waiting)
		rc = postgres_store_send(own, err);
	if (!rc)
		rc = pg_query(own->pg, &r, sql, shape, n_params, params, err);
	if (rc)
		return postgres_store_failed(s, rc, err);
	for (int i = 0; !rc && row && i < pg_rows(r); i++)
		rc = postgres_store_row(r, i, row, ctx, err);
	pg_result_free(r);
	return rc;
}

static const struct store_dialect postgres_store_dialect = {
	/* In a schema that another process has made since we looked for it, no
	 * table is found by its name. One that we may not use is in no path,
	 * either: that is told by who reads its tables. */
	.tables_sql = "SELECT c.relname FROM pg_class AS c\n"
		      "JOIN pg_namespace AS n ON n.oid = c.relnamespace\n"
		      "WHERE n.nspname = 'tidemark'\n"
		      "  AND (n.nspname = ANY (current_schemas(false))\n"
		      "    OR NOT has_schema_privilege(n.oid, 'USAGE'))\n"
		      "  AND c.relkind IN ('r', 'p', 'v', 'm', 'f')",
	.barred_sql = "SELECT 'role ' || quote_ident(current_user) ||\n"
		      "  ' may not make schema tidemark, where the history is "
		      "kept',\n"
		      "  'As an administrator: CREATE SCHEMA tidemark "
		      "AUTHORIZATION '\n"
		      "  || quote_ident(current_user)\n"
		      "WHERE NOT has_database_privilege(current_database(), "
		      "'CREATE')\n"
		      "  AND NOT EXISTS (SELECT FROM pg_namespace\n"
		      "                  WHERE nspname = 'tidemark')",
	.now_sql = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
	.for_update = " FOR UPDATE",
	.skip_locked = " FOR UPDATE SKIP LOCKED",
	.lock_chunks_sql = "LOCK TABLE chunks IN SHARE ROW EXCLUSIVE MODE",
	.migrations = &migrations_postgres,
};

static void postgres_store_close(struct store *base)
{
	struct postgres_store *s = (struct postgres_store *)base;

	pg_close(s->pg);
	free(s->base.where);
	free(s);
}

static int postgres_store_open(struct store **out,
			       const struct connection *conn, struct error *err)
{
	struct postgres_store *s;
	struct pg *pg = NULL;
	int rc = postgres_store_connect(&pg, conn, err);

	if (rc)
		return rc;
	s = xcalloc(1, sizeof(*s));
	s->base.ops = &postgres_store;
	s->base.where = xstrdup(conn->url.shown);
	s->conn = conn;
	s->pg = pg;
	*out = &s->base;
	return 0;
}

static const struct url_option postgres_store_options[] = {
	{ NULL, NULL, NULL },
};

const struct store_ops postgres_store = {
	.name = "postgres",
	.options = postgres_store_options,
	.dialect = &postgres_store_dialect,
	.grants = postgres_store_grants,
	.open = postgres_store_open,
	.begin = postgres_store_begin,
	.commit = postgres_store_commit,
	.rollback = postgres_store_rollback,
	.script = postgres_store_script,
	.run = postgres_store_run,
	.close = postgres_store_close,
};
