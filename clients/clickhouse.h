/*
 * A ClickHouse server over its HTTP interface: statements, small answers, rows
 * in (Native) and rows out (RowBinary). The server's exceptions become struct
 * error, also in the middle of an answer that began as a success. The server
 * keeps no session: each request stands for itself. One thread uses a client;
 * only clickhouse_interrupt() may come from another.
 */
#ifndef TIDEMARK_CLIENTS_CLICKHOUSE_H
#define TIDEMARK_CLIENTS_CLICKHOUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clients/http.h"
#include "core/base/strlist.h"

struct clickhouse;

/* clickhouse://user:password@host:8123/database, or clickhouses:// with TLS and
 * port 8443. Asks for the version and the database. A server that is too old is
 * refused here (ACCESS), and so is a database that does not exist (SCHEMA).
 * Without `writes` every request only reads. */
int clickhouse_open(struct clickhouse **out, const struct connection *conn,
		    bool writes, struct error *err);
void clickhouse_close(struct clickhouse *c); /* NULL is fine */
void clickhouse_interrupt(struct clickhouse *c);
/* From now on requests belong to a session at the server, which can have
 * temporary tables. */
void clickhouse_use_session(struct clickhouse *c, const char *id);
const char *clickhouse_database(const struct clickhouse *c);
const char *clickhouse_user(const struct clickhouse *c);
const char *clickhouse_shown(const struct clickhouse *c);
/* The options behind "?" in a URL. Connector and destination accept the same
 * ones, because either may be given the other's URL. */
extern const struct url_option clickhouse_url_options[];

/* A statement that gives no rows. It may be sent twice, when its answer is
 * lost, but with `once` never. ACCESS if the answer is not ClickHouse's. */
int clickhouse_exec(struct clickhouse *c, const char *sql, struct error *err);
int clickhouse_exec_once(struct clickhouse *c, const char *sql,
			 struct error *err);
int clickhouse_execf(struct clickhouse *c, struct error *err, const char *fmt,
		     ...) __attribute__((format(printf, 3, 4)));

/* The rows of a small answer, as text. */
struct clickhouse_rows {
	size_t n_rows, n_columns;
	char **cells; /* by rows; NULL is NULL */
};
/* Initialise `out`: it holds nothing before. A statement that gives nothing has
 * no rows. `shape` is the expected answer, see answer.h. */
int clickhouse_query(struct clickhouse *c, const char *sql, const char *shape,
		     struct clickhouse_rows *out, struct error *err);
/* Questions that are about to be asked by clickhouse_query() are asked ahead,
 * in one request. Each is one SELECT that may stand in brackets, and none
 * depends on another: the server answers them in any order. Its answer is taken
 * once. Rows that are written, and any other statement, drop what is left, and
 * clickhouse_forget_ahead(). If one of the questions fails, each is asked when
 * its turn comes. Releases `questions`. An error only if the server is away. */
int clickhouse_ask_ahead(struct clickhouse *c, struct strlist *questions,
			 struct error *err);
bool clickhouse_is_ahead(const struct clickhouse *c, const char *sql);
void clickhouse_forget_ahead(struct clickhouse *c);
int clickhouse_rows_check(const struct clickhouse_rows *r, const char *shape,
			  const char *where, struct error *err);
void clickhouse_rows_release(struct clickhouse_rows *r);
/* NULL: NULL, or there is no such row or column. */
const char *clickhouse_cell(const struct clickhouse_rows *r, size_t row,
			    size_t column);
/* The first row's first column; `missing` if there is none. */
int64_t clickhouse_rows_i64(const struct clickhouse_rows *r, int64_t missing);
/* Parse rows of the server's TabSeparated text. TRANSIENT if it is no such
 * text, ACCESS if it has more cells than a small answer has. */
#define CLICKHOUSE_CELLS_MOST 1000000
int clickhouse_rows_parse(struct clickhouse_rows *out, const char *text,
			  size_t n, struct error *err);

/* "INSERT INTO t (a, b)": rows in Native blocks come from `source`, which
 * `rewind` begins anew. The server does not insert two batches with an equal
 * `token`; NULL: none. */
int clickhouse_insert(struct clickhouse *c, const char *sql, const char *token,
		      http_source source, void (*rewind)(void *ctx), void *ctx,
		      struct error *err);
/* "INSERT INTO t (a, b)" and "SELECT ...", as one. */
int clickhouse_insert_select(struct clickhouse *c, const char *insert,
			     const char *token, const char *select,
			     struct error *err);

/* Read the rows of "SELECT a, b FROM ..." in RowBinary. Behind each byte of 1
 * comes a row; another byte begins an exception. The columns' types come before
 * the rows. Another number of columns than `width` is an error. */
int clickhouse_select(struct clickhouse *c, const char *sql, size_t width,
		      struct error *err);
/* As the server writes it, until the end; NULL: there are no rows. */
const char *clickhouse_select_type(const struct clickhouse *c, size_t column);
/* 1: there is a row, its values come by clickhouse_take; 0: the end. */
int clickhouse_next(struct clickhouse *c, struct error *err);
/* The next `n` bytes, valid until the next call. */
int clickhouse_take(struct clickhouse *c, size_t n, const uint8_t **out,
		    struct error *err);
/* A number of variable length, as strings have before them. */
int clickhouse_take_length(struct clickhouse *c, size_t *out,
			   struct error *err);
void clickhouse_select_end(struct clickhouse *c);

/* `name` in backquotes, 'text' in quotes, escaped. */
void clickhouse_quote_name(struct strbuf *sb, const char *name);
void clickhouse_quote_text(struct strbuf *sb, const char *text);
/* "LowCardinality(Nullable(String))" is "String"; caller frees. `nullable` may
 * be NULL. */
char *clickhouse_plain_type(const char *declared, bool *nullable);

/* The user whose rights a connection has. */
struct clickhouse_grantee {
	char *user; /* in backquotes, as GRANT takes it */
	char *database; /* as it is */
};

/* From the URL and its defaults. */
int clickhouse_grantee_find(struct clickhouse_grantee *out,
			    const struct connection *conn, struct error *err);
void clickhouse_grantee_release(struct clickhouse_grantee *g);

#endif
