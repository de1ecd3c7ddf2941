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
};

/* By enum duck_kind. */
extern const duckdb_type duck_types[];

/* Set `err` from DuckDB's text. */
int duck_error_text(const char *text, struct error *err);
void duck_bind(duckdb_prepared_statement st, const char *const *params,
	       size_t n);

#endif
