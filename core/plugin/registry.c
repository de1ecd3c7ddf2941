#include "core/plugin/registry.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/strbuf.h"
#include "core/plugin/registry_check.h"
#include "tidemark_config.h"

#define MODULE_PREFIX "tidemark-"
#define MODULE_SUFFIX ".so"

struct registry_module {
	const struct plugin *plugin;
	char *file;
};

/* Modules once loaded stay: their ops tables are in use. */
static struct registry {
	pthread_mutex_t lock;
	struct registry_module *modules;
	size_t n, capacity;
} registry = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const struct plugin *registry_builtin(const char *engine)
{
	if (!plugin_builtin)
		return NULL;
	for (size_t i = 0; plugin_builtin[i]; i++) {
		if (!strcmp(plugin_builtin[i]->name, engine))
			return plugin_builtin[i];
	}
	return NULL;
}

static const struct registry_module *registry_loaded(const char *engine)
{
	for (size_t i = 0; i < registry.n; i++) {
		if (!strcmp(registry.modules[i].plugin->name, engine))
			return &registry.modules[i];
	}
	return NULL;
}

/* A name becomes part of a file name: letters, digits and underscores. */
static bool registry_is_name(const char *engine, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)engine[i]) && engine[i] != '_')
			return false;
	}
	return n > 0;
}

static void registry_add_path(struct strlist *dirs, const char *dir, size_t n)
{
	char *copy = xstrndup(dir, n);

	if (n && !strlist_has(dirs, copy))
		strlist_add(dirs, copy);
	free(copy);
}

/* Directory of the running binary; nothing if /proc is not there. */
static void registry_add_own_path(struct strlist *dirs)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
	const char *slash;

	if (n <= 0 || n == (ssize_t)sizeof(path))
		return;
	slash = memrchr(path, '/', (size_t)n);
	if (slash && slash > path)
		registry_add_path(dirs, path, (size_t)(slash - path));
}

static void registry_search_path(struct strlist *dirs)
{
	const char *at = getenv("TIDEMARK_PLUGIN_PATH");

	while (at && *at) {
		size_t n = strcspn(at, ":");
		registry_add_path(dirs, at, n);
		at += n + (at[n] == ':');
	}
	registry_add_own_path(dirs);
	registry_add_path(dirs, TIDEMARK_LIBDIR, strlen(TIDEMARK_LIBDIR));
}

/* What was built with this binary lacks nothing: its symbols are looked up when
 * they are called, which for DuckDB saves 10 ms of 25. Of somebody else's
 * module one that is missing is told at once. */
static int registry_binding(const char *file)
{
	struct strlist own = STRLIST_INIT;
	bool built_with = false;

	registry_add_own_path(&own);
	registry_add_path(&own, TIDEMARK_LIBDIR, strlen(TIDEMARK_LIBDIR));
	for (size_t i = 0; i < own.n; i++) {
		size_t n = strlen(own.items[i]);

		built_with = built_with ||
			     (!strncmp(file, own.items[i], n) &&
			      file[n] == '/' && !strchr(file + n + 1, '/'));
	}
	strlist_release(&own);
	return built_with ? RTLD_LAZY : RTLD_NOW;
}

/* With the lock held. */
static int registry_load(const char *engine, const char *file,
			 const struct plugin **out, struct error *err)
{
	const struct plugin *plugin = NULL;
	void *handle = dlopen(file, registry_binding(file) | RTLD_LOCAL);
	int rc;

	if (!handle)
		return error_set(err, ERROR_CONFIG,
				 "engine %s: cannot load its module: %s",
				 engine, dlerror());
	plugin = dlsym(handle, "tidemark_plugin");
	if (!plugin)
		rc = error_set(err, ERROR_BUG,
			       "engine %s: %s exports no tidemark_plugin",
			       engine, file);
	else
		rc = registry_check(plugin, engine, file, err);
	if (rc) {
		dlclose(handle);
		return rc;
	}
	registry.modules = xgrow(registry.modules, &registry.capacity,
				 registry.n + 1, sizeof(*registry.modules));
	registry.modules[registry.n].plugin = plugin;
	registry.modules[registry.n++].file = xstrdup(file);
	*out = plugin;
	return 0;
}

/* The engine's name in a module's file name; NULL if it is not a module. */
static char *registry_module_engine(const char *file)
{
	size_t n = strlen(file), prefix = strlen(MODULE_PREFIX),
	       suffix = strlen(MODULE_SUFFIX);

	if (n <= prefix + suffix || strncmp(file, MODULE_PREFIX, prefix) != 0 ||
	    strcmp(file + n - suffix, MODULE_SUFFIX) != 0)
		return NULL;
	if (!registry_is_name(file + prefix, n - prefix - suffix))
		return NULL;
	return xstrndup(file + prefix, n - prefix - suffix);
}

static void registry_list_dir(struct strlist *engines, const char *dir)
{
	DIR *handle = opendir(dir);
	struct dirent *entry;

	while (handle && (entry = readdir(handle))) {
		char *engine = registry_module_engine(entry->d_name);
		if (engine && !strlist_has(engines, engine))
			strlist_add(engines, engine);
		free(engine);
	}
	if (handle)
		closedir(handle);
}

