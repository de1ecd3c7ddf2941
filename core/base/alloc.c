#include "core/base/alloc.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void alloc_die(void)
{
	static const char text[] = "tidemark: out of memory\n";

	/* stdio may want memory itself. */
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(EXIT_FAILURE);
	_exit(EXIT_FAILURE);
}

static size_t alloc_size(size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total))
		alloc_die();
	return total;
}

void *xmalloc(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		alloc_die();
	return p;
}

void alloc_install(void)
{
	json_set_alloc_funcs(xmalloc, free);
}

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (!p)
		alloc_die();
	return p;
}

void *xrealloc(void *old, size_t size)
{
	void *p = realloc(old, size ? size : 1);

	if (!p)
		alloc_die();
	return p;
}

void *xreallocarray(void *old, size_t n, size_t size)
{
	return xrealloc(old, alloc_size(n, size));
}

char *xstrdup(const char *src)
{
	return src ? xstrndup(src, strlen(src)) : NULL;
}

void xassign(char **dst, const char *src)
{
	char *copy = xstrdup(src);

	free(*dst);
	*dst = copy;
}

char *xstrndup(const char *src, size_t n)
{
	size_t len = strnlen(src, n);
	char *copy = xmalloc(len + 1);

	memcpy(copy, src, len);
	copy[len] = '\0';
	return copy;
}

char *xstrfmt(const char *fmt, ...)
{
	va_list ap;
	char *out;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&out, fmt, ap);
	va_end(ap);
	if (n < 0)
		alloc_die();
	return out;
}

void *xgrow(void *array, size_t *capacity, size_t need, size_t size)
{
	size_t n = *capacity;

	if (n >= need)
		return array;
	if (n < 8)
		n = 8;
	while (n < need)
		n = n > SIZE_MAX / 2 ? need : n * 2;
	array = xreallocarray(array, n, size);
	*capacity = n;
	return array;
}
