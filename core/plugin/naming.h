/*
 * The names of a table's columns at the destination. A name of the source
 * becomes one of the target here, and nowhere else. Behind describe all names
 * in a schema are the target's, and `column.source` keeps the other one. The
 * config (key, watermark, columns, expressions, gate) and connectors go by the
 * source's names.
 */
#ifndef TIDEMARK_CORE_PLUGIN_NAMING_H
#define TIDEMARK_CORE_PLUGIN_NAMING_H

#include "core/plugin/connector.h"

/* The connector's describe(), with the names of the target. SCHEMA, with the
 * place in the config: two columns would get one name, a renamed column is not
 * there, or a name is none. */
int source_describe(struct connector *c, const struct source_spec *source,
		    const struct watermark_spec *mark, struct schema *out,
		    struct error *err);
/* The target's name of the column that the source calls `name`; caller frees.
 */
char *naming_target(const struct source_spec *source, const char *name);

/* Words in small letters, joined by `_`; caller frees. "" if the name has
 * neither a letter nor a digit. Only ASCII letters change. */
char *naming_snake(const char *name);

#endif
