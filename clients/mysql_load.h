/*
 * Writing through a session that was opened with `load`. Statements count the
 * rows that they touch. Rows come from memory by LOAD DATA LOCAL, or by
 * prepared INSERTs where the server forbids that. No file is ever opened: the
 * file's name in LOAD DATA LOCAL is a random word of that one statement. A
 * server that asks for another name, or at another time, is refused.
 */
#ifndef TIDEMARK_CLIENTS_MYSQL_LOAD_H
#define TIDEMARK_CLIENTS_MYSQL_LOAD_H

#include "clients/mysql.h"
#include "core/base/strbuf.h"

/* One command with "?" parameters as text; `affected` (or NULL): the rows that
 * it inserted, deleted, or really changed. */
int mysql_client_exec_count(struct mysql_client *db, const char *sql, int n,
			    const char *const *params, int64_t *affected,
			    struct error *err);
/* INSERT ... SELECT ... ON DUPLICATE KEY UPDATE: how many rows are new, and how
 * many were changed. */
int mysql_client_exec_merge(struct mysql_client *db, const char *sql,
			    int64_t *inserted, int64_t *updated,
			    struct error *err);
/* The two halves of mysql_client_exec: sent, and answered. */
int mysql_client_exec_begin(struct mysql_client *db, const char *sql,
			    struct error *err);
int mysql_client_exec_end(struct mysql_client *db, struct error *err);

/* The outcome of sent rows. A value that does not fit is a warning, as LOCAL
 * means IGNORE. Any warning means that rows have changed or are missing. */
struct mysql_client_loaded {
	int64_t rows; /* taken */
	unsigned warnings;
	unsigned number; /* errno of the first of them */
	char message[512]; /* the server's text of it */
};

/* Appends the next piece of text to `out`: 1, or 0 when nothing is left;
 * negative: error, the load is given up. */
typedef int (*mysql_client_piece)(void *ctx, struct strbuf *out,
				  struct error *err);

/* LOAD DATA LOCAL INFILE 'word' <into>: the text comes from `next`. */
int mysql_client_load(struct mysql_client *db, const char *into,
		      mysql_client_piece next, void *ctx,
		      struct mysql_client_loaded *out, struct error *err);
/* Is it that the server, or a proxy, forbids LOCAL? */
bool mysql_client_load_forbidden(const struct error *err);

struct mysql_client_value {
	const char *bytes; /* NULL: NULL */
	size_t n;
	bool binary; /* bytes, not text in utf8mb4 */
};

/* `head` VALUES `row`, `row`, ...: values row by row, n_columns a row. By array
 * binding if library and server are MariaDB's, else by one statement of many
 * rows. A statement stays prepared until another one, or the close. */
int mysql_client_insert(struct mysql_client *db, const char *head,
			const char *row,
			const struct mysql_client_value *values,
			size_t n_columns, size_t n_rows,
			struct mysql_client_loaded *out, struct error *err);
/* Rows that one call takes at most, for so many columns. */
size_t mysql_client_insert_rows(const struct mysql_client *db,
				size_t n_columns);

#endif
