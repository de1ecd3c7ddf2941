#include "core/plugin/registry.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/module.h"
#include "core/base/nearest.h"
#include "core/base/strbuf.h"
#include "core/base/trust.h"
#include "core/plugin/registry_check.h"

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

/* A module that was built with this binary lacks no symbol. So its symbols are
 * looked up when they are called, which for DuckDB saves 10 ms of 25. If
 * somebody else's module lacks one, say so at once. */
static int registry_binding(const char *file)
{
	return module_is_own(file) ? RTLD_LAZY : RTLD_NOW;
}

/* Whoever can replace a module beside the binary can replace the binary. */
static int registry_trust(const char *engine, const char *file,
			  struct error *err)
{
	int rc = module_is_own(file)
			 ? 0
			 : trust_check(file, TRUST_MODULE, "its module", err);

	if (rc)
		error_prefix(err, "engine %s", engine);
	return rc;
}

/* The module, or the library that it needs, is not there. */
static void registry_hint_absent(const char *engine, struct error *err)
{
	const struct engine *e = engine_named(engine);

	if (e && e->absent)
		error_hint(err, "%s", e->absent);
}

/* With the lock held. */
static int registry_load(const char *engine, const char *file,
			 const struct plugin **out, struct error *err)
{
	const struct plugin *plugin = NULL;
	void *handle;
	int rc = registry_trust(engine, file, err);

	if (rc)
		return rc;
	handle = dlopen(file, registry_binding(file) | RTLD_LOCAL);
	if (!handle) {
		error_set(err, ERROR_CONFIG,
			  "engine %s: cannot load its module: %s", engine,
			  dlerror());
		registry_hint_absent(engine, err);
		return -ERROR_CONFIG;
	}
	plugin = dlsym(handle, "tidemark_plugin");
	if (!plugin)
		rc = error_set(err, ERROR_CONFIG,
			       "engine %s: %s exports no tidemark_plugin",
			       engine, file);
	else
		rc = registry_check(plugin, engine, file, err);
	if (!rc)
		rc = registry_check_engine(plugin, file, err);
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

static void registry_list_dir(struct strlist *engines, const char *dir)
{
	DIR *handle = opendir(dir);
	struct dirent *entry;

	while (handle && (entry = readdir(handle))) {
		char *engine = module_engine(entry->d_name);
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

static void registry_not_found(const char *engine, struct error *err)
{
	struct strlist engines = STRLIST_INIT, dirs = STRLIST_INIT;
	struct strbuf places = STRBUF_INIT;
	const char *near;

	module_directories(&dirs);
	for (size_t i = 0; i < dirs.n; i++)
		strbuf_addf(&places, "%s%s", i ? ", " : "", dirs.items[i]);
	error_set(
		err, ERROR_CONFIG,
		"engine \"%s\" is not built in; no module tidemark-%s.so found "
		"in %s",
		engine, engine, places.data);
	registry_list(&engines, &dirs);
	near = nearest_name(engine, (const char *const *)engines.items,
			    engines.n);
	if (near)
		error_hint(err, "(did you mean \"%s\"?)", near);
	registry_hint_absent(engine, err);
	strlist_release(&engines);
	strlist_release(&dirs);
	strbuf_release(&places);
}

/* With the lock held. The first directory that has the file decides: a broken
 * module is an error, not a reason to look further. */
static int registry_search(const char *engine, const struct plugin **out,
			   struct error *err)
{
	char *file = module_find(engine);
	int rc;

	if (!file) {
		registry_not_found(engine, err);
		return -ERROR_CONFIG;
	}
	rc = registry_load(engine, file, out, err);
	free(file);
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

static void registry_add_refused(struct strlist *refused, const char *engine,
				 const struct error *err)
{
	if (!refused)
		return;
	strlist_add(refused, engine);
	strlist_add(refused, error_code_name(err->code));
	strlist_add(refused, err->message);
}

const struct plugin **registry_all(struct strlist *paths,
				   struct strlist *refused)
{
	struct strlist dirs = STRLIST_INIT, engines = STRLIST_INIT;
	const struct plugin **all;
	size_t n = 0;

	module_directories(&dirs);
	registry_list(&engines, &dirs);
	all = xcalloc(engines.n + 1, sizeof(*all));
	for (size_t i = 0; i < engines.n; i++) {
		struct error err = ERROR_INIT;

		if (registry_find(engines.items[i], &all[n], &err)) {
			registry_add_refused(refused, engines.items[i], &err);
			continue;
		}
		registry_add_origin(paths, engines.items[i]);
		n++;
	}
	strlist_release(&engines);
	strlist_release(&dirs);
	return all;
}

void registry_names(struct strlist *engines, struct strlist *paths)
{
	struct strlist dirs = STRLIST_INIT;

	module_directories(&dirs);
	registry_list(engines, &dirs);
	for (size_t i = 0; i < engines->n; i++) {
		const char *engine = engines->items[i];
		char *file =
			registry_builtin(engine) ? NULL : module_find(engine);

		strlist_add(paths, file ? file : "built in");
		free(file);
	}
	strlist_release(&dirs);
}

/* A module whose facts are known is not loaded for them. */
static void registry_ask_modules(struct strbuf *refused)
{
	struct strlist dirs = STRLIST_INIT, engines = STRLIST_INIT;

	module_directories(&dirs);
	for (size_t i = 0; i < dirs.n; i++)
		registry_list_dir(&engines, dirs.items[i]);
	for (size_t i = 0; i < engines.n; i++) {
		const struct plugin *plugin;
		struct error err = ERROR_INIT;

		if (!engine_named(engines.items[i]) &&
		    registry_find(engines.items[i], &plugin, &err))
			strbuf_addf(refused, "%s%s", refused->len ? "; " : "",
				    err.message);
	}
	strlist_release(&engines);
	strlist_release(&dirs);
}

static int registry_load_scheme(const char *scheme, struct strbuf *refused,
				struct error *err)
{
	char *file = module_find(scheme);
	const struct plugin *plugin;
	int rc = 0;

	if (file)
		rc = registry_find(scheme, &plugin, err);
	else
		registry_ask_modules(refused);
	free(file);
	return rc;
}

void registry_serve_schemes(void)
{
	engine_set_loader(registry_load_scheme);
}
