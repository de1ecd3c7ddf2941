/*
 * The text of a config that `init` proposes: a pipeline a table, and a comment
 * for each table that is left out. Names and reasons come from servers, and
 * are written so that the config says them as they are (core/base/yaml_text.h).
 * Asks nobody.
 */
#ifndef TIDEMARK_CORE_SYNC_REPORT_SKETCH_H
#define TIDEMARK_CORE_SYNC_REPORT_SKETCH_H

#include <stdbool.h>

#include "core/base/strbuf.h"
#include "core/base/strlist.h"
#include "core/data/schema.h"
#include "core/data/watermark.h"
#include "core/plugin/connector.h"

struct sketch {
	const char *source_engine, *destination_engine;
	bool same_place; /* both URLs are one database */
	const char *source, *destination; /* names of the connections */
	struct strlist taken; /* names of other pipelines */
	bool mute; /* no comment for a table that is left out */
	struct strbuf body; /* the body of `pipelines:` */
	struct strlist pipelines; /* names */
	struct strlist targets; /* as they are written */
	struct strlist skipped; /* "TABLE: why", valid UTF-8 */
};

/* One table's choices. */
struct sketch_choice {
	const struct table_info *table;
	const struct schema *schema; /* with a key, or strategy none */
	enum strategy strategy;
	const char *column; /* "": none */
	const char *reason;
	const char *weakness; /* NULL: the guarantee is exact */
};

void sketch_init(struct sketch *s);
void sketch_release(struct sketch *s);
/* Append a pipeline. An error, and nothing is appended, if a config cannot
 * hold the names: YAML is UTF-8. */
int sketch_add(struct sketch *s, const struct sketch_choice *c,
	       struct error *err);
void sketch_skip(struct sketch *s, const struct table_info *table,
		 const struct error *why);

#endif
