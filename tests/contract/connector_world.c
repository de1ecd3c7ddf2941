#include "connector_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/pool.h"
#include "core/data/value.h"
#include "core/plugin/registry.h"
#include "scratch.h"

static bool world_connect(struct world *w, const char *url)
{
	w->conn.name = xstrdup("source");
	w->conn.connect_timeout_us = 10 * US_PER_SECOND;
	w->conn.silence_timeout_us = 60 * US_PER_SECOND;
	if (url_parse(&w->conn.url, url, &w->err) ||
	    registry_connector(w->quirks->connector, &w->ops, &w->err))
		return false;
	w->sessions[0] = w->quirks->connect(&w->conn);
	return w->sessions[0] &&
	       !w->ops->open(&w->connector, &w->conn, &w->err);
}

/* The URL of a file that is not there yet. */
static char *world_file(const struct quirks *quirks)
{
	char *directory = scratch_template("source"), *url;

	assert_non_null(mkdtemp(directory));
	url = xstrfmt("%s:%s/source.db", quirks->connector, directory);
	free(directory);
	return url;
}

/* The file, what its engine put beside it, and the directory. */
static void world_remove_file(struct world *w)
{
	static const char *const beside[] = { "", "-wal", "-shm", "-journal",
					      ".wal" };

	for (size_t i = 0; i < ARRAY_SIZE(beside); i++) {
		char *path = xstrfmt("%s%s", w->file, beside[i]);
		unlink(path);
		free(path);
	}
	*strrchr(w->file, '/') = '\0';
	rmdir(w->file);
	free(w->file);
}

struct world *world_new(const struct quirks *quirks)
{
	struct world *w;
	bool connected;
	char *url = quirks->variable ? xstrdup(getenv(quirks->variable))
				     : world_file(quirks);

	if (!url || !*url) {
		free(url);
		fprintf(stderr, "SKIP %s: %s is not set\n", quirks->engine,
			quirks->variable);
		return NULL;
	}
	w = xcalloc(1, sizeof(*w));
	w->quirks = quirks;
	strbuf_init(&w->rows);
	schema_init(&w->schema);
	watermark_init(&w->from);
	settled_init(&w->settled);
	if (!quirks->variable)
		w->file = xstrdup(strchr(url, ':') + 1);
	connected = world_connect(w, url);
	free(url);
	if (!connected) {
		fprintf(stderr, "%s: %s\n", quirks->engine, w->err.message);
		world_free(w);
		return NULL;
	}
	return w;
}

void *world_boss(struct world *w)
{
	const char *url = w->quirks->admin ? getenv(w->quirks->admin) : NULL;
	struct connection boss = w->conn;
	void *session;

	if (!url)
		skip();
	memset(&boss.url, 0, sizeof(boss.url));
	assert_int_equal(url_parse(&boss.url, url, &w->err), 0);
	session = w->quirks->connect(&boss);
	url_release(&boss.url);
	assert_non_null(session);
	return session;
}

void world_keep_log(struct world *w, bool keep)
{
	void *boss = world_boss(w);

	if (keep) {
		w->quirks->exec(boss, "SET GLOBAL log_output = 'TABLE'");
		w->quirks->exec(boss, "TRUNCATE mysql.general_log");
		w->quirks->exec(boss, "GRANT SELECT ON mysql.general_log TO "
				      "app@'%'");
	}
	w->quirks->exec(boss, keep ? "SET GLOBAL general_log = 1"
				   : "SET GLOBAL general_log = 0");
	w->quirks->disconnect(boss);
}

static void world_end_run(struct world *w)
{
	if (w->batch_ready)
		batch_release(&w->batch);
	w->batch_ready = false;
	settled_release(&w->settled);
	json_decref(w->identity);
	w->identity = NULL;
}

void world_free(struct world *w)
{
	world_end_run(w);
	if (w->connector)
		w->ops->close(w->connector);
	for (int i = 0; i < WORLD_SESSIONS; i++) {
		if (w->sessions[i])
			w->quirks->disconnect(w->sessions[i]);
	}
	if (w->file)
		world_remove_file(w);
	schema_release(&w->schema);
	watermark_release(&w->from);
	strbuf_release(&w->rows);
	strlist_release(&w->columns);
	strlist_release(&w->key);
	strlist_release(&w->asked);
	strlist_release(&w->keys);
	url_release(&w->conn.url);
	free(w->conn.name);
	free(w->table);
	free(w);
}

static void world_close(struct world *w)
{
	world_end_run(w);
	if (w->connector)
		w->ops->close(w->connector);
	w->connector = NULL;
	schema_release(&w->schema);
}

