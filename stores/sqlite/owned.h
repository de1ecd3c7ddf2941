/* Objects of others under the names of the state store's tables. */
#ifndef TIDEMARK_STORES_SQLITE_OWNED_H
#define TIDEMARK_STORES_SQLITE_OWNED_H

#include "clients/sqlite.h"
#include "core/base/error.h"

/* SCHEMA for a table of ours that has triggers, or is a view or a virtual
 * table. */
int sqlite_store_check_owned(struct sqlite *db, struct error *err);

#endif
