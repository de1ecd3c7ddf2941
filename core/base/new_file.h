/*
 * A file that is made in several steps. It has its name only once it is whole
 * and on the disk. So a process that is killed on the way leaves nothing under
 * that name. new_file_*() are not for a file that exists already.
 */
#ifndef TIDEMARK_CORE_BASE_NEW_FILE_H
#define TIDEMARK_CORE_BASE_NEW_FILE_H

#include <stddef.h>
#include <sys/stat.h>

#include "core/base/error.h"

/* A name beside `path` that no other process takes. Removes files that dead
 * processes of this host have left there. Caller frees. */
char *new_file_beside(const char *path);
/* Flush and close `made`, rename it to `path`, and flush its directory. 0, or
 * -1 with errno and `made` removed. EEXIST: `path` exists by now, and stays as
 * it is. */
int new_file_finish(const char *made, const char *path);
/* All of it for a file of `n` bytes; 0 or -1 with errno. */
int new_file_write(const char *path, const char *text, size_t n);

/* Put `n` bytes in the place of a file that is there, at once or not at all,
 * and keep its mode and owner. A link stays a link. 0, or -1 with errno;
 * ESTALE: it is not as `was` says any more. */
int file_replace(const char *path, const char *text, size_t n,
		 const struct stat *was);

#endif
