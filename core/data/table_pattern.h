/*
 * Patterns of table names: "public.*", "sales.order_?". Parts as in
 * core/data/table_name.h; in a part without quotes * stands for any text, also
 * none, and ? for one character. In a quoted part both are themselves. A part
 * in front that is not written may be any, so "orders" is a table of that name
 * in every schema. Letters are compared as they are.
 */
#ifndef TIDEMARK_CORE_DATA_TABLE_PATTERN_H
#define TIDEMARK_CORE_DATA_TABLE_PATTERN_H

#include "core/data/table_name.h"

struct table_pattern {
	struct table_name name;
	bool quoted[3]; /* catalog, schema, name */
};

/* CONFIG error as of table_name_parse(). */
int table_pattern_parse(struct table_pattern *out, const char *text,
			struct error *err);
void table_pattern_release(struct table_pattern *p);
bool table_pattern_match(const struct table_pattern *p,
			 const struct table_name *name);
/* Neither * nor ? outside of quotes. */
bool table_pattern_is_name(const struct table_pattern *p);

#endif
