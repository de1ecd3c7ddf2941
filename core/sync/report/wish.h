/* The tables that somebody wants `init` to look at: patterns of command lines.
 */
#ifndef TIDEMARK_CORE_SYNC_REPORT_WISH_H
#define TIDEMARK_CORE_SYNC_REPORT_WISH_H

#include "core/settings/settings.h"

/* Schemas by name; tables and exceptions by patterns as in
 * core/data/table_pattern.h. No schemas are all schemas, no tables all tables.
 */
struct wish {
	struct strlist schemas, tables, exclude;
};
void wish_release(struct wish *w);
/* Leave the tables that are wanted. CONFIG: a pattern is none, or a schema or
 * table of the wish is not among them. */
int wish_apply(const struct wish *w, struct table_list *tables,
	       struct error *err);
/* Leave the tables that no pipeline of the config reads from that source, and
 * that no wildcard of it speaks of. */
void wish_drop_known(const struct settings *s, const struct connection *source,
		     struct table_list *tables);

#endif
