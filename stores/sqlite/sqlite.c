#include <stdlib.h>
#include <string.h>

#include "clients/answer.h"
#include "clients/sqlite.h"
#include "core/base/alloc.h"
#include "core/base/trust.h"
#include "core/plugin/store.h"
#include "stores/sqlite/owned.h"

#define SQLITE_STORE_MOST_COLUMNS 32

extern const struct store_ops sqlite_store;
extern const struct migrations migrations_sqlite;

/* A run asks the same dozen questions for each pipeline. */
#define SQLITE_STORE_KEPT 32

/* A statement that is ready to be run again. */
struct sqlite_store_kept {
	char *sql;
	struct sqlite_statement *st; /* NULL: it is being run */
};

struct sqlite_store {
	struct store base;
	struct sqlite *db;
	struct sqlite_store_kept kept[SQLITE_STORE_KEPT];
	size_t next; /* the place that is given up next */
};

static struct sqlite *sqlite_store_db(struct store *s)
{
	return ((struct sqlite_store *)s)->db;
}

/* The code that a store may answer with. A lock on the file says nothing about
 * a lease in it: whoever has it, a backup or a shell, lets go in a while. `err`
 * may be NULL. */
static int sqlite_store_failed(int rc, struct error *err)
{
	if (rc != -ERROR_STATE || !err)
		return store_damaged(rc, "move the file away", err);
	err->code = ERROR_TRANSIENT;
	return error_hint(err, "no mark is lost: the next run goes on from "
			       "the one at the destination");
}

/* It cannot be changed inside a transaction, and stays: a run that has written
 * a dead letter may write more. A file that is gone takes all of them and keeps
 * them from everybody. */
static int sqlite_store_be_durable(struct store *s, struct error *err)
{
	if (sqlite_is_gone(sqlite_store_db(s)))
		return error_set(err, ERROR_ACCESS,
				 "the file of the state store was moved or "
				 "deleted while this run had it open, and what "
				 "it has to keep would be lost; run again");
	return sqlite_store_failed(sqlite_exec(sqlite_store_db(s),
					       "PRAGMA synchronous = FULL",
					       err),
				   err);
}

static int sqlite_store_begin(struct store *s, enum store_begin how,
			      struct error *err)
{
	int rc = how == STORE_DURABLE ? sqlite_store_be_durable(s, err) : 0;

	return rc ? rc
		  : sqlite_store_failed(sqlite_begin(sqlite_store_db(s), err),
					err);
}

static int sqlite_store_commit(struct store *s, struct error *err)
{
	return sqlite_store_failed(sqlite_commit(sqlite_store_db(s), err), err);
}

static void sqlite_store_rollback(struct store *s)
{
	sqlite_rollback(sqlite_store_db(s));
}

static int sqlite_store_script(struct store *s, const char *sql,
			       struct error *err)
{
	return sqlite_store_failed(sqlite_exec(sqlite_store_db(s), sql, err),
				   err);
}

static bool sqlite_store_is_null(const void *result, size_t row, size_t column)
{
	(void)row;
	return !((const char *const *)result)[column];
}

static int sqlite_store_row(struct store *s, struct sqlite_statement *st,
			    const char *shape, store_row row, void *ctx,
			    struct error *err)
{
	const char *values[SQLITE_STORE_MOST_COLUMNS] = { NULL };
	struct answer a = { .result = values,
			    .n_rows = 1,
			    .is_null = sqlite_store_is_null };
	int rc;

	a.n_columns = (size_t)sqlite_columns(st);
	for (size_t i = 0; i < a.n_columns && i < ARRAY_SIZE(values); i++)
		values[i] = sqlite_str(st, (int)i);
	rc = answer_check(&a, shape, s->where, err);
	return !rc && row ? row(ctx, values, err) : rc;
}

/* The place of a statement: its own, or else the one that has stood longest. */
static struct sqlite_store_kept *sqlite_store_place(struct sqlite_store *s,
						    const char *sql)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->kept); i++)
		if (s->kept[i].sql && !strcmp(s->kept[i].sql, sql))
			return &s->kept[i];
	return &s->kept[s->next++ % ARRAY_SIZE(s->kept)];
}

static void sqlite_store_forget(struct sqlite_store_kept *k)
{
	sqlite_finalize(k->st);
	free(k->sql);
	memset(k, 0, sizeof(*k));
}

