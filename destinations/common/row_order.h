/*
 * The order in which a batch's rows go to the destination: by key, each key
 * once. An index is filled in key order several times faster than at random.
 * Equal keys become neighbours, so repeats are found on the way.
 */
#ifndef TIDEMARK_DESTINATIONS_COMMON_ROW_ORDER_H
#define TIDEMARK_DESTINATIONS_COMMON_ROW_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/data/batch.h"

struct row_order {
	uint32_t *rows; /* row numbers of the batch, in key order */
	size_t n; /* their number */
	size_t n_duplicates; /* rows left out: a later one has the same key */
	size_t capacity;
};

#define ROW_ORDER_INIT                                                         \
	{                                                                      \
		NULL, 0, 0, 0                                                  \
	}

/* Fill `o` from the batch; of rows with the same key (the same bytes) the
 * last one stays. The order is numeric for numbers and bytewise for the rest;
 * it need not be the destination's collation. DATA naming column and row when
 * a key value is NULL. */
int row_order_build(struct row_order *o, const struct batch *b,
		    struct error *err);
void row_order_release(struct row_order *o);

#endif
