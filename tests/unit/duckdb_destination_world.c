#include "tests/unit/duckdb_destination_world.h"

int file_make(void **state)
{
	struct file *f = xcalloc(1, sizeof(*f));
	char template[] = "/tmp/tidemark-duckdb-XXXXXX";
	char *url;

	f->directory = xstrdup(mkdtemp(template));
	f->path = xstrfmt("%s/w.db", f->directory);
	url = xstrfmt("duckdb:%s", f->path);
	assert_int_equal(url_parse(&f->conn.url, url, &f->err), 0);
	free(url);
	f->target = (struct target){ .pipeline = "p",
				     .table = "orders",
				     .schema = &f->schema };
	*state = f;
	return 0;
}

void file_close(struct file *f)
{
	duckdb_target_destination.close(f->d);
	f->d = NULL;
}

int file_unmake(void **state)
{
	struct file *f = *state;
	char *command = xstrfmt("rm -r '%s'", f->directory);

	file_close(f);
	assert_int_equal(system(command), 0);
	free(command);
	schema_release(&f->schema);
	url_release(&f->conn.url);
	free(f->directory);
	free(f->path);
	free(f);
	return 0;
}

void file_schema(struct file *f, enum type_kind mark)
{
	struct type id = { .kind = TYPE_INT64, .native = (char *)"" };
	struct type v = { .kind = mark, .digits = 6, .native = (char *)"" };
	size_t key = 0;

	schema_release(&f->schema);
	schema_init(&f->schema);
	schema_add(&f->schema, "id", &id, false);
	schema_add(&f->schema, "v", &v, true);
	schema_set_key(&f->schema, &key, 1);
	f->schema.mark = 1;
}

int file_begin(struct file *f)
{
	struct checkpoint seen;
	int rc;

	error_clear(&f->err);
	checkpoint_init(&seen);
	rc = duckdb_target_destination.open(&f->d, &f->conn, &f->err);
	if (!rc)
		rc = f->d->ops->prepare(f->d, &f->target, &f->err);
	if (!rc)
		rc = f->d->ops->recover(f->d, &f->target, &seen, &f->err);
	checkpoint_release(&seen);
	return -rc;
}

int file_load(struct file *f, int64_t id, const int64_t *value,
	      const char *delivered)
{
	char *batch_id = xstrfmt("batch-%d", ++f->n_batches);
	struct checkpoint next = { .watermark = (char *)"{}",
				   .batch_id = batch_id,
				   .rows_total = f->n_batches,
				   .delivered = (char *)delivered };
	struct batch b;
	int rc;

	batch_init(&b, &f->schema);
	batch_reserve_row(&b);
	vector_set_fixed(&b.vectors[0], 0, &id);
	if (value)
		vector_set_fixed(&b.vectors[1], 0, value);
	else
		vector_set_null(&b.vectors[1], 0);
	batch_row_done(&b);
	error_clear(&f->err);
	rc = f->d->ops->load(f->d, &b, &next, &f->counts, &f->err);
	batch_release(&b);
	free(batch_id);
	return -rc;
}

int file_finish(struct file *f)
{
	struct checkpoint next = { .watermark = (char *)"{}",
				   .batch_id = (char *)"finished" };

	error_clear(&f->err);
	return -f->d->ops->finish(f->d, &next, &f->err);
}

void file_sync(struct file *f, int64_t id, const int64_t *value,
	       const char *delivered)
{
	if (file_begin(f) || file_load(f, id, value, delivered))
		fail_msg("%s", f->err.message);
	file_close(f);
}

/* Through the destination's own handle while there is one. */
static struct duck *file_look(struct file *f)
{
	struct duck *db = NULL;

	error_clear(&f->err);
	if (f->d)
		return ((struct duckdb_target_destination *)f->d)->db;
	if (duck_open(&db, f->path, NULL, 0, &f->err))
		fail_msg("%s", f->err.message);
	return db;
}

void file_exec(struct file *f, const char *sql)
{
	struct duck *db = file_look(f);

	if (duck_exec(db, sql, &f->err))
		fail_msg("%s", f->err.message);
	if (!f->d)
		duck_close(db);
}

void file_expect(struct file *f, const char *sql, const char *expected)
{
	struct duck *db = file_look(f);
	struct duck_result *r = NULL;
	char *text;

	if (duck_query(db, &r, sql, NULL, 0, &f->err))
		fail_msg("%s", f->err.message);
	assert_true(duck_next(r));
	text = duck_is_null(r, 0) ? xstrdup("NULL") : duck_str(r, 0);
	duck_result_free(r);
	if (!f->d)
		duck_close(db);
	assert_string_equal(text, expected);
	free(text);
}
