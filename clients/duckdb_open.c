#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clients/duckdb_errors.h"
#include "clients/duckdb_handle.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/file_id.h"
#include "core/base/new_file.h"
#include "core/base/pool.h"
#include "core/base/stop.h"
#include "core/base/strbuf.h"
#include "core/base/trust.h"
#include "core/base/turn.h"

/* How long a writer waits for readers of this process. */
#define DUCK_READERS_PATIENCE_S 10
/* Each time that a file has come to rest so often, no more of it than this
 * stays in memory. */
#define DUCK_SHRINK_EVERY 3
#define DUCK_REST_MEMORY  "4MB"

/* A database that is open in this process. DuckDB's lock on the file does not
 * keep a process from opening it twice, and this would ruin it. So the second
 * opener gets the same database. Without users it rests for a moment
 * (core/base/pool.h), for the next pipeline. */
struct duck_database {
	duckdb_database handle;
	char *path; /* as it was given; NULL: in memory */
	char *settings;
	dev_t device;
	ino_t inode;
	bool shared; /* a file: others may join */
	bool read_only;
	char *turns; /* the name of turns to write; owned */
	struct turn *turn; /* the one under way */
	unsigned rests; /* so often it came to rest */
	struct duck_kept *kept;
	struct duck *users;
	struct duck_database *next;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t rested; /* a reader has */
	struct duck_database *open;
} duck_all = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL };

/* All below: with the lock held. */

static struct duck_database *duck_find(const char *path)
{
	struct stat st;

	if (!path || stat(path, &st))
		return NULL;
	for (struct duck_database *d = duck_all.open; d; d = d->next) {
		if (d->shared && d->device == st.st_dev &&
		    d->inode == st.st_ino)
			return d;
	}
	return NULL;
}

static void duck_join(struct duck *db, struct duck_database *d)
{
	if (!d->users)
		pool_file_wake(d);
	db->database = d;
	db->kept = d->kept;
	db->in_transaction = false;
	db->next = d->users;
	d->users = db;
}

/* Nobody uses it. Writes the log into the file. */
static void duck_shut(struct duck_database *d)
{
	struct duck_database **open = &duck_all.open;

	pool_file_wake(d);
	while (*open != d)
		open = &(*open)->next;
	*open = d->next;
	duckdb_close(&d->handle);
	duck_kept_free(d->kept);
	free(d->turns);
	free(d->path);
	free(d->settings);
	free(d);
}

/* The file was deleted, or is about to be made anew: what rests is closed
 * before somebody else has its name, and its log's. */
static void duck_shut_resting(const char *path)
{
	for (struct duck_database *d = duck_all.open, *next; d; d = next) {
		next = d->next;
		if (!d->users && d->path && path && !strcmp(d->path, path))
			duck_shut(d);
	}
}

/* The time of rest is over. `file` may be in use again, or gone by now. */
static void duck_expire(void *file)
{
	struct duck_database *d;

	pthread_mutex_lock(&duck_all.lock);
	for (d = duck_all.open; d && d != file;)
		d = d->next;
	if (d && !d->users)
		duck_shut(d);
	pthread_mutex_unlock(&duck_all.lock);
}

/* After some failures a database refuses all work until it is opened anew. */
static bool duck_is_healthy(duckdb_connection connection)
{
	duckdb_result result;
	bool healthy;

	/* Outside of a transaction this fails, and nothing is lost. */
	duckdb_query(connection, "ROLLBACK", &result);
	duckdb_destroy_result(&result);
	healthy =
		duckdb_query(connection, "SELECT 1", &result) == DuckDBSuccess;
	duckdb_destroy_result(&result);
	return healthy;
}

/* Blocks of a table that is done with stay in memory up to the limit, and the
 * next pipeline has another table. A lower limit for a moment drops them. It is
 * refused if some are in use, and then all others are dropped. */
static void duck_shrink(duckdb_connection connection, const char *settings)
{
	static const char name[] = "memory_limit=";
	const char *limit = strstr(settings, name);
	char *back;

	if (!limit)
		return;
	limit += strlen(name);
	back = xstrfmt("SET memory_limit = '%.*s'", (int)strcspn(limit, "\n"),
		       limit);
	duckdb_query(connection, "SET memory_limit = '" DUCK_REST_MEMORY "'",
		     NULL);
	duckdb_query(connection, back, NULL);
	free(back);
}

