/* The list of tables and the rows that a DuckDB file keeps: are they ever older
 * than what is there? */
#include <unistd.h>

#include "tests/unit/duckdb_destination_world.h"

static void kept_add(void *ctx, const char *const *cells)
{
	struct strbuf *names = ctx;

	strbuf_addf(names, "%s%s", names->len ? " " : "", cells[0]);
}

static void kept_expect(struct file *f, struct duck *db, const char *expected)
{
	struct strbuf names = STRBUF_INIT;

	if (duck_query_tables(db,
			      "SELECT table_name FROM duckdb_tables() "
			      "ORDER BY table_name",
			      kept_add, &names, &f->err))
		fail_msg("%s", f->err.message);
	assert_string_equal(names.data, expected);
	strbuf_release(&names);
}

static void kept_exec(struct file *f, struct duck *db, const char *sql)
{
	if (duck_exec(db, sql, &f->err))
		fail_msg("%s", f->err.message);
}

static void kept_open(struct file *f, struct duck **one, struct duck **other)
{
	if (duck_open(one, f->path, NULL, 0, &f->err) ||
	    duck_open(other, f->path, NULL, 0, &f->err))
		fail_msg("%s", f->err.message);
}

static void test_statements_of_another_session(void **state)
{
	static const struct {
		const char *sql, *names;
	} steps[] = {
		{ "CREATE TABLE a (n INTEGER)", "a" },
		{ "INSERT INTO a SELECT 1; CREATE TABLE b (n INTEGER)", "a b" },
		{ "/* SELECT */ DROP TABLE a", "b" },
		{ " alter table b rename to c", "c" },
		{ "SELECT 1; DROP TABLE c", "" },
		{ "CREATE TABLE d AS SELECT 1 AS n", "d" },
		{ "UPDATE d SET n = 2", "d" },
	};
	struct file *f = *state;
	struct duck *one = NULL, *other = NULL;

	kept_open(f, &one, &other);
	kept_expect(f, one, "");
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		kept_exec(f, other, steps[i].sql);
		kept_expect(f, one, steps[i].names);
		kept_expect(f, other, steps[i].names);
	}
	duck_close(one);
	duck_close(other);
}

static void test_statements_in_transactions(void **state)
{
	struct file *f = *state;
	struct duck *one = NULL, *other = NULL;

	kept_open(f, &one, &other);
	kept_exec(f, other, "CREATE TABLE a (n INTEGER)");
	kept_expect(f, one, "a");
	kept_exec(f, other, "BEGIN");
	kept_exec(f, other, "CREATE TABLE b (n INTEGER)");
	kept_expect(f, other, "a b");
	kept_expect(f, one, "a");
	kept_exec(f, other, "ROLLBACK");
	kept_expect(f, other, "a");
	/* A snapshot of before the other one's table. */
	kept_exec(f, one, "BEGIN; SELECT count(*) FROM a");
	kept_exec(f, other, "BEGIN");
	kept_exec(f, other, "CREATE TABLE c (n INTEGER)");
	kept_exec(f, other, "COMMIT");
	kept_expect(f, other, "a c");
	kept_expect(f, one, "a");
	kept_expect(f, other, "a c");
	kept_exec(f, one, "COMMIT");
	kept_expect(f, one, "a c");
	kept_exec(f, other, "BEGIN");
	kept_exec(f, other, "CREATE TABLE d (n INTEGER)");
	kept_expect(f, one, "a c");
	kept_exec(f, other, "COMMIT");
	kept_expect(f, one, "a c d");
	duck_close(one);
	duck_close(other);
}

static void kept_add_row(void *ctx, const char *const *cells)
{
	struct strbuf *rows = ctx;

	strbuf_addf(rows, "%s%s", rows->len ? " " : "",
		    cells[0] ? cells[0] : "NULL");
}

static void kept_expect_rows(struct file *f, struct duck *db, const char *sql,
			     const char *expected)
{
	struct strbuf rows = STRBUF_INIT;

	if (duck_query_rows(db, sql, kept_add_row, &rows, &f->err))
		fail_msg("%s", f->err.message);
	assert_string_equal(rows.data, expected);
	strbuf_release(&rows);
}

static const char kept_rows_sql[] = "SELECT n::VARCHAR FROM a ORDER BY n";

