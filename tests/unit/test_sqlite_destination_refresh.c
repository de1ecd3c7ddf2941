/* An SQLite table is made anew. A refresh does it, which may be overtaken,
 * left, or found by another process. A wider type does it, too. */
#include <unistd.h>

#include "core/base/process.h"
#include "tests/unit/sqlite_destination_world.h"

/* A table with the row 1a, and a refresh of it that has read 1b. */
static void file_refresh(struct file *f)
{
	file_schema(f, TYPE_INT64, TYPE_TEXT);
	f->schema.mark = -1;
	file_sync(f, 1, "a", 1);
	f->target.refresh = true;
	assert_int_equal(file_begin(f), 0);
	file_row(f, 1, "b", 1);
	assert_int_equal(file_load(f), 0);
}

/* Objects on the old table are on the new one; views go on by name. */
static void test_refresh_keeps_what_hangs_on_it(void **state)
{
	struct file *f = *state;
	struct checkpoint next;

	file_schema(f, TYPE_INT64, TYPE_TEXT);
	f->schema.mark = -1;
	file_sync(f, 1, "a", 1);
	file_exec(f, "ALTER TABLE orders ADD COLUMN mine TEXT DEFAULT 'd';"
		     "CREATE INDEX by_v ON orders (v);"
		     "CREATE TABLE seen (id);"
		     "CREATE TRIGGER note AFTER INSERT ON orders BEGIN"
		     "  INSERT INTO seen VALUES (NEW.id); END;"
		     "CREATE VIEW loud AS SELECT upper(v) AS v FROM orders");
	f->target.refresh = true;
	assert_int_equal(file_begin(f), 0);
	file_row(f, 2, "b", 1);
	assert_int_equal(file_load(f), 0);
	checkpoint_init(&next);
	next.batch_id = xstrdup("last");
	assert_int_equal(f->d->ops->finish(f->d, &next, &f->err), 0);
	checkpoint_release(&next);
	f->target.refresh = false;
	file_expect(f, "SELECT id || v || mine FROM orders", "2bd");
	file_expect(f, "SELECT v FROM loud", "B");
	file_expect(f,
		    "SELECT count(*) FROM sqlite_schema"
		    " WHERE name IN ('by_v', 'note') AND tbl_name = 'orders'",
		    "2");
	file_sync(f, 3, "c", 1);
	file_expect(f, "SELECT group_concat(id) FROM seen", "3");
}

/* The second of one process may take over: it is the retry of the first. */
static void test_refresh_overtaken(void **state)
{
	struct file *f = *state;
	struct destination *first, *second;

	file_refresh(f);
	first = f->d;
	f->d = NULL;
	assert_int_equal(file_begin(f), 0);
	second = f->d;
	file_row(f, 2, "c", 1);
	assert_int_equal(file_load(f), 0);
	f->d = first;
	file_row(f, 3, "d", 1);
	assert_int_equal(file_load(f), ERROR_STATE);
	assert_non_null(strstr(f->err.message, "another run of p has taken"));
	assert_int_equal(file_finish(f), ERROR_STATE);
	file_close(f);
	f->d = second;
	file_expect(f, "SELECT group_concat(id || v) FROM orders", "1a");
	assert_int_equal(file_finish(f), 0);
	file_expect(f, "SELECT group_concat(id || v) FROM orders", "2c");
	file_expect(f, "SELECT batch_id FROM _tidemark_watermark", "finished");
}

static void file_set_owner(struct file *f, int64_t pid, const char *start)
{
	char *sql = xstrfmt("UPDATE _tidemark_watermark SET batch_id ="
			    " 'refresh-0123456789abcdef-%d-%s'",
			    (int)pid, start);

	file_exec(f, sql);
	free(sql);
}

/* One that lives is left alone by every other process. */
static void test_refresh_of_live_process(void **state)
{
	struct file *f = *state;
	char *start = process_start(getppid());
	char *pid = xstrfmt("process %d ", (int)getppid());

	file_refresh(f);
	file_set_owner(f, getppid(), start);
	for (int refresh = 0; refresh < 2; refresh++) {
		f->target.refresh = refresh;
		assert_int_equal(file_begin(f), ERROR_STATE);
		assert_non_null(strstr(f->err.message, pid));
		file_expect(f,
			    "SELECT count(*) FROM sqlite_schema"
			    " WHERE name LIKE '_tidemark_stage%'",
			    "1");
	}
	free(start);
	free(pid);
}

static void test_refresh_of_dead_process(void **state)
{
	struct file *f = *state;

	file_refresh(f);
	/* The number is taken again, by a process of another start. */
	file_set_owner(f, getppid(), "boot/1");
	f->target.refresh = false;
	assert_int_equal(file_begin(f), 0);
	file_expect(f,
		    "SELECT count(*) FROM sqlite_schema"
		    " WHERE name LIKE '_tidemark_stage%'",
		    "0");
	file_row(f, 2, "c", 1);
	assert_int_equal(file_load(f), 0);
	file_expect(f, "SELECT group_concat(id || v) FROM orders", "1a,2c");
}

static void test_refresh_ends_early(void **state)
{
	struct file *f = *state;

	file_refresh(f);
	file_close(f);
	file_expect(f,
		    "SELECT substr(batch_id, 1, 13) FROM _tidemark_watermark",
		    "left-refresh-");
	file_expect(f, "SELECT watermark FROM _tidemark_watermark", "{}");
}

static void test_refresh_counts_rows(void **state)
{
	struct file *f = *state;
	char *stage = name_stage("p");
	char *sql = xstrfmt("DELETE FROM %s", stage);

	file_refresh(f);
	file_exec(f, sql);
	assert_int_equal(file_finish(f), ERROR_DATA);
	assert_non_null(strstr(f->err.message, "0 rows, but 1"));
	file_expect(f, "SELECT group_concat(id || v) FROM orders", "1a");
	free(sql);
	free(stage);
}

/* A table that is built anew for a wider type keeps what hangs on it. */
static void test_widened_table_is_whole(void **state)
{
	struct file *f = *state;
	int64_t big = INT64_MAX;

	file_schema(f, TYPE_INT64, TYPE_INT64);
	f->schema.mark = -1;
	file_sync(f, 1, &big, 8);
	file_exec(f, "ALTER TABLE orders ADD COLUMN note TEXT DEFAULT 'mine';"
		     "CREATE INDEX by_v ON orders (v);"
		     "CREATE VIEW seen AS SELECT note, v FROM orders;"
		     "CREATE TRIGGER t AFTER INSERT ON orders "
		     "BEGIN UPDATE orders SET note = 'new' WHERE id = NEW.id; "
		     "END");
	file_schema(f, TYPE_INT64, TYPE_DECIMAL);
	f->schema.mark = -1;
	file_sync(f, 2, "9223372036854775807.01", 22);
	file_expect(f, "SELECT group_concat(v || note) FROM seen",
		    "9223372036854775807mine,9223372036854775807.01new");
	file_expect(f,
		    "SELECT group_concat(typeof(v)) FROM orders INDEXED BY "
		    "by_v WHERE v > ''",
		    "text,text");
	file_expect(f, "SELECT count(*) FROM sqlite_schema", "6");
	assert_int_equal(file_begin(f), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FILE(test_refresh_keeps_what_hangs_on_it),
		IN_FILE(test_refresh_overtaken),
		IN_FILE(test_refresh_of_live_process),
		IN_FILE(test_refresh_of_dead_process),
		IN_FILE(test_refresh_ends_early),
		IN_FILE(test_refresh_counts_rows),
		IN_FILE(test_widened_table_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
