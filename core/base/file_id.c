#include "core/base/file_id.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"

/* As many as Linux follows. */
#define FILE_LINKS 40

static char *file_directory(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return xstrdup(".");
	return slash == path ? xstrdup("/")
			     : xstrndup(path, (size_t)(slash - path));
}

static const char *file_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The end of a link that leads to no file yet: a file would be made there.
 * NULL: it is no link. */
static char *file_follow(const char *path)
{
	char to[PATH_MAX];
	ssize_t n = readlink(path, to, sizeof(to) - 1);
	char *directory, *followed;

	if (n < 0)
		return NULL;
	to[n] = '\0';
	if (*to == '/')
		return xstrdup(to);
	directory = file_directory(path);
	followed = xstrfmt("%s/%s", directory, to);
	free(directory);
	return followed;
}

/* The path of a file that may not exist; caller frees. */
static char *file_end(const char *path)
{
	char *end = xstrdup(path), *next;

	for (int i = 0; i < FILE_LINKS && (next = file_follow(end)); i++) {
		free(end);
		end = next;
	}
	return end;
}

char *file_id(const char *path)
{
	struct stat st;
	char *end, *directory, *id;

	if (!stat(path, &st))
		return xstrfmt("%ju:%ju", (uintmax_t)st.st_dev,
			       (uintmax_t)st.st_ino);
	end = file_end(path);
	directory = file_directory(end);
	if (!stat(directory, &st))
		id = xstrfmt("%ju:%ju/%s", (uintmax_t)st.st_dev,
			     (uintmax_t)st.st_ino, file_base(end));
	else
		id = xstrdup(end);
	free(directory);
	free(end);
	return id;
}

char *file_path(const char *path)
{
	char *whole = realpath(path, NULL), *end, *directory, *found;

	if (whole) {
		found = xstrdup(whole);
		free(whole);
		return found;
	}
	end = file_end(path);
	directory = file_directory(end);
	whole = realpath(directory, NULL);
	found = whole ? xstrfmt("%s/%s", strcmp(whole, "/") ? whole : "",
				file_base(end))
		      : xstrdup(end);
	free(whole);
	free(directory);
	free(end);
	return found;
}
