#include "tests/unit/faulty_store.h"

#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/store/schema.h"
#include "core/store/session.h"
#include "tests/unit/fake_engines.h"

extern const struct store_ops sqlite_store;

struct faulty_handle {
	struct store base;
	struct store *inner;
};

static struct {
	char directory[64];
	struct connection place;
	struct store *main; /* used by the tested code */
	struct store *aside; /* used by the test to look */
	char *answer;
	/* Under the lock, as `aside` is: */
	char *piece;
	enum error_code code;
	int times;
	struct said {
		char *sql;
		int times;
	} * said; /* each statement once */
	size_t n_said, room;
	int handles;
} faulty;
static pthread_mutex_t faulty_lock = PTHREAD_MUTEX_INITIALIZER;

/* SQLite's dialect, but for the clock. */
static struct store_dialect faulty_dialect;

static void faulty_stop(const char *what, const struct error *err)
{
	fprintf(stderr, "the store of the tests: %s: %s\n", what, err->message);
	abort();
}

static struct store *faulty_inner(struct store *s)
{
	return ((struct faulty_handle *)s)->inner;
}

static void faulty_note_handle(int change)
{
	pthread_mutex_lock(&faulty_lock);
	faulty.handles += change;
	pthread_mutex_unlock(&faulty_lock);
}

static int faulty_open(struct store **out, const struct connection *conn,
		       struct error *err)
{
	struct faulty_handle *h;
	struct store *inner = NULL;
	int rc = sqlite_store.open(&inner, &faulty.place, err);

	(void)conn;
	if (rc)
		return rc;
	h = xcalloc(1, sizeof(*h));
	h->inner = inner;
	h->base.ops = &faulty_store_ops;
	h->base.where = inner->where;
	*out = &h->base;
	faulty_note_handle(1);
	return 0;
}

static void faulty_close(struct store *s)
{
	sqlite_store.close(faulty_inner(s));
	free(s);
	faulty_note_handle(-1);
}

static int faulty_begin(struct store *s, enum store_begin how,
			struct error *err)
{
	return sqlite_store.begin(faulty_inner(s), how, err);
}

static int faulty_commit(struct store *s, struct error *err)
{
	return sqlite_store.commit(faulty_inner(s), err);
}

static void faulty_rollback(struct store *s)
{
	sqlite_store.rollback(faulty_inner(s));
}

static int faulty_script(struct store *s, const char *sql, struct error *err)
{
	return sqlite_store.script(faulty_inner(s), sql, err);
}

static void faulty_note_said(const char *sql)
{
	for (size_t i = 0; i < faulty.n_said; i++) {
		if (!strcmp(faulty.said[i].sql, sql)) {
			faulty.said[i].times++;
			return;
		}
	}
	faulty.said = xgrow(faulty.said, &faulty.room, faulty.n_said + 1,
			    sizeof(*faulty.said));
	faulty.said[faulty.n_said++] = (struct said){ xstrdup(sql), 1 };
}

static void faulty_forget_said(void)
{
	for (size_t i = 0; i < faulty.n_said; i++)
		free(faulty.said[i].sql);
	faulty.n_said = 0;
}

/* The code it fails with, or 0. */
static enum error_code faulty_judge(const char *sql)
{
	enum error_code code = ERROR_NONE;

	pthread_mutex_lock(&faulty_lock);
	faulty_note_said(sql);
	if (faulty.times && strstr(sql, faulty.piece)) {
		code = faulty.code;
		if (faulty.times > 0)
			faulty.times--;
	}
	pthread_mutex_unlock(&faulty_lock);
	return code;
}

static int faulty_run(struct store *s, const char *sql,
		      const char *const *params, int n_params,
		      const char *shape, store_row row, void *ctx,
		      struct error *err)
{
	enum error_code code = faulty_judge(sql);

	if (code)
		return error_set(err, code, "planted in the store");
	return sqlite_store.run(faulty_inner(s), sql, params, n_params, shape,
				row, ctx, err);
}

const struct store_ops faulty_store_ops = {
	.name = "fake",
	.options = fake_options,
	.dialect = &faulty_dialect,
	.open = faulty_open,
	.begin = faulty_begin,
	.commit = faulty_commit,
	.rollback = faulty_rollback,
	.script = faulty_script,
	.run = faulty_run,
	.close = faulty_close,
};

