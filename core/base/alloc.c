#include "core/base/alloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *alloc_check(void *p)
{
	static const char text[] = "error: out of memory\n";

	if (p)
		return p;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(1);
	_exit(1);
}

void *xmalloc(size_t size)
{
	return alloc_check(malloc(size ? size : 1));
}

void *xcalloc(size_t n, size_t size)
{
	return alloc_check(calloc(n ? n : 1, size ? size : 1));
}

void *xrealloc(void *old, size_t size)
{
	return alloc_check(realloc(old, size ? size : 1));
}

void *xreallocarray(void *old, size_t n, size_t size)
{
	if (size && n > SIZE_MAX / size)
		return alloc_check(NULL);
	return xrealloc(old, n * size);
}

char *xstrdup(const char *src)
{
	return src ? xstrndup(src, strlen(src)) : NULL;
}

char *xstrndup(const char *src, size_t n)
{
	char *copy;

	n = strnlen(src, n);
	copy = xmalloc(n + 1);
	memcpy(copy, src, n);
	copy[n] = '\0';
	return copy;
}

char *xstrfmt(const char *fmt, ...)
{
	char *out = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&out, fmt, ap);
	va_end(ap);
	return alloc_check(n < 0 ? NULL : out);
}

void *xgrow(void *array, size_t *capacity, size_t need, size_t size)
{
	size_t grown = *capacity ? *capacity : 8;

	if (need <= *capacity)
		return array;
	while (grown < need)
		grown = grown > SIZE_MAX / 2 ? need : grown * 2;
	*capacity = grown;
	return xreallocarray(array, grown, size);
}
