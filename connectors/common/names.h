/* Names in messages and suggestions: tables as the config takes them, columns
 * that are missing, columns that look like marks. */
#ifndef TIDEMARK_CONNECTORS_COMMON_NAMES_H
#define TIDEMARK_CONNECTORS_COMMON_NAMES_H

#include <stddef.h>

#include "core/base/strbuf.h"
#include "core/plugin/connector.h"

/* Append schema.name as the config takes it: parts quoted where needed. */
void table_write(struct strbuf *sb, const char *schema, const char *name);
/* Append a table, named as the config takes it; `rows`: a number, or NULL. */
void table_list_add(struct table_list *list, const char *schema,
		    const char *name, const char *kind, const char *rows);
/* SCHEMA error: there is no schema.name, written as `table`. `near` lists
 * existing tables: schema, name, schema, name, and so on. The message suggests
 * one of that very name, or else the nearest. */
int table_missing(const char *table, const char *schema, const char *name,
		  const struct strlist *near, struct error *err);
/* SCHEMA error: `what` (a key of the config) names no column of the table. The
 * message has the nearest of its `n` names. */
int column_missing(const char *const *names, size_t n, const char *what,
		   const char *name, const char *table, struct error *err);

/* Names that mean "changed at", best first, and names that mean "made at",
 * which are enough where rows never change. Both end with NULL. */
extern const char *const changed_names[];
extern const char *const made_names[];

#endif
