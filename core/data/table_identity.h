/*
 * The identity of a table. connector_ops.identity and destination_ops.identity
 * tell it as a flat object; here two of them are compared. No other place knows
 * that a table has several names.
 *
 * Members:
 * - "engine"
 * - for a server, one of "system_identifier" (PostgreSQL), "server" (MySQL,
 *   ClickHouse) and "project" (BigQuery)
 * - for a file, "file" (DEVICE:INODE) and "path" (from the root, no links)
 * - "database": in ClickHouse and MySQL the table's, in BigQuery the dataset
 * - "table" as it was written
 * - the engine's own number for the table: "table_oid", "table_uuid",
 *   "table_id", "created"
 *
 * A missing member says nothing: rights may be missing, or the mark comes from
 * an older version.
 */
#ifndef TIDEMARK_CORE_DATA_TABLE_IDENTITY_H
#define TIDEMARK_CORE_DATA_TABLE_IDENTITY_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/strbuf.h"

/* Are they one table, as far as both sides tell? A table that was dropped and
 * made again under its name counts as the same. */
bool table_identity_same(const json_t *a, const json_t *b);
/* Are they one table for sure: are both servers or files known, and the
 * same? */
bool table_identity_is(const json_t *a, const json_t *b);
/* Compare the names alone, whatever their servers: `users` is public.users in
 * PostgreSQL. */
bool table_identity_same_name(const json_t *a, const json_t *b);
/* Add "file" and "path". */
void table_identity_add_file(json_t *identity, const char *path);
/* Append the table for people: public.users (postgres, database shop). */
void table_identity_print(struct strbuf *sb, const json_t *identity);
/* Append its name with its schema, one text for each spelling: public.users. */
void table_identity_write_name(struct strbuf *sb, const json_t *identity);
/* Append the parts that tell the table from others and do not depend on its
 * spelling, a line a part. */
void table_identity_write(struct strbuf *sb, const json_t *identity);

#endif
