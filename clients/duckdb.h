/*
 * With its .c files the only place that knows DuckDB's own header. It opens a
 * database in this process, runs statements, reads results row by row and fills
 * appenders by column. DuckDB's errors become struct error.
 *
 * Errors are classed by the name that DuckDB puts before its text:
 * - IO, out of memory and disk: ACCESS
 * - a file that another process holds: STATE
 * - conversion and constraint: DATA
 * - catalog and binder: SCHEMA
 * - interrupted: STOPPED
 *
 * One thread uses a `struct duck`; only duck_interrupt() may come from another.
 */
#ifndef TIDEMARK_CLIENTS_DUCKDB_H
#define TIDEMARK_CLIENTS_DUCKDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

struct duck;
struct duck_result;
struct duck_appender;

/* A setting of DuckDB's by its own name. */
struct duck_setting {
	const char *name;
	const char *value;
};

const char *duck_version(void); /* the library's: "v1.5.6" */

/* Open or make the file; NULL: a database in memory. A setting that DuckDB
 * refuses is a CONFIG error. If this process has the file open already, both
 * openers share it with the settings of the first. Readers at rest give way. A
 * reader at work is waited for (STATE after 10 s). */
int duck_open(struct duck **out, const char *path,
	      const struct duck_setting *settings, size_t n_settings,
	      struct error *err);
/* Make an empty database under a name that is free. The file has the name only
 * once it is whole. If a file or a link has the name by then, it stays, and
 * that is no error. */
int duck_make(const char *path, const struct duck_setting *settings,
	      size_t n_settings, struct error *err);
/* A reader of a file, at rest. Between duck_wake and duck_rest the file is
 * open. It is read-only, which shuts out other processes that would write, or
 * as a writer of this process has it. At rest it may be closed. */
struct duck *duck_reader(const char *path);
int duck_wake(struct duck *db, const struct duck_setting *settings,
	      size_t n_settings, struct error *err);
void duck_rest(struct duck *db);
/* Rolls back what is open. After the last to leave the file stays open for a
 * moment, as core/base/pool.h says; then its log is written into it. NULL is
 * fine. */
void duck_close(struct duck *db);
/* Make the statement that runs in another thread fail soon. */
void duck_interrupt_all(struct duck *db);
/* Writers of one database of this process take turns, in the order in which
 * they ask. A thread that has the turn does not ask for another. */
void duck_turn_begin(struct duck *db);
void duck_turn_end(struct duck *db);
/* The database, to be compared with that of others while it is open. */
const void *duck_database_of(const struct duck *db);

