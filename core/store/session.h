/*
 * How the state store's SQL is run: what the files of this folder share around
 * the session that an engine brings.
 */
#ifndef TIDEMARK_CORE_STORE_SESSION_H
#define TIDEMARK_CORE_STORE_SESSION_H

#include "core/base/connection.h"
#include "core/plugin/store.h"

#define STORE_NUMBER_SIZE 24

/* The engine of the URL. CONFIG if there is none, or if it does not know an
 * option of the URL. */
int store_find(const struct store_ops **out, const struct connection *conn,
	       struct error *err);
/* The same, and `ops->open`. */
int store_open(struct store **out, const struct connection *conn,
	       struct error *err);
void store_close(struct store *s); /* NULL is fine */

/* `ops->run`, with each @ in `sql` as the store's now. */
int store_run(struct store *s, const char *sql, const char *const *params,
	      int n_params, const char *shape, store_row row, void *ctx,
	      struct error *err);
/* The same without an answer. */
int store_exec(struct store *s, const char *sql, const char *const *params,
	       int n_params, struct error *err);
/* Commit if `rc` is 0, else roll back; returns `rc`, or why it could not. */
int store_end(struct store *s, int rc, struct error *err);

/* A row callback: sets the bool at `ctx`. */
int store_note_any(void *ctx, const char *const *values, struct error *err);
/* Decimal text of a number, for parameters; and back, NULL is 0. */
const char *store_number(char out[STORE_NUMBER_SIZE], int64_t value);
int64_t store_number_of(const char *text);

#endif
