/*
 * Questions that are asked before their answers are wanted
 * (clients/pg_ahead.h). One message has those of recover() and of a prepare()
 * that finds nothing to write, another those of the recover() behind it.
 */
#ifndef TIDEMARK_DESTINATIONS_POSTGRES_AHEAD_H
#define TIDEMARK_DESTINATIONS_POSTGRES_AHEAD_H

#include "destinations/postgres/postgres.h"

/* The stage that a killed run may have left: its quoted name is $1. */
extern const char postgres_leftover_sql[];
extern const char postgres_rollback_sql[];
/* mark.c: the pipeline's row; and the rows of others with it. */
extern const struct mark_statement postgres_read_mark, postgres_read_all;

/* Append the look at target and marks: $1 and $2 are their quoted names. The
 * fault of the marks comes last, or POSTGRES_NO_FAULT. */
#define POSTGRES_NO_FAULT "none"
/* The look keeps its finding for the rest of its message, for it is dear. A
 * session begins without one, whatever a database or a role presets. */
#define POSTGRES_FAULT_SETTING "tidemark.fault"
void postgres_ahead_look_sql(struct strbuf *sql);
/* Behind it, in its message: fails if there is a fault. */
extern const char postgres_stop_sql[];
/* Append the question about the place of the target. $1 is the schema, $2 the
 * table, $3 the quoted name of the marks. Their fault comes last. */
void postgres_ahead_around_sql(struct strbuf *sql);
/* The history that the row of pipeline $1 has of target $2; and whether there
 * are rows. Caller frees. */
char *postgres_ahead_history_sql(const struct place *place);
char *postgres_ahead_rows_sql(const struct place *place);
/* Let a new session get to know the catalogs, for postgres_ahead_recover(). */
int postgres_ahead_warm(struct postgres_destination *d,
			const struct place *place, struct error *err);
/* Before prepare(), of a target at this place. */
int postgres_ahead_recover(struct postgres_destination *d,
			   const struct place *place,
			   const struct target *target, struct error *err);
/* Behind prepare(): postgres_leftover_sql unless in a refresh, and a whole
 * transaction that reads the row under its lock, to postgres_rollback_sql. */
int postgres_ahead_settled(struct postgres_destination *d, struct error *err);

#endif
