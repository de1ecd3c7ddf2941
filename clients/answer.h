/*
 * The shape of a small answer. Each client compares it once, before anybody
 * reads a value. No caller meets fewer rows or columns than it asked for, or a
 * NULL where it expects a text. The server may lie, or another program may
 * listen in its place.
 */
#ifndef TIDEMARK_CLIENTS_ANSWER_H
#define TIDEMARK_CLIENTS_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

struct answer {
	const void *result; /* the client's own */
	size_t n_rows, n_columns;
	bool (*is_null)(const void *result, size_t row, size_t column);
};

/* The columns that an answer of `shape` has. */
size_t answer_columns(const char *shape);

/* `shape` describes a small answer. It has a letter for each column: "t" for a
 * text, "?" for one that may be NULL. Before the letters "1" asks for exactly
 * one row, "+" for at least one. NULL takes any answer, and its caller has to
 * look. Without rows the number of columns does not matter: ClickHouse tells
 * none. TRANSIENT, with `where`, if the answer has another shape. */
int answer_check(const struct answer *a, const char *shape, const char *where,
		 struct error *err);

#endif