static void sqlite_store_keep(struct sqlite_store *s, const char *sql,
			      struct sqlite_statement *st)
{
	struct sqlite_store_kept *k = sqlite_store_place(s, sql);

	sqlite_store_forget(k);
	k->sql = xstrdup(sql);
	k->st = st;
}

static int sqlite_store_take(struct sqlite_store *s, const char *sql,
			     struct sqlite_statement **out, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->kept); i++) {
		struct sqlite_store_kept *k = &s->kept[i];

		if (!k->st || strcmp(k->sql, sql) != 0)
			continue;
		*out = k->st;
		k->st = NULL;
		return 0;
	}
	return sqlite_prepare(s->db, out, sql, err);
}

/* Numbers are bound as text: the columns' INTEGER affinity makes them
 * numbers again. */
static int sqlite_store_run(struct store *base, const char *sql,
			    const char *const *params, int n_params,
			    const char *shape, store_row row, void *ctx,
			    struct error *err)
{
	struct sqlite_store *s = (struct sqlite_store *)base;
	struct sqlite_statement *st = NULL;
	int rc = sqlite_store_take(s, sql, &st, err);

	for (int i = 0; !rc && i < n_params; i++)
		sqlite_bind_str(st, i + 1, params[i], -1);
	while (!rc && (rc = sqlite_step(st, err)) == 1)
		rc = sqlite_store_row(base, st, shape, row, ctx, err);
	/* It has been reset; the parameters are the caller's no more. */
	if (rc)
		sqlite_finalize(st);
	else
		sqlite_store_keep(s, sql, st);
	return sqlite_store_failed(rc, err);
}

static const struct store_dialect sqlite_store_dialect = {
	.tables_sql = "SELECT name FROM sqlite_schema\n"
		      "WHERE type IN ('table', 'view')\n"
		      "  AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
	.barred_sql = "",
	/* To the millisecond; %f is the second with its fraction. */
	.now_sql = "(CAST(strftime('%s', 'now') AS INTEGER) * 1000000 + "
		   "CAST(substr(strftime('%f', 'now'), 4) AS INTEGER) * 1000)",
	.for_update = "",
	.skip_locked = "",
	.lock_chunks_sql = "",
	.migrations = &migrations_sqlite,
	.is_file = true,
};

static void sqlite_store_close(struct store *base)
{
	struct sqlite_store *s = (struct sqlite_store *)base;

	for (size_t i = 0; i < ARRAY_SIZE(s->kept); i++)
		sqlite_store_forget(&s->kept[i]);
	sqlite_close(s->db);
	free(s->base.where);
	free(s);
}

static int sqlite_store_open(struct store **out, const struct connection *conn,
			     struct error *err)
{
	static const struct sqlite_options options = {
		.create = true,
		.private = true,
		.wal = true,
		.keep_log = true,
		/* Transactions here are short, and a failed run comes back
		 * to say that it has failed. */
		.busy_timeout_us = SQLITE_BUSY_US / 2,
	};
	struct sqlite_store *s;
	struct sqlite *db = NULL;
	int rc = trust_check(conn->url.path, TRUST_STATE, "the state store",
			     err);

	if (rc)
		return rc;
	rc = sqlite_open(&db, conn->url.path, &options, err);
	if (!rc)
		rc = sqlite_exec(db, "PRAGMA foreign_keys = ON", err);
	/* Dead letters hold rows: what is deleted is overwritten. */
	if (!rc)
		rc = sqlite_exec(db, "PRAGMA secure_delete = ON", err);
	rc = sqlite_store_failed(rc, err);
	if (!rc)
		rc = sqlite_store_check_owned(db, err);
	if (rc) {
		sqlite_close(db);
		error_prefix(err, "state store");
		return rc;
	}
	s = xcalloc(1, sizeof(*s));
	s->base.ops = &sqlite_store;
	s->base.where = xstrdup(conn->url.path);
	s->db = db;
	*out = &s->base;
	return 0;
}

static const struct url_option sqlite_store_options[] = {
	{ NULL, NULL, NULL },
};

const struct store_ops sqlite_store = {
	.name = "sqlite",
	.options = sqlite_store_options,
	.dialect = &sqlite_store_dialect,
	.open = sqlite_store_open,
	.begin = sqlite_store_begin,
	.commit = sqlite_store_commit,
	.rollback = sqlite_store_rollback,
	.script = sqlite_store_script,
	.run = sqlite_store_run,
	.close = sqlite_store_close,
};
