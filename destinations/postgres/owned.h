/*
 * Objects under our names that others have made, or have added to: the table of
 * the marks and a raw table have to be ours alone, a target may be of anybody.
 */
#ifndef TIDEMARK_DESTINATIONS_POSTGRES_OWNED_H
#define TIDEMARK_DESTINATIONS_POSTGRES_OWNED_H

#include "clients/pg_owned.h"
#include "destinations/postgres/postgres.h"

/* Its columns by the numbers of their types, which are built in. */
#define OWNED_MARK_COLUMNS                                                     \
	"pipeline 25, watermark 114, batch_id 25, fence 20, rows_total 20, "   \
	"updated_at 1184, created_target 16, target 25, target_id 25, "        \
	"target_rows 20"

/* SQL: what is wrong with the table of the marks, whose quoted name is the text
 * `name`; NULL: nothing, or there is none. */
#define OWNED_MARK_FAULT(name)                                                 \
	"(SELECT coalesce(" PG_OWNED_TABLE ",\n"                               \
	"  (SELECT CASE WHEN string_agg(format('%s %s%s', a.attname,\n"        \
	"      a.atttypid::oid, a.attgenerated), ', ' ORDER BY a.attnum)\n"    \
	"    IS DISTINCT FROM '" OWNED_MARK_COLUMNS "'\n"                      \
	"    THEN 'has other columns than Tidemark gives it' END\n"            \
	"  FROM pg_attribute a WHERE a.attrelid = c.oid\n"                     \
	"    AND a.attnum > 0 AND NOT a.attisdropped))\n"                      \
	"FROM pg_class c WHERE c.oid = to_regclass(" name "))"

/* SCHEMA for such a text; 0 for NULL. */
int postgres_owned_refuse(const char *fault, const struct place *place,
			  struct error *err);
/* Statements for inside a transaction: from then on nobody alters the table,
 * and if something is wrong with it they fail. */
void postgres_owned_hold(struct strbuf *sql, const struct place *place);
/* After they have failed, and the transaction is over: why, in `err`. */
int postgres_owned_explain(struct pg *pg, const struct place *place,
			   struct error *err);
/* In a transaction, which is rolled back when they fail. */
int postgres_owned_check(struct postgres_destination *d,
			 const struct place *place, struct error *err);
/* What check says of the table with the target's rows: that others may alter
 * it, or that its triggers run functions of others. */
void postgres_owned_look(const struct catalog_table *t,
			 const struct place *place, const struct target *target,
			 struct problems *out);

#endif
