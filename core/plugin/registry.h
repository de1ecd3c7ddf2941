/*
 * Engines by name. The build generates builtin.c, the list of built-in tables,
 * from each folder's meson list. An engine that is not built in is looked for
 * as a module `tidemark-<engine>.so` ($TIDEMARK_PLUGIN_PATH, beside the binary,
 * libdir/tidemark). It is loaded on first use.
 *
 * An outside plug-in is such a .so exporting one symbol:
 *
 *     const struct plugin tidemark_plugin = {
 *         .abi = PLUGIN_ABI, .size = sizeof(struct plugin), ...
 *     };
 *
 * abi and size are read first. The functions of core/base and core/data are
 * resolved from the tidemark binary.
 */
#ifndef TIDEMARK_CORE_PLUGIN_REGISTRY_H
#define TIDEMARK_CORE_PLUGIN_REGISTRY_H

#include <stdint.h>

#include "core/base/engine.h"
#include "core/plugin/connector.h"
#include "core/plugin/destination.h"
#include "core/plugin/store.h"

#define PLUGIN_ABI 7

struct plugin {
	uint32_t abi;
	uint32_t size; /* sizeof(struct plugin) of the builder */
	const char *name; /* engine */
	const char *version; /* the engine's library's, for `plugins` */
	const struct connector_ops *connector; /* NULL: cannot read */
	const struct destination_ops *destination; /* NULL: cannot write */
	const struct store_ops *store; /* NULL: cannot keep state */
	/* Its facts. NULL: they are in engines/ of the tree. */
	const struct engine *engine;
};

/* Built-in engines, ends with NULL; defined by the generated builtin.c. Weak:
 * a program without engines (a unit test) may leave it out. */
extern const struct plugin *const plugin_builtin[] __attribute__((weak));

/* The engine of that name; its module is loaded if need be. CONFIG if there is
 * none, with the nearest name and the places searched. CONFIG also if its
 * module cannot be used (another ABI, another name). BUG if an ops table has a
 * NULL slot. Thread-safe. */
int registry_find(const char *engine, const struct plugin **out,
		  struct error *err);
/* From now on the modules are searched for a URL's unknown scheme. The module
 * of that name counts, or else all trusted modules. */
void registry_serve_schemes(void);
/* As registry_find(), and CONFIG if the engine cannot serve that way. */
int registry_connector(const char *engine, const struct connector_ops **out,
		       struct error *err);
int registry_destination(const char *engine, const struct destination_ops **out,
			 struct error *err);
int registry_store(const char *engine, const struct store_ops **out,
		   struct error *err);
/* CONFIG if the URL of a file or a module has an option that is not one of
 * `options`. */
int registry_check_options(const struct url *url,
			   const struct url_option *options, struct error *err);
/* Look the engine of the URL up and open it. CONFIG, too, if the URL has an
 * option that the engine does not declare. */
int registry_open_connector(const struct connection *conn,
			    struct connector **out, struct error *err);
int registry_open_destination(const struct connection *conn,
			      struct destination **out, struct error *err);
/* All engines that can be found (modules in the search path are loaded), as a
 * NULL-terminated array; caller frees the array only. `paths` (may be NULL)
 * gets, per engine, the module file or "built in". `refused` (may be NULL)
 * gets, per engine that cannot be used, its name, the code's name, and the
 * reason. */
const struct plugin **registry_all(struct strlist *paths,
				   struct strlist *refused);
/* The names of all engines that can be found, sorted, and for each the module
 * file or "built in". No module is loaded. */
void registry_names(struct strlist *engines, struct strlist *paths);

#endif