/* The last to leave closes, or lets it rest. */
static void duck_leave(struct duck *db, bool rest)
{
	struct duck_database *d = db->database;
	struct duck **user = &d->users;

	rest = rest && d->shared && d->users == db && !db->next &&
	       db->connection && !stop_requested() &&
	       duck_is_healthy(db->connection);
	if (rest && d->rests++ % DUCK_SHRINK_EVERY == 0)
		duck_shrink(db->connection, d->settings);
	duckdb_disconnect(&db->connection);
	while (*user != db)
		user = &(*user)->next;
	*user = db->next;
	db->database = NULL;
	db->kept = NULL;
	if (!d->users && (!rest || !pool_file_rest(d, duck_expire)))
		duck_shut(d);
}

static int duck_configure(duckdb_config config, bool read_only,
			  const struct duck_setting *settings, size_t n,
			  struct error *err)
{
	if (read_only)
		duckdb_set_config(config, "access_mode", "READ_ONLY");
	for (size_t i = 0; i < n; i++)
		if (duckdb_set_config(config, settings[i].name,
				      settings[i].value) == DuckDBError)
			return error_set(err, ERROR_CONFIG,
					 "duckdb: %s cannot be %s",
					 settings[i].name, settings[i].value);
	return 0;
}

static int duck_open_failed(const char *path, const char *text,
			    struct error *err)
{
	bool setting = text && !strncmp(text, "Parser Error", 12);
	enum error_code code =
		text && !setting ? duck_error_code(text) : ERROR_CONFIG;

	/* Settings are parsed only here. */
	if (text && !strncmp(text, "Invalid Input Error", 19))
		code = ERROR_CONFIG;
	error_set(err, code, "duckdb: cannot open %s: %s",
		  path ? path : "a database in memory",
		  text ? text : "no reason given");
	if (err && code == ERROR_STATE)
		snprintf(err->server_code, sizeof(err->server_code), FILE_BUSY);
	return -(int)code;
}

/* `shown`: the file's name in errors. */
static int duck_open_file(duckdb_database *out, const char *path,
			  const char *shown, bool read_only,
			  const struct duck_setting *settings,
			  size_t n_settings, struct error *err)
{
	/* Names beside a file: the log, the logs that DuckDB 1.4 and later make
	 * in a checkpoint. The directory holds data that does not fit into
	 * memory. */
	static const char *const beside[] = { ".wal", ".wal.checkpoint",
					      ".wal.recovery", ".tmp", NULL };
	duckdb_config config = NULL;
	/* Without external access DuckDB opens the log of a linked file only if
	 * it was given the file's own name. */
	char *real = path ? realpath(path, NULL) : NULL, *text = NULL;
	int rc = real ? trust_beside(real, beside, err) : 0;

	if (!rc && duckdb_create_config(&config) == DuckDBError)
		rc = error_set(err, ERROR_BUG, "duckdb: no configuration");
	if (!rc)
		rc = duck_configure(config, read_only, settings, n_settings,
				    err);
	if (!rc && duckdb_open_ext(real ? real : path, out, config, &text) ==
			   DuckDBError)
		rc = duck_open_failed(shown, text, err);
	free(real);
	duckdb_free(text);
	duckdb_destroy_config(&config);
	return rc;
}

static char *duck_settings_text(const struct duck_setting *settings, size_t n)
{
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < n; i++)
		strbuf_addf(&text, "%s=%s\n", settings[i].name,
			    settings[i].value);
	return strbuf_detach(&text);
}

static int duck_open_new(const char *path, bool read_only,
			 const struct duck_setting *settings, size_t n_settings,
			 struct duck_database **out, struct error *err)
{
	struct duck_database *d = xcalloc(1, sizeof(*d));
	struct stat st;
	int rc = duck_open_file(&d->handle, path, path, read_only, settings,
				n_settings, err);

	if (rc) {
		free(d);
		return rc;
	}
	if (path && !stat(path, &st)) {
		d->device = st.st_dev;
		d->inode = st.st_ino;
		d->shared = true;
	}
	d->kept = duck_kept_new();
	d->turns = xstrfmt("duckdb %p", (void *)d);
	d->path = xstrdup(path);
	d->settings = duck_settings_text(settings, n_settings);
	d->read_only = read_only;
	d->next = duck_all.open;
	duck_all.open = d;
	*out = d;
	return 0;
}

/* DuckDB writes a new file's head in place, and opens none whose head is not
 * whole. */
int duck_make(const char *path, const struct duck_setting *settings,
	      size_t n_settings, struct error *err)
{
	duckdb_database handle = NULL;
	char *made = new_file_beside(path);
	int rc;

	pthread_mutex_lock(&duck_all.lock);
	duck_shut_resting(path);
	pthread_mutex_unlock(&duck_all.lock);
	rc = duck_open_file(&handle, made, path, false, settings, n_settings,
			    err);
	if (!rc) {
		duckdb_close(&handle);
		if (new_file_finish(made, path) && errno != EEXIST)
			rc = error_set(err, ERROR_ACCESS,
				       "duckdb: cannot make %s: %s", path,
				       strerror(errno));
	} else {
		unlink(made);
	}
	free(made);
	return rc;
}

