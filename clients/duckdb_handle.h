/* Shared by the files of the DuckDB client. */
#ifndef TIDEMARK_CLIENTS_DUCKDB_HANDLE_H
#define TIDEMARK_CLIENTS_DUCKDB_HANDLE_H

#include <duckdb.h>

#include "clients/duckdb.h"

struct duck_database;

struct duck {
	duckdb_connection connection;
	struct duck_database *database; /* NULL: closed for another opener */
	struct duck *next; /* the same database's next one */
	char *path; /* opens a reader again; else NULL */
	bool busy; /* a reader at work: nobody may take its database away */
	struct duck_kept *kept; /* the database's; NULL: closed */
	bool in_transaction; /* it may be in one */
};

/* In duckdb_kept.c: answers that a database keeps. */
struct duck_kept *duck_kept_new(void);
void duck_kept_free(struct duck_kept *k);
/* Before a statement, and behind it. */
void duck_note(struct duck *db, const char *sql);

/* By enum duck_kind. */
extern const duckdb_type duck_types[];

/* Set `err` from DuckDB's text. */
int duck_error_text(const char *text, struct error *err);
void duck_bind(duckdb_prepared_statement st, const char *const *params,
	       size_t n);

#endif
