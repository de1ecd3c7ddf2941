/*
 * Whole numbers of any length, as text: marks of strategy sequence.
 */
#ifndef TIDEMARK_CORE_DATA_NUMBER_H
#define TIDEMARK_CORE_DATA_NUMBER_H

#include <stdbool.h>

/* NULL is none. */
bool number_is_whole(const char *text);
/* Both are whole numbers. */
bool number_is_greater(const char *a, const char *b);

#endif
