/* The list of tables that a DuckDB file keeps: is it ever older than the
 * tables? */
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
	struct duck *one, *other;

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
	struct duck *one, *other;

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

static void test_another_file_of_that_name(void **state)
{
	struct file *f = *state;
	struct duck *one, *other;

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
		IN_FILE(test_another_file_of_that_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
