/*
 * Objects under our names that others have made, or have added to. A view may
 * run functions with the rights of whoever reads it, and a trigger may change
 * the mark that is written. Defaults, generated columns, CHECK constraints and
 * indexes are safe: the server takes no stored functions there.
 */
#ifndef TIDEMARK_DESTINATIONS_MYSQL_OWNED_H
#define TIDEMARK_DESTINATIONS_MYSQL_OWNED_H

#include "destinations/mysql/internal.h"

/* SQL for the fault of the table of the marks; NULL: no fault, or no table.
 * MySQL shows triggers only to users who may make some. */
#define OWNED_MARK_FAULT                                                       \
	"(SELECT CASE\n"                                                       \
	"   WHEN t.table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') THEN\n"    \
	"     (SELECT CONCAT('has trigger ', GROUP_CONCAT(g.trigger_name\n"    \
	"         ORDER BY g.trigger_name SEPARATOR ', '))\n"                  \
	"      FROM information_schema.triggers g\n"                           \
	"      WHERE g.event_object_schema = ?\n"                              \
	"        AND g.event_object_table = '" NAME_WATERMARK_TABLE "')\n"     \
	"   ELSE 'is not a table' END\n"                                       \
	" FROM information_schema.tables t WHERE t.table_schema = ?\n"         \
	"   AND t.table_name = '" NAME_WATERMARK_TABLE "')"
#define OWNED_MARK_PARAMS(place) (place)->database, (place)->database

/* SCHEMA for such a text; 0 for NULL. */
int mysql_target_owned_refuse(const char *fault, const struct place *place,
			      struct error *err);
/* Asks, and refuses. */
int mysql_target_owned_check(struct mysql_client *db, const struct place *place,
			     struct error *err);
/* Problems of the view over a raw table, for `check`; `invoker`: its
 * security. */
void mysql_target_owned_look(bool invoker, const struct target *target,
			     struct problems *out);

#endif
