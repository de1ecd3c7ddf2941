/*
 * SQLite's columns: the meaning of a declared type, and the values that a
 * column of this type may hold. SQLite itself lets nearly any value into any
 * column. A value that does not fit is a DATA error, which names the value and
 * gives advice. We never guess. Values that destinations/sqlite writes come
 * back unchanged.
 */
#ifndef TIDEMARK_CONNECTORS_SQLITE_TYPES_H
#define TIDEMARK_CONNECTORS_SQLITE_TYPES_H

#include "clients/sqlite.h"
#include "core/data/batch.h"

/* Store one present value, column `column` of the row at hand, at `row` of
 * `v`. DATA error, which names neither table nor key, if it does not fit. */
typedef int (*sqlite_source_decode)(struct vector *v, size_t row,
				    struct sqlite_statement *st, int column,
				    const struct type *type, struct error *err);

struct sqlite_source_type {
	enum type_kind kind;
	sqlite_source_decode decode;
	/* The stored form may differ from ours, so positions keep it. */
	bool raw;
	bool ordered;
};

/* Find a declared type, "" or NULL if there is none. Fills `out` (native owned
 * by the caller). */
const struct sqlite_source_type *sqlite_source_type_of(const char *declared,
						       struct type *out);
/* Bind a value of that kind, given as text, in the form in which a column
 * stores it. Copied. */
void sqlite_source_bind(struct sqlite_statement *st, int at,
			enum type_kind kind, const char *text);

#endif
