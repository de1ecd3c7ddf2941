/*
 * The shape of rows: the columns a pipeline reads, their types, the key and the
 * mark column. Filled by connector.describe, read by everyone.
 */
#ifndef TIDEMARK_CORE_DATA_SCHEMA_H
#define TIDEMARK_CORE_DATA_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/data/type.h"

struct column {
	char *name; /* as the target has it */
	char *source; /* as the source has it; NULL: the same */
	struct type type;
	bool nullable;
	char *expression; /* the user's SQL, or NULL for a plain column */
	/* The meaning of its values beside the type: an enum's labels in their
	 * order, where `native` does not list them; or NULL. */
	char *labels;
	/* The source's own number: a column that is dropped and added again
	 * gets another one. 0: it has none (an expression). */
	int64_t number;
};

struct schema {
	char *engine; /* registry name whose native type names these are */
	char *table; /* as the user wrote it, for messages */
	char *definition; /* a view's query; or NULL */
	struct column *columns;
	size_t n_columns;
	size_t columns_capacity;
	size_t *key; /* indexes into columns, in key order */
	size_t n_key;
	/* Index of the mark column; -1: none (xmin, or not a column). */
	long mark;
	/* A target whose last column is the time of loading. The time is
	 * written with a row, and two rows never differ by it. */
	bool stamped;
	int64_t row_estimate; /* -1: unknown */
	int64_t byte_estimate; /* -1: unknown */
};

void schema_init(struct schema *s);
void schema_release(struct schema *s);
/* `dst` is overwritten: it holds nothing before. */
void schema_copy(struct schema *dst, const struct schema *src);
/* Appends a column (name and native copied); returns it. */
struct column *schema_add(struct schema *s, const char *name,
			  const struct type *type, bool nullable);
/* Index of a column by its exact name, or -1. */
long schema_find(const struct schema *s, const char *name);
/* The same, or else a column that differs in case only: engines that fold names
 * may have kept another spelling. */
long schema_find_folded(const struct schema *s, const char *name);
/* Index of the column that the source calls so, or -1. */
long schema_find_source(const struct schema *s, const char *name);
/* As the source calls it. */
const char *column_source(const struct column *c);
/* As many columns, from the first on, tell one version of a row from
 * another. */
size_t schema_compared(const struct schema *s);
void schema_set_key(struct schema *s, const size_t *key, size_t n_key);
bool schema_is_key(const struct schema *s, size_t column);

#endif
