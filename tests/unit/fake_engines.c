#include "tests/unit/fake_engines.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "tests/unit/faulty_store.h"

struct fake fake;

const struct url_option fake_options[] = { { NULL, NULL, NULL } };

struct pipeline_settings fake_settings(struct connection *end)
{
	return (struct pipeline_settings){
		.name = (char *)"p",
		.source = end,
		.destination = end,
		.source_table = (char *)"t",
		.destination_table = (char *)"t",
		.strategy = STRATEGY_SEQUENCE,
		.mark_column = (char *)"id",
		.time_zone = (char *)"auto",
		.settle = true,
		.mode = LOAD_UPSERT,
		.batch_rows = 100,
		.batch_bytes = 32 << 20,
		.batch_target_us = 1,
		.retry = { .attempts = 3,
			   .backoff_us = 1,
			   .max_backoff_us = 2 },
		.logic_version = 1,
		.tenant = (char *)"",
	};
}

void fake_reset(int64_t source_rows)
{
	free(fake.watermark);
	free(fake.batch_id);
	memset(&fake, 0, sizeof(fake));
	fake.source_rows = source_rows;
	faulty_store_reset();
}

static const struct plugin fake_plugin = {
	.abi = PLUGIN_ABI,
	.size = sizeof(struct plugin),
	.name = "fake",
	.version = "",
	.connector = &fake_connector_ops,
	.destination = &fake_destination_ops,
	.store = &faulty_store_ops,
};

const struct plugin *const plugin_builtin[] = { &fake_plugin, NULL };
