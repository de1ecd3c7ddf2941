/*
 * Writing through a session that was opened with `load`: statements that count
 * the rows they touch, rows from memory by LOAD DATA LOCAL, and where the
 * server forbids that, by prepared INSERTs. Called by destinations/mysql. No
 * file is ever opened: what LOAD DATA LOCAL names as its file is a random word
 * of that one statement, and a server that asks for anything else, or at any
 * other time, is refused.
 */
#ifndef TIDEMARK_CLIENTS_MYSQL_LOAD_H
#define TIDEMARK_CLIENTS_MYSQL_LOAD_H

#include "clients/mysql.h"
#include "core/base/strbuf.h"

/* One command with "?" parameters as text; `affected` (or NULL): the rows that
 * it inserted, deleted, or really changed. */
int mydb_exec_count(struct mydb *db, const char *sql, int n,
		    const char *const *params, int64_t *affected,
		    struct error *err);
/* INSERT ... SELECT ... ON DUPLICATE KEY UPDATE: how many rows are new, and how
 * many were changed. */
int mydb_exec_merge(struct mydb *db, const char *sql, int64_t *inserted,
		    int64_t *updated, struct error *err);
/* The two halves of mydb_exec: sent, and answered. */
int mydb_exec_begin(struct mydb *db, const char *sql, struct error *err);
int mydb_exec_end(struct mydb *db, struct error *err);

/* What became of rows that were sent. A value that does not fit is a warning,
 * as LOCAL means IGNORE: any warning means that the rows are not what they
 * were, or are not there. */
struct mydb_loaded {
	int64_t rows; /* taken */
	unsigned warnings;
	unsigned number; /* errno of the first of them */
	char message[512]; /* the server's text of it */
};

/* Appends the next piece of text to `out`: 1, or 0 when nothing is left;
 * negative: error, the load is given up. */
typedef int (*mydb_piece)(void *ctx, struct strbuf *out, struct error *err);

/* LOAD DATA LOCAL INFILE 'word' <into>: the text comes from `next`. */
int mydb_load(struct mydb *db, const char *into, mydb_piece next, void *ctx,
	      struct mydb_loaded *out, struct error *err);
/* Is it that the server, or a proxy, forbids LOCAL? */
bool mydb_load_forbidden(const struct error *err);

struct mydb_value {
	const char *bytes; /* NULL: NULL */
	size_t n;
	bool binary; /* bytes, not text in utf8mb4 */
};

/* `head` VALUES `row`, `row`, ...: values row by row, n_columns a row. By array
 * binding if library and server are MariaDB's, else by one statement of many
 * rows. A statement stays prepared until another one, or the close. */
int mydb_insert(struct mydb *db, const char *head, const char *row,
		const struct mydb_value *values, size_t n_columns,
		size_t n_rows, struct mydb_loaded *out, struct error *err);
/* Rows that one call takes at most, for so many columns. */
size_t mydb_insert_rows(const struct mydb *db, size_t n_columns);

#endif
