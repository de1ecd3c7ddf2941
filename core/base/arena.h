/*
 * A bump allocator with one lifetime: everything is freed, or kept for reuse,
 * at once. Not for buffers that grow.
 */
#ifndef TIDEMARK_CORE_BASE_ARENA_H
#define TIDEMARK_CORE_BASE_ARENA_H

#include <stddef.h>

struct arena_block;
struct arena {
	struct arena_block *head;
	size_t used; /* bytes handed out since the last reset */
};

#define ARENA_INIT                                                             \
	{                                                                      \
		NULL, 0                                                        \
	}

void arena_init(struct arena *a);
void *arena_alloc(struct arena *a, size_t size); /* 16-byte aligned, zeroed */
char *arena_strdup(struct arena *a, const char *src); /* NULL gives NULL */
char *arena_strndup(struct arena *a, const char *src, size_t n);
char *arena_fmt(struct arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void arena_reset(struct arena *a); /* keep the largest block for reuse */
void arena_release(struct arena *a);

#endif
