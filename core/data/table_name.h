/*
 * Table names as users write them: parts joined by dots. A part with a dot, a
 * quote or a space stands in double quotes as in SQL ("" inside is one quote).
 * Names are taken literally, never folded.
 */
#ifndef TIDEMARK_CORE_DATA_TABLE_NAME_H
#define TIDEMARK_CORE_DATA_TABLE_NAME_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/strbuf.h"

struct table_name {
	char *catalog; /* NULL unless three parts were given */
	char *schema; /* NULL unless two or more */
	char *name;
};

/* Tables and columns that begin so, in any case, are Tidemark's own. */
#define NAME_OWN "_tidemark_"
bool name_is_own(const char *name);
/* CONFIG error naming the text on a bad quote, an empty part or more than
 * three parts. */
int table_name_parse(struct table_name *out, const char *text,
		     struct error *err);
void table_name_release(struct table_name *t);
/* Append `part` between `quote` characters, those inside doubled. The one
 * quoting function for identifiers: '"' (Postgres, SQLite, DuckDB) or '`'. */
void sql_quote_name(struct strbuf *sb, const char *part, char quote);
/* Append 'text' as a standard SQL literal (quotes doubled). Only for places
 * where parameters are not possible. */
void sql_quote_literal(struct strbuf *sb, const char *text);
/* Append a part as users write it: as it is, or in double quotes where
 * table_name_parse() needs them. */
void table_name_write_part(struct strbuf *sb, const char *part);
/* catalog.schema.name, each quoted, absent parts left out. */
void table_name_quote(struct strbuf *sb, const struct table_name *t,
		      char quote);

#endif
