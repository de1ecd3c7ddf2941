/* Is the schema tidemark ours alone? */
#ifndef TIDEMARK_STORES_POSTGRES_OWNED_H
#define TIDEMARK_STORES_POSTGRES_OWNED_H

#include "clients/pg.h"

/* Set the session's search path to the schema, if there is one. This happens
 * when the session is new (`open`: other settings are made as well), and in a
 * migration once the schema is made. SCHEMA if somebody else owns it or a table
 * of it, may make objects there, or has added to a table. Nothing is touched
 * then. */
int postgres_store_enter(struct pg *pg, bool open, struct error *err);

#endif
