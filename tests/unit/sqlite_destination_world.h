/* An SQLite file for the unit tests of its destination. A pipeline has one
 * table with a column v beside its key. Rows are loaded one by one, and the
 * test looks at the file's content. Any unexpected result fails the test. Not
 * for the contract suite, which knows no engine. */
#ifndef TIDEMARK_TESTS_UNIT_SQLITE_DESTINATION_WORLD_H
#define TIDEMARK_TESTS_UNIT_SQLITE_DESTINATION_WORLD_H

#include "clients/sqlite.h"
#include "destinations/sqlite/internal.h"
#include "tests/unit/unit.h"

struct file {
	char *directory, *path;
	struct connection conn;
	struct destination *d; /* NULL while it is closed */
	struct schema schema;
	struct target target; /* pipeline p, table orders, upsert */
	struct error err;
	struct load_counts counts; /* the last load's */
	struct batch batch;
	int n_batches;
	const char *delivered; /* the mark that comes with the next loads */
};

#define IN_FILE(f) cmocka_unit_test_setup_teardown(f, file_make, file_unmake)

int file_make(void **state);
void file_close(struct file *f);
int file_unmake(void **state);

/* A column at the end; all but the first take NULL. */
void file_column(struct file *f, const char *name, enum type_kind kind);
/* id, and one more column, which is the mark. */
void file_schema(struct file *f, enum type_kind key, enum type_kind v);

/* Close an open run, and do the work of a run before its first batch. 0 or the
 * positive code, here and from file_load and file_finish. */
int file_begin(struct file *f);
/* One more row to load; `value` NULL: its v is NULL. `n` bytes count for texts
 * and bytes only. */
void file_row(struct file *f, int64_t id, const void *value, size_t n);
/* Load what file_row has gathered. */
int file_load(struct file *f);
int file_finish(struct file *f);
/* A run of one row, from its beginning to its end. */
void file_sync(struct file *f, int64_t id, const void *value, size_t n);

/* The file by another handle, which the caller closes. */
struct sqlite *file_look(struct file *f);
void file_exec(struct file *f, const char *sql);
/* The first value of the first row. */
void file_expect(struct file *f, const char *sql, const char *expected);

#endif
