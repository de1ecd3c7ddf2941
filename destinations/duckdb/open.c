#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/nearest.h"
#include "core/data/table_name.h"
#include "destinations/duckdb/internal.h"

#define MEMORY_LIMIT "512MB"

/* A file that another process is just making. */
#define OPEN_YOUNG_S 30
#define OPEN_WAIT_US (2 * US_PER_SECOND)
#define OPEN_LOOK_US (US_PER_SECOND / 20)

const struct url_option duckdb_target_url_options[] = {
	{ "memory_limit", MEMORY_LIMIT,
	  "memory that DuckDB may use; what does not fit goes to files beside "
	  "the database" },
	{ "threads", "",
	  "threads that DuckDB may use; empty: half the cores, for the source "
	  "and the reader need the others" },
	{ "external_access", "false",
	  "true: views, defaults and the like in the file may read and write "
	  "other files and the network" },
	{ NULL, NULL, NULL },
};

static char **open_option_slot(struct duckdb_target_destination *d,
			       const char *name)
{
	if (!strcmp(name, "memory_limit"))
		return &d->memory_limit;
	if (!strcmp(name, "threads"))
		return &d->threads;
	if (!strcmp(name, "external_access"))
		return &d->external_access;
	return NULL;
}

static int open_option(struct duckdb_target_destination *d, const char *text,
		       size_t n, struct error *err)
{
	const char *names[] = { "memory_limit", "threads", "external_access" };
	const char *equals = memchr(text, '=', n);
	size_t n_name = equals ? (size_t)(equals - text) : n;
	char *name = xstrndup(text, n_name);
	char **slot = open_option_slot(d, name);
	const char *near = nearest_name(name, names, ARRAY_SIZE(names));
	int rc = 0;

	if (!slot) {
		rc = error_set(err, ERROR_CONFIG,
			       "duckdb: unknown option %s in the URL; allowed "
			       "are memory_limit, threads and "
			       "external_access",
			       name);
		if (near)
			error_hint(err, "(did you mean %s?)", near);
	} else if (!equals || equals + 1 == text + n) {
		rc = error_set(err, ERROR_CONFIG,
			       "duckdb: option %s in the URL has no value",
			       name);
	} else {
		free(*slot);
		*slot = xstrndup(equals + 1, n - n_name - 1);
	}
	free(name);
	return rc;
}

int duckdb_target_open_options(struct duckdb_target_destination *d,
			       const char *url, struct error *err)
{
	const char *at = strchr(url, '?');
	int rc = 0;

	while (at && *++at && !rc) {
		size_t n = strcspn(at, "&");

		rc = open_option(d, at, n, err);
		at = at[n] ? at + n : NULL;
	}
	return rc;
}

/* The name that DuckDB gives to the database of a file. Caller frees. */
static char *open_name(const char *path)
{
	static const char *const taken[] = { "main", "temp", "system" };
	const char *slash = strrchr(path, '/');
	const char *file = slash ? slash + 1 : path;
	char *name = xstrndup(file, strcspn(file, "."));

	for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
		char *plain = name;

		if (strcmp(plain, taken[i]))
			continue;
		name = xstrfmt("%s_db", plain);
		free(plain);
		break;
	}
	return name;
}

/* The file is not there yet: the database in memory that stands for it has its
 * name. DuckDB calls its first one "memory", and so it stays if DuckDB refuses
 * the other name. */
static void open_stand_in(struct duck *db, const char *path)
{
	struct strbuf sql = STRBUF_INIT;
	char *name = open_name(path);

	if (*name && strcasecmp(name, "memory")) {
		strbuf_addstr(&sql, "ATTACH ':memory:' AS ");
		sql_quote_name(&sql, name, '"');
		strbuf_addstr(&sql, "; USE ");
		sql_quote_name(&sql, name, '"');
		duck_exec(db, sql.data, NULL);
	}
	strbuf_release(&sql);
	free(name);
}

static void open_take_name(void *ctx, const char *const *cells)
{
	char **name = ctx;

	free(*name);
	*name = xstrdup(cells[0]);
}

static int open_catalog(struct duckdb_target_destination *d, struct error *err)
{
	return duck_query_tables(d->db, "SELECT system.main.current_database()",
				 open_take_name, &d->catalog, err);
}

struct open_path {
	struct strbuf text;
	const char *catalog;
};

static void open_add_schema(void *ctx, const char *const *cells)
{
	struct open_path *path = ctx;

	if (strcmp(cells[0], path->catalog) != 0)
		return;
	strbuf_addch(&path->text, ',');
	sql_quote_name(&path->text, cells[0], '"');
	strbuf_addch(&path->text, '.');
	sql_quote_name(&path->text, cells[1], '"');
}

/* DuckDB looks for functions and operators in the file first: a macro max or ||
 * there would be what our statements call. The file's schemas come behind, for
 * the macros that its own defaults and checks call. */
