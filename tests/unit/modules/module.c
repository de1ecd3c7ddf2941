/*
 * A plug-in that does nothing, built once for each way of being right or
 * wrong; MODULE_NAME and the MODULE_* switches come from meson.build.
 */
#include <stdlib.h>

#include "core/plugin/registry.h"

static const struct url_option module_options[] = { { NULL, NULL, NULL } };

static int module_open(struct store **out, const struct connection *conn,
		       struct error *err)
{
	(void)out;
	(void)conn;
	return error_set(err, ERROR_ACCESS, "nothing here");
}

static int module_begin(struct store *s, enum store_begin how,
			struct error *err)
{
	(void)s;
	(void)how;
	(void)err;
	return 0;
}

static int module_commit(struct store *s, struct error *err)
{
	return module_begin(s, STORE_USUAL, err);
}

#ifndef MODULE_HOLE
static int module_script(struct store *s, const char *sql, struct error *err)
{
	(void)sql;
	return module_commit(s, err);
}
#endif

static int module_run(struct store *s, const char *sql,
		      const char *const *params, int n_params,
		      const char *shape, store_row row, void *ctx,
		      struct error *err)
{
	(void)sql;
	(void)params;
	(void)n_params;
	(void)shape;
	(void)row;
	(void)ctx;
	return module_commit(s, err);
}

static void module_close(struct store *s)
{
	(void)s;
}

static const struct migrations module_migrations = { NULL, 0 };

static const struct store_dialect module_dialect = {
	.tables_sql = "",
	.barred_sql = "",
	.now_sql = "0",
	.for_update = "",
#ifndef MODULE_MUTE
	.skip_locked = "",
#endif
	.lock_chunks_sql = "",
	.migrations = &module_migrations,
};

static const struct store_ops module_store = {
	.name = MODULE_NAME,
	.options = module_options,
	.dialect = &module_dialect,
	.open = module_open,
	.begin = module_begin,
	.commit = module_commit,
	.rollback = module_close,
#ifndef MODULE_HOLE
	.script = module_script,
#endif
	.run = module_run,
	.close = module_close,
};

#ifndef MODULE_SECOND
#define MODULE_SECOND MODULE_NAME "_too"
#endif
#ifndef MODULE_SCHEMES
#define MODULE_SCHEMES module_schemes
#endif
#ifndef MODULE_FACTS_NAME
#define MODULE_FACTS_NAME MODULE_NAME
#endif
#ifndef MODULE_TRAITS
#define MODULE_TRAITS 0
#endif
#ifndef MODULE_FACTS
#define MODULE_FACTS &module_facts
#endif

__attribute__((unused)) static const char *const module_schemes[] = {
	MODULE_NAME, MODULE_SECOND, NULL
};
__attribute__((unused)) static const struct engine module_facts = {
	.name = MODULE_FACTS_NAME,
	.schemes = MODULE_SCHEMES,
	.traits = MODULE_TRAITS,
};

/* Whether it was loaded is seen from outside. */
__attribute__((constructor)) static void module_loaded(void)
{
	setenv("TIDEMARK_TEST_LOADED_" MODULE_NAME, "1", 1);
}

#ifndef MODULE_ABI
#define MODULE_ABI PLUGIN_ABI
#endif
#ifndef MODULE_SIZE
#define MODULE_SIZE sizeof(struct plugin)
#endif
#ifndef MODULE_SYMBOL
#define MODULE_SYMBOL tidemark_plugin
#endif

extern const struct plugin MODULE_SYMBOL;
__attribute__((visibility("default"))) const struct plugin MODULE_SYMBOL = {
	.abi = MODULE_ABI,
	.size = MODULE_SIZE,
	.name = MODULE_NAME,
	.version = "1.2",
	.store = &module_store,
	.engine = MODULE_FACTS,
};
