#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/sync/settings_input.h"

static int pace_check_server(struct option_context *ctx,
			     const struct config_node *node, const char *path,
			     const struct connection *c)
{
	if (!*c->url.path)
		return 0;
	return settings_fail(ctx, node, path,
			     "connection %s is a file, and has neither "
			     "sessions nor replicas",
			     c->name);
}

static int pace_check_replicas(struct option_context *ctx,
			       const struct settings *s,
			       const struct config_node *node,
			       struct pipeline_input *in)
{
	static const char path[] = "pace.replicas";
	struct pace_settings *pace = &in->p.pace;
	int rc = 0;

	if (in->replicas.n && !pace->replica_lag_us)
		return settings_fail(ctx, node, path,
				     "says whom to ask, but pace.replica_lag "
				     "does not say how far they may be behind");
	pace->replicas = xcalloc(in->replicas.n + 1, sizeof(*pace->replicas));
	for (size_t i = 0; !rc && i < in->replicas.n; i++) {
		const struct connection **c = &pace->replicas[i];

		rc = settings_resolve(ctx, s, node, path, in->replicas.items[i],
				      c);
		if (!rc)
			rc = pace_check_server(ctx, node, path, *c);
		pace->n_replicas += !rc;
	}
	return rc;
}

int settings_check_pace(struct option_context *ctx, const struct settings *s,
			const struct config_node *node,
			struct pipeline_input *in)
{
	const struct pace_settings *pace = &in->p.pace;
	int rc = pace_check_replicas(ctx, s, node, in);

	if (!rc && pace->max_active)
		rc = pace_check_server(ctx, node, "pace.max_active",
				       in->p.source);
	if (!rc && pace->replica_lag_us && !pace->n_replicas)
		rc = pace_check_server(ctx, node, "pace.replica_lag",
				       in->p.source);
	return rc;
}
