#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "destinations/common/connection.h"
#include "destinations/common/refusals.h"
#include "destinations/sqlite/internal.h"

/* legacy_alter_table: a rename leaves views and triggers that name the target
 * as they are, so that they follow it to the new table. */
static const char session_sql[] = "PRAGMA legacy_alter_table = ON;"
				  "PRAGMA cache_size = -16384";

/* The directory has to be there: a path with a slip in it should not make
 * one. */
static int sqlite_target_check_directory(const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	char *directory =
		slash ? xstrndup(path,
				 slash == path ? 1 : (size_t)(slash - path))
		      : xstrdup(".");
	struct stat st;
	int rc = 0;

	if (stat(directory, &st) || !S_ISDIR(st.st_mode))
		rc = error_set(err, ERROR_ACCESS,
			       "SQLite file %s: its directory %s is not there. "
			       "Make it, or correct the path",
			       path, directory);
	else if (access(directory, W_OK))
		rc = error_set(err, ERROR_ACCESS,
			       "SQLite file %s: its directory %s cannot be "
			       "written",
			       path, directory);
	free(directory);
	return rc;
}

static int sqlite_target_open_file(struct sqlite_target *d, bool create,
				   struct error *err)
{
	/* A new file gets a write-ahead log: readers do not stop a load, nor a
	 * load them. The user's own keeps what it has. */
	struct sqlite_options options = {
		.create = create,
		.wal_if_new = create,
		.keep_log = d->keep_log,
		.busy_timeout_us = SQLITE_BUSY_US,
	};
	struct sqlite *db = NULL;
	int rc = sqlite_open(&db, d->path, &options, err);

	if (!rc)
		rc = sqlite_exec(db, session_sql, err);
	if (rc) {
		sqlite_close(db);
		return rc;
	}
	d->db = db;
	atomic_store(&d->running, db);
	return 0;
}

int sqlite_target_make(struct sqlite_target *d, struct error *err)
{
	return d->db ? 0 : sqlite_target_open_file(d, true, err);
}

static void sqlite_target_close(struct destination *base)
{
	struct sqlite_target *d = (struct sqlite_target *)base;

	if (!d)
		return;
	sqlite_target_statements_release(d);
	sqlite_target_mark_give_back(d);
	sqlite_close(d->db);
	place_release(&d->place);
	row_order_release(&d->order);
	strbuf_release(&d->texts);
	strbuf_release(&d->delivered);
	free(d->signature);
	free(d->replaced);
	sql_mark_release(&d->mark);
	free(d->path);
	free(d);
}

/* Has a killed process left a log? Whoever closes the file last folds it in,
 * unless told not to. Then it leaves one behind where there was none. */
static bool sqlite_target_has_log(const char *path)
{
	char *log = xstrfmt("%s-wal", path);
	struct stat st;
	bool has = !stat(log, &st) && st.st_size > 0;

	free(log);
	return has;
}

/* A file that is not there is made by prepare: looking makes none. */
static int sqlite_target_open(struct destination **out,
			      const struct connection *conn, struct error *err)
{
	struct sqlite_target *d = xcalloc(1, sizeof(*d));
	struct stat st;
	int rc;

	sqlite_target_mark_init(d, &sqlite_destination);
	d->path = xstrdup(conn->url.path);
	d->keep_log = conn->look && sqlite_target_has_log(d->path);
	strbuf_init(&d->texts);
	strbuf_init(&d->delivered);
	d->order = (struct row_order)ROW_ORDER_INIT;
	atomic_init(&d->running, NULL);
	atomic_init(&d->interrupted, false);
	if (stat(d->path, &st) || st.st_size == 0)
		rc = sqlite_target_check_directory(d->path, err);
	else
		rc = sqlite_target_open_file(d, false, err);
	if (rc)
		sqlite_target_close(&d->mark.keeper.base);
	else
		*out = &d->mark.keeper.base;
	return rc;
}

static int sqlite_target_execute(struct destination *base, const char *sql,
				 struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)base;
	int rc = sqlite_target_make(d, err);

	if (!rc)
		rc = sqlite_exec_one(d->db, sql, err);
	if (!d->db || !sqlite_in_transaction(d->db))
		return rc;
	sqlite_rollback(d->db);
	return rc ? rc : target_refuse_open(err);
}

static int sqlite_target_inspect(struct destination *base,
				 const struct target *target,
				 struct inspection *out, struct error *err)
{
	struct place place = { .table = NULL };
	int rc = sqlite_target_place_set(&place, target, err);

	if (!rc)
		rc = plan_inspect(&sqlite_target_plan_engine, base, &place,
				  target, out, err);
	place_release(&place);
	return rc;
}

static void sqlite_target_interrupt(struct destination *base)
{
	struct sqlite_target *d = (struct sqlite_target *)base;

	struct sqlite *db = atomic_load(&d->running);

	/* Between two rows no statement runs that could be interrupted. */
	atomic_store(&d->interrupted, true);
	if (db)
		sqlite_interrupt_all(db);
}

static const struct url_option sqlite_target_options[] = {
	{ NULL, NULL, NULL },
};

const struct destination_ops sqlite_destination = {
	.name = "sqlite",
	.options = sqlite_target_options,
	.traits = DESTINATION_TRANSACTIONAL,
	.execute = sqlite_target_execute,
	.open = sqlite_target_open,
	.inspect = sqlite_target_inspect,
	.prepare = sqlite_target_prepare,
	.recover = mark_keeper_recover,
	.load = sql_load,
	.remove = sql_load_remove,
	.preview = sql_load_preview,
	.explain = sqlite_target_explain,
	.finish = sqlite_target_finish,
	.set_watermark = mark_keeper_set,
	.forget = mark_keeper_forget,
	.others = mark_keeper_others,
	.raise = mark_keeper_raise,
	.identity = sqlite_target_identity,
	.session = connection_no_session,
	.interrupt = sqlite_target_interrupt,
	.close = sqlite_target_close,
};
