/* The nearest valid name for a typo. */
#ifndef TIDEMARK_CORE_BASE_NEAREST_H
#define TIDEMARK_CORE_BASE_NEAREST_H

#include <stddef.h>

/* The candidate with the smallest Damerau-Levenshtein distance (case folded).
 * NULL if none is near enough to be meant (distance > 1 + len/3). */
const char *nearest_name(const char *word, const char *const *candidates,
			 size_t n);

#endif
