#include "core/base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"

#define ARENA_ALIGN	  16
#define ARENA_FIRST	  (64 * 1024)
#define ARENA_BLOCK_LIMIT (64 * 1024 * 1024)

struct arena_block {
	struct arena_block *next;
	size_t size;
	size_t used;
	size_t dirty; /* bytes that may not be zero any more */
	alignas(ARENA_ALIGN) char data[];
};

static size_t arena_block_size(const struct arena *a, size_t need)
{
	size_t size = a->head ? a->head->size : ARENA_FIRST / 2;

	size = size < ARENA_BLOCK_LIMIT / 2 ? size * 2 : ARENA_BLOCK_LIMIT;
	return size > need ? size : need;
}

/* calloc, because the pages of a large fresh block are zero for nothing. */
static void arena_add_block(struct arena *a, size_t need)
{
	size_t size = arena_block_size(a, need);
	struct arena_block *block = xcalloc(1, sizeof(*block) + size);

	block->size = size;
	block->next = a->head;
	a->head = block;
}

void arena_init(struct arena *a)
{
	*a = (struct arena)ARENA_INIT;
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_block *block;
	char *out;

	if (size > SIZE_MAX / 2)
		size = SIZE_MAX / 2;
	size = (size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
	if (!a->head || a->head->size - a->head->used < size)
		arena_add_block(a, size);
	block = a->head;
	out = block->data + block->used;
	if (block->dirty > block->used) {
		size_t n = block->dirty - block->used;

		memset(out, 0, n < size ? n : size);
	}
	block->used += size;
	if (block->dirty < block->used)
		block->dirty = block->used;
	a->used += size;
	return out;
}

char *arena_strdup(struct arena *a, const char *src)
{
	return src ? arena_strndup(a, src, strlen(src)) : NULL;
}

char *arena_strndup(struct arena *a, const char *src, size_t n)
{
	size_t len = strnlen(src, n);
	char *out = arena_alloc(a, len + 1);

	memcpy(out, src, len);
	return out;
}

char *arena_fmt(struct arena *a, const char *fmt, ...)
{
	struct strbuf text = STRBUF_INIT;
	va_list ap;
	char *out;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	out = arena_strndup(a, text.data, text.len);
	strbuf_release(&text);
	return out;
}

void arena_reset(struct arena *a)
{
	struct arena_block *keep = NULL, *next;

	for (struct arena_block *b = a->head; b; b = next) {
		struct arena_block *drop = b;

		next = b->next;
		if (!keep || b->size > keep->size) {
			drop = keep;
			keep = b;
		}
		free(drop);
	}
	if (keep) {
		keep->next = NULL;
		keep->used = 0;
	}
	a->head = keep;
	a->used = 0;
}

void arena_release(struct arena *a)
{
	if (!a)
		return;
	arena_reset(a);
	free(a->head);
	arena_init(a);
}
