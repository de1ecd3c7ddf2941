/*
 * The numbered migrations of a store, embedded at build by
 * tools/embed-migrations, and what may be done with those that a database has
 * already seen: never edited, never run backwards. It knows no SQL of any
 * engine.
 */
#ifndef TIDEMARK_STORES_COMMON_MIGRATIONS_H
#define TIDEMARK_STORES_COMMON_MIGRATIONS_H

#include "core/base/error.h"

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

extern const struct migrations migrations_sqlite, migrations_postgres;

/* May this binary go on with a database whose migration `number` was applied
 * as `name` with `checksum`? `previous` is the number applied before it (0:
 * none). CONFIG naming number, file and `where` (the store, safe to show) if
 * it was edited since, is newer than this binary, or leaves a gap. */
int migrations_check_applied(const struct migrations *known, int previous,
			     int number, const char *name, const char *checksum,
			     const char *where, struct error *err);

#endif
