/*
 * The contract of a state store: a session in an SQL database, and the
 * differences of its SQL. The statements are in core/store, written once for
 * all engines. A handle is used by one thread at a time.
 *
 * Statements take text parameters $1, $2, ... whose first uses are in that
 * order. They name tables without a schema, and keep to the SQL that SQLite and
 * PostgreSQL share.
 */
#ifndef TIDEMARK_CORE_PLUGIN_STORE_H
#define TIDEMARK_CORE_PLUGIN_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/connection.h"
#include "core/plugin/grants.h"

/* First member of an engine's handle, which frees `where`. */
struct store {
	const struct store_ops *ops;
	char *where; /* the store's place, safe to show */
};

/* A store that is a database has its tables in one schema, which this one
 * tells from others. */
#define STORE_MIGRATIONS_TABLE "tidemark_migrations"
/* Is a table of that schema the store's? */
bool store_has_table(const char *name);

/* One step of the tables' making, in the engine's SQL. */
struct migration {
	int number; /* from 1, without gaps */
	const char *name; /* file name: "0001_run_history.sql" */
	const char *checksum; /* SHA-256 of the file, hex */
	const char *sql;
};
struct migrations {
	const struct migration *items;
	int n;
};

/* Facts and pieces of SQL of an engine. None is NULL; "" where there is nothing
 * to say. */
struct store_dialect {
	/* Names of the tables where ours live, one a row. */
	const char *tables_sql;
	/* Where no table is yet: a row if this user may not make them, with the
	 * fault and the remedy. */
	const char *barred_sql;
	/* The store's clock as an expression: µs since 1970. */
	const char *now_sql;
	const char *for_update; /* behind a SELECT: locks its rows */
	/* The same, of those that nobody else has locked. */
	const char *skip_locked;
	/* Keeps others from adding chunks until the transaction ends. "": the
	 * store has one writer at a time anyway. */
	const char *lock_chunks_sql;
	const struct migrations *migrations;
	bool is_file; /* for the processes of one machine */
};

enum store_begin {
	STORE_USUAL,
	STORE_DURABLE, /* its commit outlives a crash of the machine */
	/* The lock under which migrations are applied; the place for the tables
	 * is made if it is missing. Durable. */
	STORE_MIGRATION,
};

/* Called for each row; values are text or NULL and live until it returns. A
 * negative code ends the query. */
typedef int (*store_row)(void *ctx, const char *const *values,
			 struct error *err);

struct store_ops {
	const char *name;
	/* Ends with a NULL name; never NULL. */
	const struct url_option *options;
	const struct store_dialect *dialect; /* never NULL */
	/* Rights that the store takes; as those of a connector. */
	int (*grants)(const struct connection *conn, struct grants *out,
		      struct error *err);

	/* SQLite: creates directory (0700) and file (0600). `conn` outlives the
	 * handle: a server that was away is connected to again. */
	int (*open)(struct store **out, const struct connection *conn,
		    struct error *err);
	int (*begin)(struct store *s, enum store_begin how, struct error *err);
	int (*commit)(struct store *s, struct error *err);
	void (*rollback)(struct store *s); /* harmless outside one */
	/* In a transaction: several statements without parameters. */
	int (*script)(struct store *s, const char *sql, struct error *err);
	/* One statement; `row` NULL: rows are dropped. `shape` has a letter for
	 * each column: "t" for a text, "?" for one that may be NULL. Before the
	 * letters "1" asks for exactly one row, "+" for at least one. NULL
	 * takes any rows. TRANSIENT if the rows have another shape, before
	 * `row` is called. A lock that the statement does not get is TRANSIENT,
	 * for it says nothing about a lease in the store. */
	int (*run)(struct store *s, const char *sql, const char *const *params,
		   int n_params, const char *shape, store_row row, void *ctx,
		   struct error *err);
	void (*close)(struct store *s);
};

/* For an engine: ERROR_SCHEMA is about tables that are kept equal. If the
 * store's own tables are damaged, the code becomes ACCESS, with `cure`. Returns
 * the new code. `err` may be NULL. */
int store_damaged(int rc, const char *cure, struct error *err);

#endif
