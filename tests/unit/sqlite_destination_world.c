#include "tests/unit/sqlite_destination_world.h"

int file_make(void **state)
{
	struct file *f = xcalloc(1, sizeof(*f));
	char template[] = "/tmp/tidemark-sqlite-XXXXXX";
	char *url;

	f->directory = xstrdup(mkdtemp(template));
	f->path = xstrfmt("%s/warehouse.db", f->directory);
	url = xstrfmt("sqlite:%s", f->path);
	assert_int_equal(url_parse(&f->conn.url, url, &f->err), 0);
	free(url);
	f->target = (struct target){ .pipeline = "p",
				     .table = "orders",
				     .mode = LOAD_UPSERT,
				     .schema = &f->schema,
				     .drift = { DRIFT_ADD, DRIFT_WIDEN,
						DRIFT_KEEP } };
	*state = f;
	return 0;
}

void file_close(struct file *f)
{
	if (f->d)
		f->d->ops->close(f->d);
	f->d = NULL;
}

int file_unmake(void **state)
{
	struct file *f = *state;
	char *command = xstrfmt("rm -r '%s'", f->directory);

	file_close(f);
	assert_int_equal(system(command), 0);
	free(command);
	if (f->batch.schema)
		batch_release(&f->batch);
	schema_release(&f->schema);
	url_release(&f->conn.url);
	free(f->directory);
	free(f->path);
	free(f);
	return 0;
}

void file_column(struct file *f, const char *name, enum type_kind kind)
{
	struct type type = { .kind = kind, .digits = 6, .native = (char *)"" };

	schema_add(&f->schema, name, &type, f->schema.n_columns > 0);
}

void file_schema(struct file *f, enum type_kind key, enum type_kind v)
{
	size_t first = 0;

	if (f->batch.schema)
		batch_release(&f->batch);
	schema_release(&f->schema);
	schema_init(&f->schema);
	f->schema.engine = xstrdup("elsewhere");
	f->schema.table = xstrdup("source");
	file_column(f, "id", key);
	file_column(f, "v", v);
	schema_set_key(&f->schema, &first, 1);
	f->schema.mark = 1;
	batch_init(&f->batch, &f->schema);
}

int file_begin(struct file *f)
{
	struct checkpoint seen;
	int rc;

	file_close(f);
	error_clear(&f->err);
	checkpoint_init(&seen);
	rc = sqlite_destination.open(&f->d, &f->conn, &f->err);
	if (!rc)
		rc = f->d->ops->prepare(f->d, &f->target, &f->err);
	if (!rc)
		rc = f->d->ops->recover(f->d, &f->target, &seen, &f->err);
	checkpoint_release(&seen);
	return -rc;
}

static void file_set(struct file *f, size_t column, const void *value, size_t n)
{
	struct vector *v = &f->batch.vectors[column];

	if (v->width)
		vector_set_fixed(v, f->batch.n_rows, value);
	else
		assert_int_equal(
			vector_set_bytes(v, f->batch.n_rows, value, n, &f->err),
			0);
}

void file_row(struct file *f, int64_t id, const void *value, size_t n)
{
	batch_reserve_row(&f->batch);
	file_set(f, 0, &id, 8);
	if (value)
		file_set(f, 1, value, n);
	batch_row_done(&f->batch);
}

int file_load(struct file *f)
{
	struct checkpoint next;
	int rc;

	checkpoint_init(&next);
	next.watermark = xstrdup("{}");
	next.batch_id = xstrfmt("batch-%d", ++f->n_batches);
	next.delivered = xstrdup(f->delivered);
	error_clear(&f->err);
	rc = f->d->ops->load(f->d, &f->batch, &next, &f->counts, &f->err);
	checkpoint_release(&next);
	batch_reset(&f->batch);
	return -rc;
}

int file_finish(struct file *f)
{
	struct checkpoint next;
	int rc;

	checkpoint_init(&next);
	next.watermark = xstrdup("{}");
	next.batch_id = xstrdup("finished");
	error_clear(&f->err);
	rc = f->d->ops->finish(f->d, &next, &f->err);
	checkpoint_release(&next);
	return -rc;
}

void file_sync(struct file *f, int64_t id, const void *value, size_t n)
{
	if (file_begin(f))
		fail_msg("%s", f->err.message);
	file_row(f, id, value, n);
	if (file_load(f))
		fail_msg("%s", f->err.message);
	file_close(f);
}

struct sqlite *file_look(struct file *f)
{
	static const struct sqlite_options options = { .create = true,
						       .busy_timeout_us =
							       1000 };
	struct sqlite *db = NULL;

	if (sqlite_open(&db, f->path, &options, &f->err))
		fail_msg("%s", f->err.message);
	return db;
}

void file_exec(struct file *f, const char *sql)
{
	struct sqlite *db = file_look(f);

	if (sqlite_exec(db, sql, &f->err))
		fail_msg("%s", f->err.message);
	sqlite_close(db);
}

void file_expect(struct file *f, const char *sql, const char *expected)
{
	struct sqlite *db = file_look(f);
	struct sqlite_statement *st = NULL;

	if (sqlite_prepare(db, &st, sql, &f->err))
		fail_msg("%s", f->err.message);
	assert_int_equal(sqlite_step(st, &f->err), 1);
	assert_string_equal(sqlite_str(st, 0) ? sqlite_str(st, 0) : "NULL",
			    expected);
	sqlite_finalize(st);
	sqlite_close(db);
}