static bool duck_is_read(const struct duck_database *d)
{
	for (const struct duck *user = d->users; user; user = user->next) {
		if (user->busy)
			return true;
	}
	return false;
}

/* Readers of this process hold the file open. A reader at rest gives it up, and
 * later shares the writer's database. */
static int duck_send_readers_away(const char *path, struct error *err)
{
	struct duck_database *d;
	struct timespec until;
	int timed_out = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += DUCK_READERS_PATIENCE_S;
	while ((d = duck_find(path)) && d->read_only && duck_is_read(d)) {
		if (timed_out)
			return error_set(err, ERROR_STATE,
					 "duckdb: %s is being read by this "
					 "process",
					 path);
		timed_out = pthread_cond_timedwait(&duck_all.rested,
						   &duck_all.lock, &until);
	}
	for (struct duck *user = d && d->read_only ? d->users : NULL; user;) {
		struct duck *next = user->next;
		duck_leave(user, false);
		user = next;
	}
	return 0;
}

/* One that rests serves only who would have opened it the same way; and a
 * reader, as it would if its writer were still there. */
static struct duck_database *duck_find_fit(const char *path, bool read_only,
					   const struct duck_setting *settings,
					   size_t n_settings)
{
	struct duck_database *d = duck_find(path);
	char *wanted;

	if (d && (d->users || (read_only && !d->read_only)))
		return d;
	wanted = duck_settings_text(settings, n_settings);
	if (d && (d->read_only != read_only || strcmp(d->settings, wanted))) {
		duck_shut(d);
		d = NULL;
	}
	if (!d)
		duck_shut_resting(path);
	free(wanted);
	return d;
}

static int duck_connect(struct duck *db, const char *path, bool read_only,
			const struct duck_setting *settings, size_t n_settings,
			struct error *err)
{
	struct duck_database *d = NULL;
	int rc = read_only ? 0 : duck_send_readers_away(path, err);

	if (!rc)
		d = duck_find_fit(path, read_only, settings, n_settings);
	if (!rc && !d)
		rc = duck_open_new(path, read_only, settings, n_settings, &d,
				   err);
	if (rc)
		return rc;
	duck_join(db, d);
	if (duckdb_connect(d->handle, &db->connection) == DuckDBError) {
		duck_leave(db, false);
		return error_set(err, ERROR_ACCESS, "duckdb: cannot connect");
	}
	return 0;
}

int duck_open(struct duck **out, const char *path,
	      const struct duck_setting *settings, size_t n_settings,
	      struct error *err)
{
	struct duck *db = xcalloc(1, sizeof(*db));
	int rc;

	pthread_mutex_lock(&duck_all.lock);
	rc = duck_connect(db, path, false, settings, n_settings, err);
	pthread_mutex_unlock(&duck_all.lock);
	if (rc)
		free(db);
	else
		*out = db;
	return rc;
}

struct duck *duck_reader(const char *path)
{
	struct duck *db = xcalloc(1, sizeof(*db));

	db->path = xstrdup(path);
	return db;
}

int duck_wake(struct duck *db, const struct duck_setting *settings,
	      size_t n_settings, struct error *err)
{
	int rc = 0;

	pthread_mutex_lock(&duck_all.lock);
	if (!db->database)
		rc = duck_connect(db, db->path, true, settings, n_settings,
				  err);
	db->busy = !rc;
	pthread_mutex_unlock(&duck_all.lock);
	return rc;
}

void duck_rest(struct duck *db)
{
	pthread_mutex_lock(&duck_all.lock);
	db->busy = false;
	pthread_cond_broadcast(&duck_all.rested);
	pthread_mutex_unlock(&duck_all.lock);
}

void duck_close(struct duck *db)
{
	if (!db)
		return;
	pthread_mutex_lock(&duck_all.lock);
	if (db->database)
		duck_leave(db, true);
	pthread_cond_broadcast(&duck_all.rested);
	pthread_mutex_unlock(&duck_all.lock);
	free(db->path);
	free(db);
}

void duck_interrupt_all(struct duck *db)
{
	pthread_mutex_lock(&duck_all.lock);
	if (db->database)
		duckdb_interrupt(db->connection);
	pthread_mutex_unlock(&duck_all.lock);
}

void duck_turn_begin(struct duck *db)
{
	struct duck_database *d = db->database;
	struct turn *turn = turn_take(d->turns);

	d->turn = turn;
}

void duck_turn_end(struct duck *db)
{
	turn_end(db->database->turn);
}

const void *duck_database_of(const struct duck *db)
{
	return db->database;
}
