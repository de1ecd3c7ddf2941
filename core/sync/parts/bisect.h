/*
 * The search for the bad rows of a refused batch. The batch is cut in halves,
 * and good parts are loaded on the way. A row that fails alone is tried once
 * more when all the others are in. It may have waited for one of them (a child
 * for its parent). It knows nothing of marks, stores or destinations.
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_BISECT_H
#define TIDEMARK_CORE_SYNC_PARTS_BISECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

struct bad_row {
	uint32_t row; /* its number in the batch */
	enum error_code code;
	char server_code[16];
	char *message; /* owned */
};

struct bad_rows {
	struct bad_row *items; /* in the order of the rows */
	size_t n;
	size_t capacity;
	/* There were more than were asked for: the search was given up, and
	 * others may be bad. */
	bool more;
};
void bad_rows_release(struct bad_rows *list);

struct bisect {
	/* Load these rows, all or nothing. DATA: one of them is bad; any other
	 * code ends the search. */
	int (*load)(void *ctx, const uint32_t *rows, size_t n,
		    struct error *err);
	void *ctx;
	size_t most; /* give up beyond so many bad rows */
};

/* Load all of `rows` (in their order) but the bad ones, which are added to
 * `out`. `why`: the error with which all of them together were refused. */
int bisect_load(const struct bisect *b, const uint32_t *rows, size_t n,
		const struct error *why, struct bad_rows *out,
		struct error *err);

#endif
