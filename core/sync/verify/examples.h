/*
 * The first suspects that turned out to be differences, as people are shown
 * them: their keys, and on demand the rows of both sides.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_EXAMPLES_H
#define TIDEMARK_CORE_SYNC_VERIFY_EXAMPLES_H

#include <jansson.h>

#include "core/sync/verify/side.h"
#include "core/sync/verify/suspects.h"

#define VERIFY_EXAMPLES 100

struct verify_examples {
	struct verify_side *sides;
	const struct compare *compare;
	struct suspects *suspects; /* are put into another order */
	size_t most; /* at most VERIFY_EXAMPLES */
	bool values; /* with the rows */
	bool extra_only; /* show no other kind */
};

/* Append {"key", "kind"}, with values also "source" and "destination" (a row or
 * null), until `out` has the most. Rows past the mark are no examples. */
int verify_examples_add(const struct verify_examples *x, json_t *out,
			struct error *err);

#endif
