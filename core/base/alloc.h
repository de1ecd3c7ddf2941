/*
 * Memory that is always there. Out of memory ends the program with exit status
 * 1 and one line on stderr. The mark is durable, so a restart is safe; limits
 * are enforced where data enters. No other file uses raw malloc, strdup and
 * friends.
 */
#ifndef TIDEMARK_CORE_BASE_ALLOC_H
#define TIDEMARK_CORE_BASE_ALLOC_H

#include <stddef.h>

/* From now on jansson takes its memory here too: json_pack and friends never
 * return NULL for want of memory. Called by main, before any JSON. */
void alloc_install(void);

/* For memory that a foreign library did not get. */
_Noreturn void alloc_die(void);

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size); /* zeroed; overflow checked */
void *xrealloc(void *old, size_t size);
void *xreallocarray(void *old, size_t n, size_t size); /* overflow checked */
char *xstrdup(const char *src); /* NULL gives NULL */
/* Free `*dst` and put a copy of `src` there, which may be a part of it. */
void xassign(char **dst, const char *src);
char *xstrndup(const char *src, size_t n);
char *xstrfmt(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Grow `*array` of `size`-byte items so that it holds at least `need`;
 * doubles, `*capacity` counts items. */
void *xgrow(void *array, size_t *capacity, size_t need, size_t size);

#endif
