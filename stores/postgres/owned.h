/* Is the schema tidemark ours alone? */
#ifndef TIDEMARK_STORES_POSTGRES_OWNED_H
#define TIDEMARK_STORES_POSTGRES_OWNED_H

#include "clients/pg.h"

/* Lead the session's names into the schema, if there is one: when the session
 * is new (`open`: it is set up as well), and in a migration, once the schema is
 * made. SCHEMA, and nothing there is touched, if somebody else owns it or a
 * table of it, may make objects there, or has added to a table. */
int postgres_store_enter(struct pg *pg, bool open, struct error *err);

#endif
