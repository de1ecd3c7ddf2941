/* A growing list of owned strings, in order. */
#ifndef TIDEMARK_CORE_BASE_STRLIST_H
#define TIDEMARK_CORE_BASE_STRLIST_H

#include <stdbool.h>
#include <stddef.h>

struct strlist {
	char **items;
	size_t n;
	size_t capacity;
};

#define STRLIST_INIT                                                           \
	{                                                                      \
		NULL, 0, 0                                                     \
	}

void strlist_add(struct strlist *list, const char *item); /* copied */
void strlist_copy(struct strlist *dst, const struct strlist *src);
bool strlist_has(const struct strlist *list, const char *item);
/* Position of `item`, or -1. */
long strlist_index(const struct strlist *list, const char *item);
void strlist_release(struct strlist *list);

#endif
