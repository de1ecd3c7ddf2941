/*
 * A foreign library that is loaded when a connection needs it, not when the
 * program starts. tools/generate-library writes one struct library for each,
 * and the library's functions under their own names. Each jumps to the address
 * that library_load() has put into the table. None may be called before.
 */
#ifndef TIDEMARK_CORE_BASE_LIBRARY_H
#define TIDEMARK_CORE_BASE_LIBRARY_H

#include <stdatomic.h>
#include <stddef.h>

#include "core/base/error.h"

/* No machine that Tidemark is built for has larger pages. */
#ifdef __aarch64__
#define LIBRARY_PAGE 65536
#else
#define LIBRARY_PAGE 4096
#endif

struct library {
	const char *soname; /* as the build found it; NULL: linked as usual */
	const char *package; /* Debian's name for it */
	const char *const *names; /* the functions that are called */
	size_t n;
	void **table; /* their addresses, in whole pages of their own */
	size_t bytes;
	atomic_bool ready;
};

/* Load the library, once, by the paths of the system's loader. It stays until
 * the process ends, and its table is read-only from then on. Safe from several
 * threads. CONFIG: it is not there, or too old; the error names the package. */
int library_load(struct library *l, struct error *err);

#endif