void world_reopen(struct world *w)
{
	world_close(w);
	/* A session that rests keeps the rights it began with. */
	pool_pause(INT64_MAX);
	error_clear(&w->err);
	if (w->ops->open(&w->connector, &w->conn, &w->err))
		fail_msg("%s", w->err.message);
}

/* "CREATE TABLE t (id int PRIMARY KEY, ...)", "... PRIMARY KEY (a, b))": what
 * pipelines are to name where the engine does not. */
static void world_note_key(struct world *w, const char *sql)
{
	const char *table = sql + strlen("CREATE TABLE ");
	const char *mark = strstr(sql, "PRIMARY KEY"), *begin;
	char *name, *key;

	if (!w->quirks->unkeyed || !mark || strncmp(sql, "CREATE TABLE ", 13))
		return;
	if (mark[strlen("PRIMARY KEY")] == ' ') {
		begin = strchr(mark, '(') + 1;
		key = xstrndup(begin, strcspn(begin, ")"));
	} else {
		begin = strchr(sql, '(') + 1;
		key = xstrndup(begin, strcspn(begin, " "));
	}
	name = xstrndup(table, strcspn(table, " "));
	strlist_add(&w->keys, name);
	strlist_add(&w->keys, key);
	free(name);
	free(key);
}

static void world_name_key(struct world *w)
{
	const char *key = NULL;
	char *names, *rest, *name;

	for (size_t i = 0; i + 1 < w->keys.n; i += 2)
		if (!strcmp(w->keys.items[i], w->table))
			key = w->keys.items[i + 1];
	rest = names = key ? xstrdup(key) : NULL;
	while (rest && (name = strsep(&rest, ", ")))
		if (*name)
			strlist_add(&w->key, name);
	free(names);
}

static void __attribute__((format(printf, 3, 0)))
world_vexec(struct world *w, int n, const char *fmt, va_list ap)
{
	struct strbuf sql = STRBUF_INIT;

	if (w->quirks->alone)
		world_close(w);
	if (!w->sessions[n])
		w->sessions[n] = w->quirks->connect(&w->conn);
	assert_non_null(w->sessions[n]);
	strbuf_vaddf(&sql, fmt, ap);
	world_note_key(w, sql.data);
	w->quirks->exec(w->sessions[n], sql.data);
	strbuf_release(&sql);
}

void world_exec(struct world *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	world_vexec(w, 0, fmt, ap);
	va_end(ap);
}

void world_other(struct world *w, int n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	world_vexec(w, n, fmt, ap);
	va_end(ap);
}

const char *world_series(struct world *w, int from, int to)
{
	struct strbuf sb = STRBUF_INIT;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	strbuf_addf(&sb, w->quirks->series, from, to);
#pragma GCC diagnostic pop
	snprintf(w->series, sizeof(w->series), "%s", sb.data);
	strbuf_release(&sb);
	return w->series;
}

void world_reset(struct world *w)
{
	watermark_release(&w->from);
	watermark_init(&w->from);
	w->from.strategy = w->mark.strategy;
	w->from.column = xstrdup(w->mark.column);
}

void world_pipeline(struct world *w, const char *table, enum strategy strategy,
		    const char *column)
{
	world_end_run(w);
	free(w->table);
	w->table = strchr(table, '.')
			   ? xstrdup(table)
			   : xstrfmt("%s%s", w->quirks->prefix, table);
	strlist_release(&w->columns);
	strlist_release(&w->key);
	w->source = (struct source_spec){ .table = w->table,
					  .columns = &w->columns,
					  .key = &w->key };
	w->mark = (struct watermark_spec){ .strategy = strategy,
					   .column = column,
					   .time_zone = "auto",
					   .settle = true };
	schema_release(&w->schema);
	world_name_key(w);
	world_reset(w);
}

void world_key(struct world *w, const char *a, const char *b)
{
	strlist_release(&w->key);
	strlist_add(&w->key, a);
	if (b)
		strlist_add(&w->key, b);
}

int world_describe(struct world *w)
{
	if (!w->connector)
		world_reopen(w);
	world_end_run(w);
	error_clear(&w->err);
	schema_release(&w->schema);
	return w->ops->describe(w->connector, &w->source, &w->mark, &w->schema,
				&w->err);
}

static void world_clear_rows(struct world *w)
{
	strbuf_reset(&w->rows);
	w->n_rows = w->n_tail = w->n_batches = 0;
	w->sum = 0;
}

