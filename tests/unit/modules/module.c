/*
 * A plug-in that does nothing, built once for each way of being right or
 * wrong; MODULE_NAME and the MODULE_* switches come from meson.build.
 */
#include "core/plugin/registry.h"

static const struct url_option module_options[] = { { NULL, NULL, NULL } };

static int module_open(struct store **out, const struct connection *conn,
		       struct error *err)
{
	(void)out;
	(void)conn;
	return error_set(err, ERROR_ACCESS, "nothing here");
}

static int module_migrate(struct store *s, int *applied, int *version,
			  struct error *err)
{
	(void)s;
	(void)err;
	*applied = 0;
	*version = 0;
	return 0;
}

static int module_save_attempt(struct store *s, const struct attempt *a,
			       struct error *err)
{
	(void)s;
	(void)a;
	(void)err;
	return 0;
}

static int module_save_batch(struct store *s, const struct batch_record *b,
			     const struct attempt *a, struct error *err)
{
	(void)b;
	return module_save_attempt(s, a, err);
}

static int module_list_attempts(struct store *s, const char *pipeline,
				int64_t limit, struct attempt_list *out,
				struct error *err)
{
	(void)s;
	(void)pipeline;
	(void)limit;
	(void)out;
	(void)err;
	return 0;
}

static int module_close_dead_attempts(struct store *s, const char *pipeline,
				      struct error *err)
{
	(void)s;
	(void)pipeline;
	(void)err;
	return 0;
}

#ifndef MODULE_HOLE
static int module_get_watermark(struct store *s, const char *pipeline,
				char **out, struct error *err)
{
	(void)out;
	return module_close_dead_attempts(s, pipeline, err);
}
#endif

static int module_set_watermark(struct store *s, const char *pipeline,
				const char *watermark, struct error *err)
{
	(void)watermark;
	return module_close_dead_attempts(s, pipeline, err);
}

static void module_close(struct store *s)
{
	(void)s;
}

static const struct store_ops module_store = {
	.name = MODULE_NAME,
	.options = module_options,
	.open = module_open,
	.migrate = module_migrate,
	.save_attempt = module_save_attempt,
	.save_batch = module_save_batch,
	.list_attempts = module_list_attempts,
	.close_dead_attempts = module_close_dead_attempts,
#ifndef MODULE_HOLE
	.get_watermark = module_get_watermark,
#endif
	.set_watermark = module_set_watermark,
	.close = module_close,
};

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
};
