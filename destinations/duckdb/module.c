#include "core/plugin/registry.h"
#include "destinations/duckdb/internal.h"

/* The other half of the module. */
extern const struct connector_ops duckdb_connector;

/* The one symbol that the module exports; not const because the version is
 * that of the library found at run time. */
extern struct plugin tidemark_plugin;

__attribute__((visibility("default"))) struct plugin tidemark_plugin = {
	.abi = PLUGIN_ABI,
	.size = sizeof(struct plugin),
	.name = "duckdb",
	.version = "",
	.connector = &duckdb_connector,
	.destination = &duckdb_target_destination,
};

__attribute__((constructor)) static void module_init(void)
{
	tidemark_plugin.version = duck_version();
}
