#include "core/plugin/registry.h"
#include "destinations/duckdb/internal.h"

/* The one symbol that the module exports; not const because the version is
 * that of the library found at run time. */
extern struct plugin tidemark_plugin;

__attribute__((visibility("default"))) struct plugin tidemark_plugin = {
	.abi = PLUGIN_ABI,
	.size = sizeof(struct plugin),
	.name = "duckdb",
	.version = "",
	.destination = &duckdb_destination,
};

__attribute__((constructor)) static void module_init(void)
{
	tidemark_plugin.version = duck_version();
}
