/* How the source's types are kept in ClickHouse, and which of a table's own
 * types hold them. */
#ifndef TIDEMARK_DESTINATIONS_CLICKHOUSE_TYPES_H
#define TIDEMARK_DESTINATIONS_CLICKHOUSE_TYPES_H

#include "core/base/strbuf.h"
#include "destinations/common/drift.h"

/* "Decimal(10, 2)": a new column's type, without Nullable(). `engine`: of the
 * source: its own types come back as they were where that is ClickHouse. */
void chdst_type_write(struct strbuf *sb, const struct type *t,
		      const char *engine);
/* The same as it is sent, before a cast to that. */
void chdst_type_write_sent(struct strbuf *sb, const struct type *t);
enum mapping chdst_type_mapping(const struct type *t);
/* What a column's comment says of it, or NULL: its type says enough. */
const char *chdst_type_note(const struct type *t);
/* `actual`: the existing column's type, whole; `wanted`: as type_write. */
enum fit chdst_type_fit(const struct type *t, const char *wanted,
			const char *actual);
bool chdst_type_is_nullable(const char *actual);
/* Is `actual` `wanted`, but for Nullable() and LowCardinality()? */
bool chdst_type_is(const char *actual, const char *wanted);

#endif
