/*
 * The tables of the state store: numbered migrations, embedded at build by
 * tools/embed-migrations. An applied one is never edited and never runs
 * backwards.
 */
#ifndef TIDEMARK_CORE_STORE_SCHEMA_H
#define TIDEMARK_CORE_STORE_SCHEMA_H

#include "core/plugin/store.h"

/* Apply pending migrations under a lock; `applied` counts them. An applied one
 * whose checksum differs, one that is newer than this binary, or a gap: CONFIG
 * saying which number. */
int store_migrate(struct store *s, int *applied, int *version,
		  struct error *err);
/* The last migration that is applied, 0: none. Errors as above, and ACCESS
 * where there are no tables yet and this user may not make them. Writes
 * nothing. */
int store_version(struct store *s, int *version, struct error *err);

#endif
