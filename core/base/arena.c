#include "core/base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

#define ARENA_BLOCK ((size_t)64 << 10)
#define ARENA_ALIGN ((size_t)16)

struct arena_block {
	struct arena_block *next;
	size_t size, used;
	alignas(16) unsigned char data[];
};

void arena_init(struct arena *a)
{
	*a = (struct arena)ARENA_INIT;
}

static struct arena_block *arena_grow(struct arena *a, size_t need)
{
	size_t size = need > ARENA_BLOCK ? need : ARENA_BLOCK;
	struct arena_block *block = xmalloc(sizeof(*block) + size);

	block->next = a->head;
	block->size = size;
	block->used = 0;
	a->head = block;
	return block;
}

void *arena_alloc(struct arena *a, size_t size)
{
	size_t need = (size + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
	struct arena_block *block = a->head;
	void *out;

	if (!block || block->size - block->used < need)
		block = arena_grow(a, need);
	out = block->data + block->used;
	block->used += need;
	a->used += need;
	return memset(out, 0, size);
}

char *arena_strdup(struct arena *a, const char *src)
{
	return src ? arena_strndup(a, src, strlen(src)) : NULL;
}

char *arena_strndup(struct arena *a, const char *src, size_t n)
{
	char *copy;

	n = strnlen(src, n);
	copy = arena_alloc(a, n + 1);
	memcpy(copy, src, n);
	return copy;
}

char *arena_fmt(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *out;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	out = arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
	if (n > 0)
		vsnprintf(out, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return out;
}

void arena_reset(struct arena *a)
{
	struct arena_block *block = a->head;

	while (block && block->next) {
		struct arena_block *next = block->next;

		free(block);
		block = next;
	}
	if (block)
		block->used = 0;
	a->head = block;
	a->used = 0;
}

void arena_release(struct arena *a)
{
	arena_reset(a);
	free(a->head);
	arena_init(a);
}
