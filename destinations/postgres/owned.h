/*
 * Objects under our names that others have made, or have added to. The table of
 * the marks and a raw table have to be ours alone, a target may belong to
 * anybody.
 */
#ifndef TIDEMARK_DESTINATIONS_POSTGRES_OWNED_H
#define TIDEMARK_DESTINATIONS_POSTGRES_OWNED_H

#include "clients/pg_owned.h"
#include "destinations/postgres/postgres.h"

/* Append SQL for the fault of the table of the marks, whose quoted name is the
 * text `name`; NULL: no fault, or no table. */
void postgres_owned_add_fault(struct strbuf *sql, const char *name);
/* SCHEMA for such a text; 0 for NULL. */
int postgres_owned_refuse(const char *fault, const struct place *place,
			  struct error *err);
/* Append a statement for inside a transaction: from then on nobody alters the
 * table. The other, behind it, fails if something is wrong with it. */
void postgres_owned_lock(struct strlist *out, const struct place *place);
void postgres_owned_stop(struct strlist *out, const struct place *place);
/* After they have failed, and the transaction is over: why, in `err`. */
int postgres_owned_explain(struct pg *pg, const struct place *place,
			   struct error *err);
/* In a transaction, which is rolled back when they fail. */
int postgres_owned_check(struct postgres_destination *d,
			 const struct place *place, struct error *err);
/* Problems of the table with the target's rows, for `check`: others may alter
 * it, or its triggers run functions of others. */
void postgres_owned_look(const struct catalog_table *t,
			 const struct place *place, const struct target *target,
			 struct problems *out);

#endif