static void test_rows_that_another_session_changes(void **state)
{
	static const struct {
		const char *sql, *rows;
	} steps[] = {
		{ "INSERT INTO a VALUES (1), (2)", "1 2" },
		{ "UPDATE a SET n = 3 WHERE n = 2", "1 3" },
		{ "WITH b AS (SELECT 4 AS n) INSERT INTO a FROM b", "1 3 4" },
		{ "SELECT 1; DELETE FROM a WHERE n = 1", "3 4" },
		{ "/* SELECT */ INSERT INTO a VALUES (NULL)", "3 4 NULL" },
		{ "MERGE INTO a USING (SELECT 3 AS m) ON n = m "
		  "WHEN MATCHED THEN DELETE",
		  "4 NULL" },
		{ "TRUNCATE a", "" },
	};
	struct file *f = *state;
	struct duck *one = NULL, *other = NULL;

	kept_open(f, &one, &other);
	kept_exec(f, other, "CREATE TABLE a (n INTEGER)");
	kept_expect_rows(f, one, kept_rows_sql, "");
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		kept_exec(f, other, steps[i].sql);
		kept_expect_rows(f, one, kept_rows_sql, steps[i].rows);
		kept_expect_rows(f, other, kept_rows_sql, steps[i].rows);
	}
	duck_close(one);
	duck_close(other);
}

/* Asked between the change and its commit, the answer is that of before. */
static void test_rows_of_a_transaction(void **state)
{
	struct file *f = *state;
	struct duck *one = NULL, *other = NULL;

	kept_open(f, &one, &other);
	kept_exec(f, other, "CREATE TABLE a AS SELECT 1 AS n");
	kept_exec(f, other, "BEGIN");
	kept_exec(f, other, "UPDATE a SET n = 2");
	kept_expect_rows(f, one, kept_rows_sql, "1");
	kept_expect_rows(f, other, kept_rows_sql, "2");
	kept_expect_rows(f, one, kept_rows_sql, "1");
	kept_exec(f, other, "COMMIT");
	kept_expect_rows(f, one, kept_rows_sql, "2");
	kept_exec(f, other, "BEGIN");
	kept_exec(f, other, "DELETE FROM a");
	kept_expect_rows(f, other, kept_rows_sql, "");
	kept_exec(f, other, "ROLLBACK");
	kept_expect_rows(f, one, kept_rows_sql, "2");
	/* A snapshot of before the other one's row. */
	kept_exec(f, one, "BEGIN; SELECT count(*) FROM a");
	kept_exec(f, other, "INSERT INTO a VALUES (3)");
	kept_expect_rows(f, other, kept_rows_sql, "2 3");
	kept_expect_rows(f, one, kept_rows_sql, "2");
	kept_expect_rows(f, other, kept_rows_sql, "2 3");
	duck_close(one);
	duck_close(other);
}

/* More questions than are kept, and one that fails. */
static void test_questions_about_rows(void **state)
{
	struct file *f = *state;
	struct strbuf rows = STRBUF_INIT;
	struct duck *one = NULL, *other = NULL;

	kept_open(f, &one, &other);
	kept_exec(f, other, "CREATE TABLE a AS SELECT 1 AS n");
	for (int turn = 0; turn < 2; turn++)
		for (int i = 0; i < 9; i++) {
			char *sql =
				xstrfmt("SELECT (n + %d)::VARCHAR FROM a", i);
			char *row = xstrfmt("%d", i + turn + 1);

			kept_expect_rows(f, one, sql, row);
			if (i == 8)
				kept_exec(f, other, "UPDATE a SET n = 2");
			free(row);
			free(sql);
		}
	assert_true(duck_query_rows(one, "SELECT x FROM a", kept_add_row, &rows,
				    &f->err) < 0);
	kept_expect_rows(f, one, kept_rows_sql, "2");
	strbuf_release(&rows);
	duck_close(one);
	duck_close(other);
}

static void test_another_file_of_that_name(void **state)
{
	struct file *f = *state;
	struct duck *one = NULL, *other = NULL;

	kept_open(f, &one, &other);
	kept_exec(f, other, "CREATE TABLE a (n INTEGER)");
	kept_expect(f, one, "a");
	duck_close(one);
	duck_close(other);
	assert_int_equal(unlink(f->path), 0);
	kept_open(f, &one, &other);
	kept_expect(f, one, "");
	duck_close(one);
	duck_close(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FILE(test_statements_of_another_session),
		IN_FILE(test_statements_in_transactions),
		IN_FILE(test_rows_that_another_session_changes),
		IN_FILE(test_rows_of_a_transaction),
		IN_FILE(test_questions_about_rows),
		IN_FILE(test_another_file_of_that_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
