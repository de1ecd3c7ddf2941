/* A list whose items have names, in the order of the names. */
#ifndef TIDEMARK_CORE_BASE_BY_NAME_H
#define TIDEMARK_CORE_BASE_BY_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* The name of item number `i` of a list. */
typedef const char *by_name_at(const void *list, size_t i);

/* Is `name` among the `n` items? `place` is its number, or the number that it
 * would have. */
bool by_name_find(const char *name, const void *list, size_t n, by_name_at *at,
		  size_t *place);

#endif
