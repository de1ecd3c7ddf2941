#include "core/base/module.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/bundle.h"
#include "tidemark_config.h"

#define MODULE_PREFIX "tidemark-"
#define MODULE_SUFFIX ".so"

/* A name becomes part of a file name: letters, digits and underscores. */
static bool module_is_name(const char *engine, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)engine[i]) && engine[i] != '_')
			return false;
	}
	return n > 0;
}

static void module_add(struct strlist *dirs, const char *dir, size_t n)
{
	char *copy = xstrndup(dir, n);

	if (n && !strlist_has(dirs, copy))
		strlist_add(dirs, copy);
	free(copy);
}

/* Nothing if /proc is not there. */
static void module_add_own(struct strlist *dirs)
{
	char *own = bundle_directory();

	if (own)
		module_add(dirs, own, strlen(own));
	free(own);
}

void module_directories(struct strlist *dirs)
{
	const char *at = getenv("TIDEMARK_PLUGIN_PATH");

	while (at && *at) {
		size_t n = strcspn(at, ":");
		module_add(dirs, at, n);
		at += n + (at[n] == ':');
	}
	module_add_own(dirs);
	module_add(dirs, TIDEMARK_LIBDIR, strlen(TIDEMARK_LIBDIR));
}

bool module_is_own(const char *file)
{
	struct strlist own = STRLIST_INIT;
	bool found = false;

	module_add_own(&own);
	module_add(&own, TIDEMARK_LIBDIR, strlen(TIDEMARK_LIBDIR));
	for (size_t i = 0; i < own.n; i++) {
		size_t n = strlen(own.items[i]);

		found = found || (!strncmp(file, own.items[i], n) &&
				  file[n] == '/' && !strchr(file + n + 1, '/'));
	}
	strlist_release(&own);
	return found;
}

char *module_engine(const char *file)
{
	size_t n = strlen(file), prefix = strlen(MODULE_PREFIX),
	       suffix = strlen(MODULE_SUFFIX);

	if (n <= prefix + suffix || strncmp(file, MODULE_PREFIX, prefix) != 0 ||
	    strcmp(file + n - suffix, MODULE_SUFFIX) != 0)
		return NULL;
	if (!module_is_name(file + prefix, n - prefix - suffix))
		return NULL;
	return xstrndup(file + prefix, n - prefix - suffix);
}

char *module_find(const char *engine)
{
	struct strlist dirs = STRLIST_INIT;
	char *file = NULL;

	if (!module_is_name(engine, strlen(engine)))
		return NULL;
	module_directories(&dirs);
	for (size_t i = 0; !file && i < dirs.n; i++) {
		file = xstrfmt("%s/" MODULE_PREFIX "%s" MODULE_SUFFIX,
			       dirs.items[i], engine);
		if (access(file, F_OK) == 0)
			break;
		free(file);
		file = NULL;
	}
	strlist_release(&dirs);
	return file;
}