int world_begin(struct world *w)
{
	int rc = 0;

	world_end_run(w);
	error_clear(&w->err);
	if (!w->schema.n_columns)
		rc = world_describe(w);
	if (!rc)
		rc = w->ops->identity(w->connector, &w->source, &w->identity,
				      &w->err);
	if (!rc)
		rc = w->ops->settle(w->connector, &w->source, &w->schema,
				    &w->mark, &w->from, &w->settled, &w->err);
	if (rc)
		return rc;
	w->scan = (struct scan){ .source = &w->source,
				 .schema = &w->schema,
				 .mark = &w->mark,
				 .from = &w->from,
				 .settled = &w->settled,
				 .identity = w->identity,
				 .keys = w->asked.n ? &w->asked : NULL,
				 .range = w->range,
				 .unordered = w->unordered };
	if (w->whole) {
		w->scan.mark = NULL;
		w->scan.from = NULL;
		w->scan.settled = NULL;
	}
	batch_init(&w->batch, &w->schema);
	w->batch_ready = true;
	return w->ops->scan(w->connector, &w->scan, &w->err);
}

static void world_take_row(struct world *w, size_t row)
{
	const struct vector *first = &w->batch.vectors[0];

	if (first->kind == TYPE_INT32)
		w->sum += (uint64_t)vector_i32(first, row);
	else if (first->kind == TYPE_INT64)
		w->sum += (uint64_t)vector_i64(first, row);
	for (size_t i = 0; !w->quiet && i < w->schema.n_columns; i++) {
		if (i)
			strbuf_addch(&w->rows, '|');
		if (vector_is_null(&w->batch.vectors[i], row))
			strbuf_addstr(&w->rows, "NULL");
		else
			value_print(&w->rows, &w->batch.vectors[i], row);
	}
	if (!w->quiet)
		strbuf_addch(&w->rows, '\n');
}

int world_step(struct world *w, size_t rows)
{
	int rc;

	batch_reset(&w->batch);
	w->batch.max_rows = rows;
	if (!w->batch.max_bytes)
		w->batch.max_bytes = (size_t)16 << 20;
	if (w->pauses)
		w->batch.max_bytes = 1;
	rc = w->pauses ? w->ops->pause(w->connector, &w->err) : 0;
	if (!rc)
		rc = w->ops->next(w->connector, &w->batch, &w->err);
	if (rc)
		return rc;
	for (size_t i = 0; i < w->batch.n_rows; i++)
		world_take_row(w, i);
	w->n_rows += (int64_t)w->batch.n_rows;
	w->n_tail += (int64_t)w->batch.n_tail;
	w->n_batches++;
	return w->batch.n_rows > 0;
}

int world_run(struct world *w, size_t rows)
{
	int rc;

	world_clear_rows(w);
	rc = world_begin(w);
	if (rc)
		return rc;
	while ((rc = world_step(w, rows)) > 0)
		;
	if (!rc) {
		struct watermark end;
		char *text = watermark_to_text(&w->batch.watermark);
		/* A store gives a mark back that went through JSON. */
		watermark_init(&end);
		if (watermark_from_text(&end, text, &w->err))
			fail_msg("%s: %s", w->err.message, text);
		free(text);
		watermark_release(&w->from);
		w->from = end;
	}
	return rc;
}

void world_expect(struct world *w, size_t rows, const char *expected)
{
	if (world_run(w, rows))
		fail_msg("%s", w->err.message);
	assert_string_equal(w->rows.data, expected);
}

void world_expect_count(struct world *w, size_t rows, int64_t n)
{
	w->quiet = true;
	if (world_run(w, rows))
		fail_msg("%s", w->err.message);
	w->quiet = false;
	assert_int_equal(w->n_rows, n);
}

void world_refuse(struct world *w, enum error_code code, const char *text)
{
	int rc = world_run(w, 100);

	if (rc != -(int)code || !strstr(w->err.message, text))
		fail_msg("%d, not %d with \"%s\": %s", rc, -(int)code, text,
			 w->err.message);
}

void world_expect_delivered(struct world *w, const char *mark)
{
	const char *text = json_string_value(
		json_object_get(w->from.pending, "delivered"));

	if (!text || strcmp(text, mark) != 0)
		fail_msg("delivered is %s, not %s", text ? text : "missing",
			 mark);
}

void world_expect_tables(struct world *w, const char *expected)
{
	struct table_list all = { 0 };
	struct strbuf names = STRBUF_INIT;

	if (w->ops->tables(w->connector, &all, &w->err))
		fail_msg("%s", w->err.message);
	for (size_t i = 0; i < all.n; i++)
		if (!strncmp(all.items[i].name, "tm_source.", 10))
			strbuf_addf(&names, "%s %s\n", all.items[i].name,
				    all.items[i].kind);
	table_list_release(&all);
	assert_string_equal(names.data, expected);
	strbuf_release(&names);
}
