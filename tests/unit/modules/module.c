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

static int module_version(struct store *s, int *version, struct error *err)
{
	(void)s;
	(void)err;
	*version = 1;
	return 0;
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
			     const struct attempt *a, const char *mark,
			     struct error *err)
{
	(void)b;
	(void)mark;
	return module_save_attempt(s, a, err);
}

static int module_take_lease(struct store *s, const struct lease *wanted,
			     int64_t lease_us, enum lease_answer *answer,
			     struct lease *out, struct lease *before,
			     struct error *err)
{
	(void)s;
	(void)wanted;
	(void)lease_us;
	(void)answer;
	(void)out;
	(void)before;
	(void)err;
	return 0;
}

static int module_renew_lease(struct store *s, const struct lease *l,
			      int64_t lease_us, bool *held, struct error *err)
{
	(void)s;
	(void)l;
	(void)lease_us;
	(void)held;
	(void)err;
	return 0;
}

static int module_amend_lease(struct store *s, const struct lease *l,
			      bool *held, struct error *err)
{
	return module_renew_lease(s, l, 0, held, err);
}

static int module_give_lease(struct store *s, const struct lease *l,
			     struct error *err)
{
	return module_renew_lease(s, l, 0, NULL, err);
}

static int module_get_lease(struct store *s, const char *name, bool *held,
			    struct lease *out, struct error *err)
{
	(void)name;
	return module_renew_lease(s, out, 0, held, err);
}

static int module_list_attempts(struct store *s,
				const struct run_filter *filter,
				struct attempt_list *out, struct error *err)
{
	(void)s;
	(void)filter;
	(void)out;
	(void)err;
	return 0;
}

static int module_list_runs(struct store *s, const struct run_filter *filter,
			    struct run_list *out, struct error *err)
{
	(void)out;
	return module_list_attempts(s, filter, NULL, err);
}

static int module_list_batches(struct store *s, const char *run_id,
			       struct batch_list *out, struct error *err)
{
	(void)run_id;
	(void)out;
	return module_list_attempts(s, NULL, NULL, err);
}

static int module_prune(struct store *s, int64_t keep_us, struct error *err)
{
	(void)keep_us;
	return module_list_attempts(s, NULL, NULL, err);
}

static int module_close_attempts(struct store *s, const char *pipeline,
				 struct error *err)
{
	(void)s;
	(void)pipeline;
	(void)err;
	return 0;
}

static int module_save_letters(struct store *s,
			       const struct dead_letter_list *letters,
			       struct error *err)
{
	(void)letters;
	return module_close_attempts(s, NULL, err);
}

static int module_list_letters(struct store *s,
			       const struct dead_letter_filter *filter,
			       struct dead_letter_list *out, struct error *err)
{
	(void)filter;
	(void)out;
	return module_close_attempts(s, NULL, err);
}

static int module_count_letters(struct store *s, const char *pipeline,
				int64_t *out, struct error *err)
{
	(void)out;
	return module_close_attempts(s, pipeline, err);
}

static int module_delete_letters(struct store *s,
				 const struct dead_letter_list *letters,
				 struct error *err)
{
	(void)letters;
	return module_close_attempts(s, NULL, err);
}

#ifndef MODULE_HOLE
static int module_get_watermark(struct store *s, const char *pipeline,
				char **out, struct error *err)
{
	(void)out;
	return module_close_attempts(s, pipeline, err);
}
#endif

static int module_set_watermark(struct store *s, const char *pipeline,
				const char *attempt_id, const char *watermark,
				struct error *err)
{
	(void)attempt_id;
	(void)watermark;
	return module_close_attempts(s, pipeline, err);
}

static int module_get_pace(struct store *s, const char *pipeline,
			   struct pace_record *out, struct error *err)
{
	(void)out;
	return module_close_attempts(s, pipeline, err);
}

static int module_set_pace(struct store *s, const char *pipeline,
			   const char *settings, struct error *err)
{
	(void)settings;
	return module_close_attempts(s, pipeline, err);
}

static void module_close(struct store *s)
{
	(void)s;
}

static int module_add_chunks(struct store *s, const struct chunk_list *chunks,
			     const struct chunk_rule *rule, struct error *err)
{
	(void)rule;
	(void)s;
	(void)chunks;
	(void)err;
	return 0;
}

static int module_list_chunks(struct store *s, const char *pipeline,
			      struct chunk_list *out, struct error *err)
{
	(void)s;
	(void)pipeline;
	(void)out;
	(void)err;
	return 0;
}

static int module_claim_chunk(struct store *s, const char *pipeline,
			      const char *config, const struct lease *wanted,
			      int64_t lease_us, bool *found, struct chunk *out,
			      struct error *err)
{
	(void)s;
	(void)pipeline;
	(void)config;
	(void)wanted;
	(void)lease_us;
	(void)found;
	(void)out;
	(void)err;
	return 0;
}

static int module_save_chunk(struct store *s, const struct chunk *c, bool *held,
			     struct error *err)
{
	(void)s;
	(void)c;
	(void)held;
	(void)err;
	return 0;
}

static int module_delete_chunks(struct store *s, const char *pipeline,
				const char *backfill_id, struct error *err)
{
	(void)s;
	(void)pipeline;
	(void)backfill_id;
	(void)err;
	return 0;
}

static const struct store_ops module_store = {
	.name = MODULE_NAME,
	.options = module_options,
	.open = module_open,
	.migrate = module_migrate,
	.version = module_version,
	.take_lease = module_take_lease,
	.renew_lease = module_renew_lease,
	.amend_lease = module_amend_lease,
	.give_lease = module_give_lease,
	.get_lease = module_get_lease,
	.save_attempt = module_save_attempt,
	.save_batch = module_save_batch,
	.list_attempts = module_list_attempts,
	.list_runs = module_list_runs,
	.list_batches = module_list_batches,
	.close_attempts = module_close_attempts,
	.prune = module_prune,
	.save_dead_letters = module_save_letters,
	.list_dead_letters = module_list_letters,
	.count_dead_letters = module_count_letters,
	.delete_dead_letters = module_delete_letters,
#ifndef MODULE_HOLE
	.get_watermark = module_get_watermark,
#endif
	.set_watermark = module_set_watermark,
	.get_pace = module_get_pace,
	.set_pace = module_set_pace,
	.add_chunks = module_add_chunks,
	.list_chunks = module_list_chunks,
	.claim_chunk = module_claim_chunk,
	.save_chunk = module_save_chunk,
	.delete_chunks = module_delete_chunks,
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
