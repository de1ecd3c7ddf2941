#include "core/settings/input.h"

int settings_check_markless(struct option_context *ctx,
			    const struct config_node *node,
			    const struct pipeline_settings *p)
{
	if (p->mode != LOAD_REPLACE && config_node_find(node, "watermark"))
		return settings_fail(ctx, node, "watermark.strategy",
				     "load mode %s needs a mark; none is for "
				     "mode replace alone",
				     load_mode_name(p->mode));
	if (p->mode != LOAD_REPLACE)
		return settings_fail(
			ctx, node, "",
			"\"watermark\" is missing; write watermark: "
			"{ strategy: timestamp, column: updated_at }, "
			"{ strategy: xmin } or { strategy: sequence, column: "
			"id }; load mode replace alone needs none");
	if (!p->verify)
		return 0;
	return settings_fail(ctx, node, "verify",
			     "without a watermark a run has no window; leave "
			     "it out, and use tidemark verify");
}