static int open_search_path(struct duckdb_target_destination *d,
			    struct error *err)
{
	const char *const own[] = { d->catalog, "main" };
	struct open_path path = { STRBUF_INIT, d->catalog };
	struct strbuf sql = STRBUF_INIT;
	int rc;

	strbuf_addstr(&path.text, "system.main");
	open_add_schema(&path, own);
	rc = duck_query_tables(d->db,
			       "SELECT database_name, schema_name FROM "
			       "system.main.duckdb_schemas()\n"
			       "WHERE NOT internal",
			       open_add_schema, &path, err);
	strbuf_addstr(&sql, "SET search_path = ");
	sql_quote_literal(&sql, path.text.data);
	if (!rc)
		rc = duck_exec(d->db, sql.data, err);
	strbuf_release(&path.text);
	strbuf_release(&sql);
	return rc;
}

static void open_default_threads(char *text, size_t size)
{
	cpu_set_t cpus;
	int n = 2;

	CPU_ZERO(&cpus);
	if (!sched_getaffinity(0, sizeof(cpus), &cpus))
		n = CPU_COUNT(&cpus);
	snprintf(text, size, "%d", n > 1 ? n / 2 : 1);
}

/* Whoever makes the file has not locked it yet, nor written its head; or has
 * just given up and removed it. */
static bool open_in_making(const char *path, int rc, const struct error *err)
{
	struct stat st;

	if (rc != -ERROR_ACCESS ||
	    !strstr(err->message, "not a valid DuckDB database file"))
		return false;
	if (stat(path, &st))
		return errno == ENOENT;
	return st.st_size == 0 ||
	       clock_now_us() / US_PER_SECOND - st.st_mtime < OPEN_YOUNG_S;
}

/* The log that a killed process has left is read, and not folded in. */
static int open_to_look(struct duck **out, const char *path,
			const struct duck_setting *settings, size_t n,
			struct error *err)
{
	struct duck *db = duck_reader(path);
	int rc = duck_wake(db, settings, n, err);

	if (rc)
		duck_close(db);
	else
		*out = db;
	return rc;
}

/* The second of two first runs waits until it can tell that it is locked. */
static int open_patiently(struct duck **out, const char *path, bool look,
			  const struct duck_setting *settings, size_t n,
			  struct error *err)
{
	int64_t until = clock_monotonic_us() + OPEN_WAIT_US;

	for (;;) {
		struct error failed = ERROR_INIT;
		int rc = look && path
				 ? open_to_look(out, path, settings, n, &failed)
				 : duck_open(out, path, settings, n, &failed);

		if (!rc)
			return 0;
		if (!path || !open_in_making(path, rc, &failed) ||
		    clock_monotonic_us() >= until ||
		    clock_sleep_us(OPEN_LOOK_US)) {
			*err = failed;
			return rc;
		}
	}
}

int duckdb_target_open_database(struct duckdb_target_destination *d,
				bool create, struct error *err)
{
	char threads[16];
	struct duck_setting settings[] = {
		{ "memory_limit",
		  d->memory_limit ? d->memory_limit : MEMORY_LIMIT },
		/* Nothing is fetched from the network. */
		{ "autoinstall_known_extensions", "false" },
		{ "autoload_known_extensions", "false" },
		/* A default of the target would read whatever file its writer
		 * may read. */
		{ "enable_external_access",
		  d->external_access ? d->external_access : "false" },
		/* Costs memory; rows have no order here. */
		{ "preserve_insertion_order", "false" },
		/* A checkpoint writes the last, half full blocks again. */
		{ "checkpoint_threshold", "64MB" },
		{ "threads", d->threads ? d->threads : threads },
	};
	bool on_disk = create || access(d->path, F_OK) == 0;
	struct duck *db = NULL;
	int rc = 0;

	open_default_threads(threads, sizeof(threads));
	if (create && access(d->path, F_OK))
		rc = duck_make(d->path, settings, ARRAY_SIZE(settings), err);
	if (!rc)
		rc = open_patiently(&db, on_disk ? d->path : NULL, d->look,
				    settings, ARRAY_SIZE(settings), err);
	if (rc)
		return rc;
	pthread_mutex_lock(&d->lock);
	duck_close(d->db);
	d->db = db;
	pthread_mutex_unlock(&d->lock);
	d->on_disk = on_disk;
	/* For casts of instants to text; without the icu extension there are
	 * none. */
	duck_exec(db, "SET TimeZone = 'UTC'", NULL);
	/* DuckDB sizes such a table by statistics. Another session of this
	 * process may add rows meanwhile, which then do not fit: the query
	 * fails, "aggregate group 1024 exceeded total groups 1024". */
	rc = duck_exec(db, "SET perfect_ht_threshold = 0", err);
	if (rc)
		return rc;
	if (!on_disk)
		open_stand_in(db, d->path);
	rc = open_catalog(d, err);
	return rc ? rc : open_search_path(d, err);
}
