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
	"('pipeline', 25::oid), ('watermark', 114), ('batch_id', 25),\n"       \
	"      ('fence', 20), ('rows_total', 20), ('updated_at', 1184),\n"     \
	"      ('created_target', 16), ('target', 25), ('target_id', 25),\n"   \
	"      ('target_rows', 20)"

#define OWNED_MARK_LACKS                                                       \
	"(SELECT format('has no column %s of the type %s', k.name,\n"          \
	"    format_type(k.type, NULL))\n"                                     \
	"  FROM (VALUES " OWNED_MARK_COLUMNS ") AS k(name, type)\n"            \
	"  WHERE NOT EXISTS (SELECT FROM pg_attribute a\n"                     \
	"    WHERE a.attrelid = c.oid AND a.attname = k.name\n"                \
	"      AND a.atttypid = k.type AND a.attnum > 0\n"                     \
	"      AND NOT a.attisdropped) LIMIT 1)"

/* Functions that are built in may run SQL of their own: query_to_xml(). A
 * constant runs nothing, in a column that somebody has added as well. */
#define OWNED_MARK_COMPUTED                                                    \
	"(SELECT format('computes column %I by %s', a.attname, e.text)\n"      \
	"  FROM pg_attrdef d JOIN pg_attribute a\n"                            \
	"    ON a.attrelid = d.adrelid AND a.attnum = d.adnum\n"               \
	"  CROSS JOIN LATERAL pg_get_expr(d.adbin, c.oid) AS e(text)\n"        \
	"  WHERE d.adrelid = c.oid AND (a.attgenerated <> '' OR e.text !~\n"   \
	"    '^(now[(][)]|CURRENT_TIMESTAMP|NULL|true|false|[-0-9.()]+'\n"     \
	"    '|''([^'']|'''')*'')(::[a-z ]+([(][0-9,]+[)])?)*$')\n"            \
	"  LIMIT 1)"

/* Operators that are built in run nothing either. */
#define OWNED_MARK_CHECKS                                                      \
	"(SELECT format('has constraint %I', k.conname) FROM pg_constraint "   \
	"k\n"                                                                  \
	"  WHERE k.conrelid = c.oid AND k.contype = 'c'\n"                     \
	"    AND pg_get_constraintdef(k.oid) ~ '\\w[(]' LIMIT 1)"

/* SQL: what is wrong with the table of the marks, whose quoted name is the text
 * `name`; NULL: nothing, or there is none. */
#define OWNED_MARK_FAULT(name)                                                 \
	"(SELECT coalesce(" PG_OWNED_TABLE ",\n  " OWNED_MARK_LACKS            \
	",\n  " OWNED_MARK_COMPUTED ",\n  " OWNED_MARK_CHECKS ")\n"            \
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