static int faulty_remove_one(const char *path, const struct stat *st, int type,
			     struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void faulty_remove(void)
{
	store_close(faulty.main);
	store_close(faulty.aside);
	nftw(faulty.directory, faulty_remove_one, 8, FTW_DEPTH | FTW_PHYS);
	url_release(&faulty.place.url);
	faulty_forget_said();
	free(faulty.said);
	free(faulty.answer);
	free(faulty.piece);
	free((char *)faulty_dialect.now_sql);
}

static void faulty_make_place(void)
{
	const char *top = getenv("TMPDIR");
	struct error err = ERROR_INIT;
	char *url;

	snprintf(faulty.directory, sizeof(faulty.directory),
		 "%s/tidemark-unit-XXXXXX", top ? top : "/tmp");
	if (!mkdtemp(faulty.directory))
		faulty_stop(faulty.directory, &err);
	url = xstrfmt("sqlite:%s/state.db", faulty.directory);
	if (url_parse(&faulty.place.url, url, &err))
		faulty_stop("url_parse", &err);
	free(url);
	atexit(faulty_remove);
}

static void faulty_make(void)
{
	struct error err = ERROR_INIT;
	int applied, version;

	faulty_make_place();
	faulty_dialect = *sqlite_store.dialect;
	faulty_dialect.now_sql =
		xstrfmt("(%s + (SELECT ahead FROM faulty_clock))",
			sqlite_store.dialect->now_sql);
	if (faulty_open(&faulty.main, NULL, &err) ||
	    store_migrate(faulty.main, &applied, &version, &err) ||
	    sqlite_store.open(&faulty.aside, &faulty.place, &err))
		faulty_stop("made", &err);
	faulty_store_do("CREATE TABLE faulty_clock (ahead bigint)");
	faulty_store_do("INSERT INTO faulty_clock VALUES (0)");
}

struct store *faulty_store(void)
{
	if (!faulty.main)
		faulty_make();
	return faulty.main;
}

void faulty_store_reset(void)
{
	static const char *const tables[] = {
		"batches",	"attempts", "runs",   "watermarks", "leases",
		"dead_letters", "paces",    "chunks", "choices",
	};

	faulty_store();
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		char *sql = xstrfmt("DELETE FROM %s", tables[i]);

		faulty_store_do(sql);
		free(sql);
	}
	faulty_store_clock(0);
	faulty_store_fail("", ERROR_NONE, 0);
	pthread_mutex_lock(&faulty_lock);
	faulty_forget_said();
	pthread_mutex_unlock(&faulty_lock);
}

void faulty_store_fail(const char *piece, enum error_code code, int times)
{
	pthread_mutex_lock(&faulty_lock);
	free(faulty.piece);
	faulty.piece = xstrdup(piece);
	faulty.code = code;
	faulty.times = times;
	pthread_mutex_unlock(&faulty_lock);
}

int faulty_store_count(const char *piece)
{
	int n = 0;

	pthread_mutex_lock(&faulty_lock);
	for (size_t i = 0; i < faulty.n_said; i++)
		if (strstr(faulty.said[i].sql, piece))
			n += faulty.said[i].times;
	pthread_mutex_unlock(&faulty_lock);
	return n;
}

int faulty_store_handles(void)
{
	int n;

	pthread_mutex_lock(&faulty_lock);
	n = faulty.handles;
	pthread_mutex_unlock(&faulty_lock);
	return n;
}

static int faulty_note(void *ctx, const char *const *values, struct error *err)
{
	(void)ctx;
	(void)err;
	if (!faulty.answer)
		faulty.answer = xstrdup(values[0]);
	return 0;
}

void faulty_store_do(const char *sql)
{
	struct error err = ERROR_INIT;

	pthread_mutex_lock(&faulty_lock);
	free(faulty.answer);
	faulty.answer = NULL;
	if (sqlite_store.run(faulty.aside, sql, NULL, 0, NULL, faulty_note,
			     NULL, &err))
		faulty_stop(sql, &err);
	pthread_mutex_unlock(&faulty_lock);
}

const char *faulty_store_text(const char *sql)
{
	faulty_store_do(sql);
	return faulty.answer;
}

int64_t faulty_store_number(const char *sql)
{
	return store_number_of(faulty_store_text(sql));
}

void faulty_store_clock(int64_t ahead_us)
{
	char *sql =
		xstrfmt("UPDATE faulty_clock SET ahead = %" PRId64, ahead_us);

	faulty_store_do(sql);
	free(sql);
}
