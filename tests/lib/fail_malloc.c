/*
 * Preloaded into the program under test: of the allocations of
 * FAIL_MALLOC_LEAST bytes and more that come from Tidemark, libpq or SQLite,
 * the FAIL_MALLOC_AT-th fails. (libmariadb, OpenSSL and DuckDB do not look at
 * all that they are given.) How many there were is written to
 * FAIL_MALLOC_REPORT when the program ends by itself.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static atomic_long met;
static long at;
static size_t least = (size_t)-1; /* nothing counts before `begin` */

static void look_up(void)
{
	real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	real_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	real_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
}

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("FAIL_MALLOC_AT");

	if (!real_malloc)
		look_up();
	at = text ? strtol(text, NULL, 10) : 0;
	text = getenv("FAIL_MALLOC_LEAST");
	least = text ? (size_t)strtol(text, NULL, 10) : 1;
}

__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("FAIL_MALLOC_REPORT");
	FILE *out = path ? fopen(path, "w") : NULL;

	if (out) {
		fprintf(out, "%ld\n", atomic_load(&met));
		fclose(out);
	}
}

static int counts(void *caller)
{
	static const char *const names[] = { "tidemark", "libpq",
					     "libsqlite3" };
	Dl_info from;

	if (!dladdr(caller, &from) || !from.dli_fname)
		return 0;
	const char *slash = strrchr(from.dli_fname, '/');
	const char *name = slash ? slash + 1 : from.dli_fname;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return 1;
	return 0;
}

static int fails(size_t size, void *caller)
{
	if (size < least || !counts(caller) ||
	    atomic_fetch_add(&met, 1) + 1 != at)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	if (!real_malloc)
		look_up();
	return fails(size, __builtin_return_address(0)) ? NULL
							: real_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	if (!real_calloc)
		look_up();
	return fails(n * size, __builtin_return_address(0))
		       ? NULL
		       : real_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	if (!real_realloc)
		look_up();
	return fails(size, __builtin_return_address(0))
		       ? NULL
		       : real_realloc(old, size);
}
