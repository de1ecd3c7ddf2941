#include "clients/sqlite_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clients/libraries.h"
#include "clients/sqlite_errors.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/file_id.h"
#include "core/base/process.h"
#include "core/base/stop.h"
#include "core/base/strbuf.h"
#include "core/base/trust.h"

/* The longest pause between two looks at a lock. */
#define SQLITE_WAIT_MOST_MS 20
/* How long a lock is still waited for once the process is to end. */
#define SQLITE_STOP_PATIENCE_US (2 * US_PER_SECOND)

struct sqlite_function {
	sqlite_predicate predicate;
	void *ctx;
};

/* In a write-ahead log the locks of writers are on the file beside it; without
 * one a reader stands in the way as well. */
static int64_t sqlite_holder(const char *path)
{
	char *index = xstrfmt("%s-shm", path);
	int64_t pid = process_locking(path, true);

	if (!pid)
		pid = process_locking(index, true);
	free(index);
	return pid ? pid : process_locking(path, false);
}

static void sqlite_explain_busy(const char *path, struct error *err)
{
	int64_t pid = sqlite_holder(path);
	char *name = process_name(pid);

	if (pid)
		error_hint(err,
			   "Process %" PRId64 " (%s) is using it; wait for it, "
			   "or stop it",
			   pid, name);
	else
		error_hint(err, "Another process is using it; wait for it, or "
				"stop it");
	free(name);
}

int sqlite_fail_code(struct error *err, const char *path, int code,
		     bool running, const char *message)
{
	const char *hint = sqlite_error_hint(code);
	bool busy = (code & 0xff) == SQLITE_BUSY;
	char *told = sqlite_error_told(code, running, message);
	int rc = error_set(err,
			   busy && stop_requested() ? ERROR_STOPPED
						    : sqlite_error_code(code),
			   "SQLite file %s: %s", path, told);

	free(told);
	if (err && busy && err->code == ERROR_STATE)
		snprintf(err->server_code, sizeof(err->server_code), FILE_BUSY);
	else if (err && !err->server_code[0])
		snprintf(err->server_code, sizeof(err->server_code), "%d",
			 code);
	if (*hint)
		error_hint(err, "%s", hint);
	if (busy)
		sqlite_explain_busy(path, err);
	return rc;
}

int sqlite_fail(struct sqlite *db, bool running, struct error *err)
{
	return sqlite_fail_code(err, db->path,
				sqlite3_extended_errcode(db->handle), running,
				sqlite3_errmsg(db->handle));
}

/* The directories above `path`, 0700 where they are missing. */
static int sqlite_make_directories(const char *path, struct error *err)
{
	char *copy = xstrdup(path);
	int rc = 0;

	for (char *p = strchr(copy + 1, '/'); p && !rc;
	     p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(copy, 0700) && errno != EEXIST)
			rc = error_set(err, ERROR_ACCESS,
				       "cannot make directory %s: %s", copy,
				       strerror(errno));
		*p = '/';
	}
	free(copy);
	return rc;
}

/* Made here and not by SQLite, so that the mode is right from the start; the
 * log and shared-memory files take it over. */
static int sqlite_make_file(const char *path,
			    const struct sqlite_options *options,
			    struct error *err)
{
	int fd;

	if (access(path, F_OK) == 0)
		return 0;
	if (options->private && sqlite_make_directories(path, err))
		return -ERROR_ACCESS;
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC,
		  options->private ? 0600 : 0666);
	if (fd < 0)
		return error_set(err, ERROR_ACCESS,
				 "cannot make SQLite file %s: %s. Check that "
				 "its directory exists and can be written",
				 path, strerror(errno));
	close(fd);
	return 0;
}

/* SQLite's own waiting ends neither early after a signal nor, between two short
 * transactions of another process, soon enough. */
static int sqlite_wait(void *ctx, int tries)
{
	struct sqlite *db = ctx;
	int64_t now = clock_monotonic_us();
	int64_t patience = db->busy_timeout_us;

	if (tries == 0)
		db->busy_since_us = now;
	if (stop_requested() && patience > SQLITE_STOP_PATIENCE_US)
		patience = SQLITE_STOP_PATIENCE_US;
	if (now - db->busy_since_us >= patience)
		return 0;
	poll(NULL, 0,
	     tries < SQLITE_WAIT_MOST_MS ? tries + 1 : SQLITE_WAIT_MOST_MS);
	return 1;
}

/* Two processes that switch a new file at once would each wait for a lock that
 * the other holds. SQLite's own waiting keeps the lock it has. Trying anew lets
 * go of it. */
static int sqlite_use_wal(struct sqlite *db, struct error *err)
{
	int code, tries = 0, rc = 0;

	sqlite3_busy_handler(db->handle, NULL, NULL);
	do
		code = sqlite3_exec(db->handle, "PRAGMA journal_mode = WAL",
				    NULL, NULL, NULL);
	while ((code & 0xff) == SQLITE_BUSY && sqlite_wait(db, tries++));
	if (code != SQLITE_OK)
		rc = sqlite_fail(db, false, err);
	sqlite3_busy_handler(db->handle, sqlite_wait, db);
	return rc ? rc : sqlite_exec(db, "PRAGMA synchronous = NORMAL", err);
}

