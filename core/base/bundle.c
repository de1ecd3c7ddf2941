#include "core/base/bundle.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"

char *bundle_directory(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
	const char *slash;

	if (n <= 0 || n == (ssize_t)sizeof(path))
		return NULL;
	slash = memrchr(path, '/', (size_t)n);
	if (!slash || slash == path)
		return NULL;
	return xstrndup(path, (size_t)(slash - path));
}

char *bundle_path(const char *name)
{
	char *directory = bundle_directory();
	char *path = directory ? xstrfmt("%s/lib/%s", directory, name) : NULL;

	free(directory);
	if (path && access(path, F_OK) != 0) {
		free(path);
		path = NULL;
	}
	return path;
}
