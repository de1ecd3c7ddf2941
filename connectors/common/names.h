/* Names in messages and suggestions: tables as the config takes them, columns
 * that are missing, columns that look like marks. */
#ifndef TIDEMARK_CONNECTORS_COMMON_NAMES_H
#define TIDEMARK_CONNECTORS_COMMON_NAMES_H

#include <stddef.h>

#include "core/base/error.h"
#include "core/base/strbuf.h"

/* Append schema.name as the config takes it: parts quoted where needed. */
void table_write(struct strbuf *sb, const char *schema, const char *name);
/* SCHEMA error: `what` (a key of the config) names no column of the table;
 * with the nearest of its `n` names. */
int column_missing(const char *const *names, size_t n, const char *what,
		   const char *name, const char *table, struct error *err);

/* Names that mean "changed at", best first, and "made at": enough where rows
 * never change. Both end with NULL. */
extern const char *const changed_names[];
extern const char *const made_names[];

#endif