static int sqlite_set_up(struct sqlite *db,
			 const struct sqlite_options *options, bool new_file,
			 struct error *err)
{
	bool wal = options->wal || (options->wal_if_new && new_file);
	int rc;

	sqlite3_extended_result_codes(db->handle, 1);
	db->busy_timeout_us = options->busy_timeout_us;
	sqlite3_busy_handler(db->handle, sqlite_wait, db);
	/* A misspelt "column" is an error, not a text. */
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	/* Nobody writes past the tables' own rules. trusted_schema stays on:
	 * without it 3.40 refuses indexes and views that call json_extract().
	 */
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
			  options->keep_log ? 1 : 0, NULL);
	rc = sqlite_exec(db, "PRAGMA schema_version", err);
	if (!rc && wal && !options->read_only)
		rc = sqlite_use_wal(db, err);
	return rc;
}

/* SQLite looks for these beside the file. A directory that was made meanwhile,
 * by somebody else, is looked at as well. */
static int sqlite_trust(const char *path, const struct sqlite_options *options,
			struct error *err)
{
	static const char *const beside[] = { "-wal", "-shm", "-journal",
					      NULL };
	int rc = options->private ? trust_check(path, TRUST_STATE,
						"the state store", err)
				  : 0;

	return rc ? rc : trust_beside(path, beside, err);
}

/* Nobody asks how much memory SQLite uses; not counting it saves a lock on
 * each allocation. */