/* One or more statements, results dropped. */
int duck_exec(struct duck *db, const char *sql, struct error *err);
int duck_execf(struct duck *db, struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* One statement with text parameters ($1...; a NULL pointer is NULL). `rows`
 * (may be NULL) gets how many rows it changed. */
int duck_change(struct duck *db, const char *sql, const char *const *params,
		size_t n_params, int64_t *rows, struct error *err);
/* As above for one that returns rows; whole result in memory. */
int duck_query(struct duck *db, struct duck_result **out, const char *sql,
	       const char *const *params, size_t n_params, struct error *err);

/* As duck_query(), for a question about tables and views whose columns are all
 * VARCHAR. The answer is kept until a statement of this process may have
 * changed any: nobody else can, while the file is open here. `each` gets the
 * rows one by one. It may not ask. */
typedef void duck_row(void *ctx, const char *const *cells);
int duck_query_tables(struct duck *db, const char *sql, duck_row *each,
		      void *ctx, struct error *err);
/* The same for a question about rows: kept until a statement of this process
 * may have changed any, or a transaction of it has ended. */
int duck_query_rows(struct duck *db, const char *sql, duck_row *each, void *ctx,
		    struct error *err);

/* Step to the next row; false behind the last. Columns from 0; the value must
 * have the type asked for (BIGINT, BOOLEAN, VARCHAR). */
bool duck_next(struct duck_result *r);
size_t duck_columns(const struct duck_result *r);
bool duck_is_null(const struct duck_result *r, size_t column);
int64_t duck_i64(const struct duck_result *r, size_t column);
bool duck_bool(const struct duck_result *r, size_t column);
/* Caller frees; NULL for NULL. */
char *duck_str(const struct duck_result *r, size_t column);
void duck_result_free(struct duck_result *r); /* NULL is fine */

/* The type of a scanned column, or of the values that fill an appender's
 * column. DuckDB casts them to the table's own type. */
enum duck_kind {
	DUCK_BOOL,
	DUCK_INT16,
	DUCK_INT32,
	DUCK_INT64,
	DUCK_UINT64,
	DUCK_FLOAT32,
	DUCK_FLOAT64,
	DUCK_DECIMAL, /* int16, 32, 64 or 128 bits by `precision` */
	DUCK_TEXT,
	DUCK_BYTES,
	DUCK_DATE,
	DUCK_TIME,
	DUCK_TIMESTAMP,
	DUCK_TIMESTAMPTZ,
	DUCK_INTERVAL, /* int32 months, int32 days, int64 µs */
	DUCK_UUID, /* 128 bits, sign flipped, low half first */
	/* Only read: */
	DUCK_INT8,
	DUCK_UINT8,
	DUCK_UINT16,
	DUCK_UINT32,
	DUCK_HUGEINT, /* 128 bits, low half first */
	DUCK_UHUGEINT,
	DUCK_TIMESTAMP_S, /* seconds */
	DUCK_TIMESTAMP_MS, /* milliseconds */
	DUCK_KINDS
};

struct duck_type {
	enum duck_kind kind;
	uint8_t precision, scale; /* DECIMAL */
};

/* Appends to columns `names` of a table (catalog NULL: the default one); the
 * others get their defaults. */
int duck_appender_open(struct duck *db, struct duck_appender **out,
		       const char *catalog, const char *schema,
		       const char *table, const char *const *names,
		       const struct duck_type *types, size_t n_columns,
		       struct error *err);
/* Rows that one chunk holds: the next duck_chunk_append takes up to so many. */
size_t duck_chunk_rows(void);
/* Where the values of a column of the chunk go. Empty again after each
 * append. */
void *duck_chunk_data(struct duck_appender *a, size_t column);
/* Its validity bits, 64 rows a word, 1 is present, all set to begin with. */
uint64_t *duck_chunk_validity(struct duck_appender *a, size_t column);
/* Point cell `row` of a text or bytes column at `n` bytes, which must live
 * until the chunk is appended. Text must be UTF-8. */
void duck_chunk_set_text(void *data, size_t row, const uint8_t *src, size_t n);
/* Append the chunk's first `n` rows. */
int duck_chunk_append(struct duck_appender *a, size_t n, struct error *err);
/* Hand over what is buffered and close; the appender is gone in any case. */
int duck_appender_finish(struct duck_appender *a, struct error *err);
/* Close after a failure, when the transaction will be rolled back; what is
 * buffered may or may not be handed over. NULL is fine. */
void duck_appender_drop(struct duck_appender *a);

/* A statement whose rows come in chunks, column by column, as DuckDB holds
 * them. `types` are the expected types of the columns; TRANSIENT if they have
 * changed. */
struct duck_scan;
int duck_scan_open(struct duck *db, struct duck_scan **out, const char *sql,
		   const char *const *params, size_t n_params,
		   const struct duck_type *types, size_t n_columns,
		   struct error *err);
/* The next chunk: *rows of it, 0 at the end. */
int duck_scan_next(struct duck_scan *s, size_t *rows, struct error *err);
/* A column of the chunk, until the next one: its values, and its validity bits
 * (64 rows a word, 1 is present; NULL: all are). */
const void *duck_scan_data(const struct duck_scan *s, size_t column);
const uint64_t *duck_scan_validity(const struct duck_scan *s, size_t column);
/* The bytes of a text or bytes column. */
const char *duck_cell_text(const void *data, size_t row, size_t *n);
void duck_scan_close(struct duck_scan *s); /* NULL is fine */

#endif
