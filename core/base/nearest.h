/* The nearest valid name for a typo. */
#ifndef TIDEMARK_CORE_BASE_NEAREST_H
#define TIDEMARK_CORE_BASE_NEAREST_H

#include <stddef.h>

/* The candidate with the smallest Damerau-Levenshtein distance (case folded),
 * or NULL if none is near enough (distance > 1 + len/3) to be meant. */
const char *nearest_name(const char *word, const char *const *candidates,
			 size_t n);

#endif