static int registry_compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every engine that can be found, built in or as a file, sorted. */
static void registry_list(struct strlist *engines, const struct strlist *dirs)
{
	for (size_t i = 0; plugin_builtin && plugin_builtin[i]; i++)
		strlist_add(engines, plugin_builtin[i]->name);
	for (size_t i = 0; i < dirs->n; i++)
		registry_list_dir(engines, dirs->items[i]);
	if (engines->n)
		qsort(engines->items, engines->n, sizeof(*engines->items),
		      registry_compare_names);
}

static int registry_not_found(const char *engine, const struct strlist *dirs,
			      struct error *err)
{
	struct strlist engines = STRLIST_INIT;
	struct strbuf places = STRBUF_INIT;
	const char *near;
	int rc;

	for (size_t i = 0; i < dirs->n; i++)
		strbuf_addf(&places, "%s%s", i ? ", " : "", dirs->items[i]);
	rc = error_set(err, ERROR_CONFIG,
		       "engine \"%s\" is not built in; no module " MODULE_PREFIX
		       "%s" MODULE_SUFFIX " found in %s",
		       engine, engine, places.data);
	registry_list(&engines, dirs);
	near = nearest_name(engine, (const char *const *)engines.items,
			    engines.n);
	if (near)
		error_hint(err, "(did you mean \"%s\"?)", near);
	if (!strcmp(engine, "duckdb"))
		error_hint(err,
			   "(to get it: `tools/get-duckdb DIR`, then build "
			   "with -Dduckdb_root=DIR; or put the module into a "
			   "directory of $TIDEMARK_PLUGIN_PATH)");
	strlist_release(&engines);
	strbuf_release(&places);
	return rc;
}

/* With the lock held. The first directory that has the file decides: a broken
 * module is an error, not a reason to look further. */
static int registry_search(const char *engine, const struct plugin **out,
			   struct error *err)
{
	struct strlist dirs = STRLIST_INIT;
	char *file = NULL;
	int rc = 0;

	registry_search_path(&dirs);
	for (size_t i = 0;
	     i < dirs.n && registry_is_name(engine, strlen(engine)); i++) {
		file = xstrfmt("%s/" MODULE_PREFIX "%s" MODULE_SUFFIX,
			       dirs.items[i], engine);
		if (access(file, F_OK) == 0)
			break;
		free(file);
		file = NULL;
	}
	if (file)
		rc = registry_load(engine, file, out, err);
	else
		rc = registry_not_found(engine, &dirs, err);
	free(file);
	strlist_release(&dirs);
	return rc;
}

int registry_find(const char *engine, const struct plugin **out,
		  struct error *err)
{
	const struct plugin *builtin = registry_builtin(engine);
	const struct registry_module *module;
	int rc = 0;

	if (builtin) {
		rc = registry_check(builtin, engine, "built in", err);
		if (!rc)
			*out = builtin;
		return rc;
	}
	pthread_mutex_lock(&registry.lock);
	module = registry_loaded(engine);
	if (module)
		*out = module->plugin;
	else
		rc = registry_search(engine, out, err);
	pthread_mutex_unlock(&registry.lock);
	return rc;
}

static int registry_cannot(const char *engine, const char *role,
			   struct error *err)
{
	return error_set(err, ERROR_CONFIG, "engine \"%s\" cannot be a %s",
			 engine, role);
}

int registry_connector(const char *engine, const struct connector_ops **out,
		       struct error *err)
{
	const struct plugin *plugin;
	int rc = registry_find(engine, &plugin, err);

	if (rc)
		return rc;
	if (!plugin->connector)
		return registry_cannot(engine, "source", err);
	*out = plugin->connector;
	return 0;
}

int registry_destination(const char *engine, const struct destination_ops **out,
			 struct error *err)
{
	const struct plugin *plugin;
	int rc = registry_find(engine, &plugin, err);

	if (rc)
		return rc;
	if (!plugin->destination)
		return registry_cannot(engine, "destination", err);
	*out = plugin->destination;
	return 0;
}

int registry_store(const char *engine, const struct store_ops **out,
		   struct error *err)
{
	const struct plugin *plugin;
	int rc = registry_find(engine, &plugin, err);

	if (rc)
		return rc;
	if (!plugin->store)
		return registry_cannot(engine, "state store", err);
	*out = plugin->store;
	return 0;
}

static void registry_add_origin(struct strlist *paths, const char *engine)
{
	const struct registry_module *module;

	if (!paths)
		return;
	pthread_mutex_lock(&registry.lock);
	module = registry_loaded(engine);
	strlist_add(paths, module ? module->file : "built in");
	pthread_mutex_unlock(&registry.lock);
}

const struct plugin **registry_all(struct strlist *paths)
{
	struct strlist dirs = STRLIST_INIT, engines = STRLIST_INIT;
	const struct plugin **all;
	size_t n = 0;

	registry_search_path(&dirs);
	registry_list(&engines, &dirs);
	all = xcalloc(engines.n + 1, sizeof(*all));
	for (size_t i = 0; i < engines.n; i++) {
		struct error err = ERROR_INIT;

		if (registry_find(engines.items[i], &all[n], &err)) {
			log_warn("%s", err.message);
			continue;
		}
		registry_add_origin(paths, engines.items[i]);
		n++;
	}
	strlist_release(&engines);
	strlist_release(&dirs);
	return all;
}
