/* A DuckDB file for the unit tests of its destination. A pipeline has one table
 * with a mark v beside its key. Rows are loaded one by one, and the test looks
 * at the file's content. Any unexpected result fails the test. Not for the
 * contract suite, which knows no engine. */
#ifndef TIDEMARK_TESTS_UNIT_DUCKDB_DESTINATION_WORLD_H
#define TIDEMARK_TESTS_UNIT_DUCKDB_DESTINATION_WORLD_H

#include "destinations/duckdb/internal.h"
#include "tests/unit/unit.h"

struct file {
	char *directory, *path;
	struct connection conn;
	struct schema schema;
	struct target target; /* pipeline p, table orders */
	struct destination *d; /* NULL while it is closed */
	struct error err;
	struct load_counts counts; /* the last load's */
	int n_batches;
};

#define IN_FILE(f) cmocka_unit_test_setup_teardown(f, file_make, file_unmake)

int file_make(void **state);
void file_close(struct file *f);
int file_unmake(void **state);

/* id, a number, and v, the mark. */
void file_schema(struct file *f, enum type_kind mark);
/* Do the work of a run before its first batch. 0 or the positive code, here and
 * from file_load and file_finish. */
int file_begin(struct file *f);
/* One row; `value` NULL: its mark is NULL. `delivered`: the mark up to which
 * the destination has all, or NULL. */
int file_load(struct file *f, int64_t id, const int64_t *value,
	      const char *delivered);
int file_finish(struct file *f);
/* A run of one row, from its beginning to its end. */
void file_sync(struct file *f, int64_t id, const int64_t *value,
	       const char *delivered);

/* Both through the destination's own handle while there is one. */
void file_exec(struct file *f, const char *sql);
/* The first value of the first row. */
void file_expect(struct file *f, const char *sql, const char *expected);

#endif
