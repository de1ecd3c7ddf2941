/*
 * Names of a wildcard's pipelines, and the answers about its tables that need
 * no connection.
 */
#ifndef TIDEMARK_CORE_SYNC_REPORT_EXPAND_NAMES_H
#define TIDEMARK_CORE_SYNC_REPORT_EXPAND_NAMES_H

#include "core/plugin/connector.h"
#include "core/settings/wildcard.h"
#include "core/store/choices.h"

/* A table is WILDCARD.TABLE. If another schema has one of that name, or the
 * name is taken, it is WILDCARD.SCHEMA.TABLE; then the same with quotes. */
struct expand_names {
	const char *wildcard;
	const struct strlist *tables; /* all that are caught */
	struct strlist bare, known; /* names without schema; known tables */
	struct strlist taken; /* names of pipelines */
};
/* `wildcard` and `tables` outlive it. */
void expand_names_init(struct expand_names *n, const char *wildcard,
		       const struct strlist *tables);
void expand_names_release(struct expand_names *n);
/* A name that a table of the wildcard has had before. */
void expand_names_take(struct expand_names *n, const struct choice *c);
/* A name for a table that has none; caller frees. */
char *expand_name(struct expand_names *n, const char *table);

/* SCHEMA: no config could write that name. */
int expand_check_name(const char *table, struct error *err);
/* CONFIG: the wildcard catches none of these. */
int expand_nothing(const struct settings *s, const struct wildcard *w,
		   const struct table_list *tables, struct error *err);
/* The choice that is kept for a pipeline that was caught, if it was. */
void expand_replace(struct catch *caught, const struct choice *kept);

#endif