static void sqlite_configure(void)
{
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static void sqlite_end(void *file)
{
	struct sqlite *db = file;

	sqlite_beside_remove(db);
	sqlite3_close_v2(db->handle);
	pool_leave(&db->slot);
	free(db->function);
	free(db->path);
	free(db);
}

struct sqlite_wish {
	const char *path;
	const struct sqlite_options *options;
	bool new_file;
};

static int sqlite_open_new(void **out, struct pool_slot *slot, void *ctx,
			   struct error *err)
{
	const struct sqlite_wish *wish = ctx;
	int flags = SQLITE_OPEN_NOMUTEX |
		    (wish->options->read_only ? SQLITE_OPEN_READONLY
					      : SQLITE_OPEN_READWRITE);
	struct sqlite *db = xcalloc(1, sizeof(*db));
	int rc = 0;

	db->slot = *slot;
	db->slot.file = true;
	db->path = xstrdup(wish->path);
	if (sqlite3_open_v2(wish->path, &db->handle, flags, NULL) != SQLITE_OK)
		rc = sqlite_fail(db, false, err);
	if (!rc)
		rc = sqlite_set_up(db, wish->options, wish->new_file, err);
	if (!rc)
		sqlite_beside_add(db, !wish->options->read_only);
	if (rc)
		sqlite_end(db);
	else
		*out = db;
	return rc;
}

/* Another file may have the name by now. */
static bool sqlite_is_fit(void *file, void *ctx)
{
	const struct sqlite_wish *wish = ctx;
	struct error ignored = ERROR_INIT;

	return !wish->new_file && !sqlite_is_gone(file) &&
	       !sqlite_exec(file, "PRAGMA schema_version", &ignored);
}

static int sqlite_open_pooled(struct sqlite **out, struct sqlite_wish *wish,
			      struct error *err)
{
	static const struct pool_client client = { sqlite_is_fit,
						   sqlite_open_new,
						   sqlite_end };
	const struct connection place = { .name = (char *)wish->path };
	const struct sqlite_options *o = wish->options;
	char *key = xstrfmt("sqlite %d%d%d%d%d%d %" PRId64 " %s", o->create,
			    o->private, o->read_only, o->wal, o->wal_if_new,
			    o->keep_log, o->busy_timeout_us, wish->path);
	void *file = NULL;
	int rc = pool_open(&file, &client, &place, key, false, wish, err);

	free(key);
	if (!rc)
		*out = file;
	return rc;
}

int sqlite_open(struct sqlite **out, const char *path,
		const struct sqlite_options *options, struct error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct stat st;
	struct sqlite_wish wish = { path, options,
				    stat(path, &st) || st.st_size == 0 };
	int rc = library_load(&library_sqlite, err);

	if (rc)
		return rc;
	pthread_once(&once, sqlite_configure);
	if (options->create)
		rc = sqlite_make_file(path, options, err);
	if (!rc)
		rc = sqlite_trust(path, options, err);
	return rc ? rc : sqlite_open_pooled(out, &wish, err);
}

/* A dry run's copies of rows, for one. */
static bool sqlite_has_temporary(struct sqlite *db)
{
	sqlite3_stmt *st = NULL;
	bool any = sqlite3_prepare_v2(db->handle,
				      "SELECT 1 FROM temp.sqlite_master", -1,
				      &st, NULL) != SQLITE_OK ||
		   sqlite3_step(st) != SQLITE_DONE;

	sqlite3_finalize(st);
	return any;
}

/* Nothing of its user stays. */
static bool sqlite_may_rest(struct sqlite *db)
{
	struct error ignored = ERROR_INIT;

	if (db->changed || *db->path == ':' || stop_requested() ||
	    sqlite3_next_stmt(db->handle, NULL) || sqlite_has_temporary(db))
		return false;
	sqlite_rollback(db);
	if (db->function && sqlite3_create_function_v2(
				    db->handle, db->function, 2, SQLITE_UTF8,
				    NULL, NULL, NULL, NULL, NULL) != SQLITE_OK)
		return false;
	xassign(&db->function, NULL);
	return sqlite3_get_autocommit(db->handle) &&
	       !sqlite_exec(db, "PRAGMA query_only = OFF", &ignored);
}

void sqlite_close(struct sqlite *db)
{
	if (db && sqlite_may_rest(db))
		pool_give(&db->slot, db, sqlite_end);
	else if (db)
		sqlite_end(db);
}

void sqlite_interrupt_all(struct sqlite *db)
{
	sqlite3_interrupt(db->handle);
}

const char *sqlite_path(const struct sqlite *db)
{
	return db->path;
}

int64_t sqlite_user(const struct sqlite *db)
{
	return sqlite_holder(db->path);
}

bool sqlite_is_repeat(const struct error *err)
{
	long code = strtol(err->server_code, NULL, 10);

	return code == SQLITE_CONSTRAINT_UNIQUE ||
	       code == SQLITE_CONSTRAINT_PRIMARYKEY ||
	       code == SQLITE_CONSTRAINT_ROWID;
}

int sqlite_exec(struct sqlite *db, const char *sql, struct error *err)
{
	if (sqlite3_exec(db->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
		return sqlite_fail(db, false, err);
	return 0;
}

int sqlite_execf(struct sqlite *db, struct error *err, const char *fmt, ...)
{
	struct strbuf sql = STRBUF_INIT;
	va_list ap;
	int rc;

	va_start(ap, fmt);
	strbuf_vaddf(&sql, fmt, ap);
	va_end(ap);
	rc = sqlite_exec(db, sql.data, err);
	strbuf_release(&sql);
	return rc;
}

int64_t sqlite_changes_count(struct sqlite *db)
{
	return sqlite3_changes(db->handle);
}

bool sqlite_is_gone(struct sqlite *db)
{
	int moved = 0;

	return sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_HAS_MOVED,
				    &moved) == SQLITE_OK &&
	       moved;
}

bool sqlite_column_folds(struct sqlite *db, const char *in, const char *table,
			 const char *column)
{
	const char *collation = NULL;

	return sqlite3_table_column_metadata(db->handle, in, table, column,
					     NULL, &collation, NULL, NULL,
					     NULL) == SQLITE_OK &&
	       sqlite3_stricmp(collation, "BINARY") != 0;
}

int sqlite_begin(struct sqlite *db, struct error *err)
{
	return sqlite_exec(db, "BEGIN IMMEDIATE", err);
}

int sqlite_commit(struct sqlite *db, struct error *err)
{
	return sqlite_exec(db, "COMMIT", err);
}

bool sqlite_in_transaction(struct sqlite *db)
{
	return !sqlite3_get_autocommit(db->handle);
}

void sqlite_rollback(struct sqlite *db)
{
	/* Some errors (a full disk) have rolled back already. */
	if (!sqlite3_get_autocommit(db->handle))
		sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
}

static void sqlite_call_predicate(sqlite3_context *context, int n,
				  sqlite3_value **values)
{
	const struct sqlite_function *f = sqlite3_user_data(context);
	const char *a = (const char *)sqlite3_value_text(values[0]);
	const char *b = (const char *)sqlite3_value_text(values[1]);

	(void)n;
	sqlite3_result_int(
		context,
		f->predicate(f->ctx, a, (size_t)sqlite3_value_bytes(values[0]),
			     b, (size_t)sqlite3_value_bytes(values[1])));
}

int sqlite_add_predicate(struct sqlite *db, const char *name,
			 sqlite_predicate predicate, void *ctx,
			 struct error *err)
{
	struct sqlite_function *f = xcalloc(1, sizeof(*f));

	db->changed |= db->function && strcmp(db->function, name) != 0;
	xassign(&db->function, name);
	f->predicate = predicate;
	f->ctx = ctx;
	/* SQLite frees `f` with the connection, and also when this fails. */
	if (sqlite3_create_function_v2(
		    db->handle, name, 2, SQLITE_UTF8 | SQLITE_DIRECTONLY, f,
		    sqlite_call_predicate, NULL, NULL, free) != SQLITE_OK)
		return sqlite_fail(db, false, err);
	return 0;
}
