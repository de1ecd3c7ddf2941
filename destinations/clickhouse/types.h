/* How the source's types are kept in ClickHouse, and which of a table's own
 * types hold them. */
#ifndef TIDEMARK_DESTINATIONS_CLICKHOUSE_TYPES_H
#define TIDEMARK_DESTINATIONS_CLICKHOUSE_TYPES_H

#include "core/base/strbuf.h"
#include "destinations/common/drift.h"

/* "Decimal(10, 2)": a new column's type, without Nullable(). `engine`: of the
 * source: its own types come back as they were where that is ClickHouse. */
void clickhouse_target_type_write(struct strbuf *sb, const struct type *t,
				  const char *engine);
/* The same as it is sent, before a cast to that. */
void clickhouse_target_type_write_sent(struct strbuf *sb, const struct type *t);
/* The digits of the Decimal that holds a number: PostgreSQL's scale may be
 * below 0, or more than its precision. False: none does. */
bool clickhouse_target_type_decimal(const struct type *t, int *precision,
				    int *scale);
enum mapping clickhouse_target_type_mapping(const struct type *t,
					    const char *engine);
/* The note in a column's comment, or NULL: its type says enough. */
const char *clickhouse_target_type_note(const struct type *t);
/* `actual`: the existing column's type, whole. `wanted`: as type_write, and
 * `mapping` its mapping. */
enum fit clickhouse_target_type_fit(enum mapping mapping, const char *wanted,
				    const char *actual);
/* Nullable() takes no array. */
bool clickhouse_target_type_can_be_null(const char *plain);
bool clickhouse_target_type_is_nullable(const char *actual);
/* `actual` with Nullable() in it, or without; LowCardinality() stays. Caller
 * frees. */
char *clickhouse_target_type_set_nullable(const char *actual, bool nullable);
/* Is `actual` `wanted`, but for Nullable() and LowCardinality()? */
bool clickhouse_target_type_is(const char *actual, const char *wanted);

#endif
