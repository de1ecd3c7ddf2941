#include "core/settings/input.h"

/* A source is read a second time for a comparison, a destination is asked for
 * another pipeline's mark. */
#define SESSIONS_OF_AN_END 2

int64_t settings_sessions(const struct pipeline_settings *p,
			  const struct connection *c)
{
	const struct pace_limits *limits = &p->pace.limits;
	int64_t n = 0;

	if (p->source == c)
		n += SESSIONS_OF_AN_END;
	if (p->destination == c)
		n += SESSIONS_OF_AN_END +
		     (p->hooks.before.n || p->hooks.after.n);
	if (p->source == c && (limits->max_active || limits->replica_lag_us))
		n++;
	for (size_t i = 0; i < p->pace.n_replicas; i++)
		n += p->pace.replicas[i] == c;
	return n + (p->pace.probe == c);
}

static int sessions_check(struct option_context *ctx,
			  const struct config_node *node, const char *path,
			  const struct pipeline_settings *p,
			  const struct connection *c)
{
	int64_t needed = settings_sessions(p, c);

	if (!c->sessions || c->sessions >= needed)
		return 0;
	return settings_fail(ctx, node, path,
			     "this pipeline needs %lld sessions of connection "
			     "%s, and connections.%s.sessions is %lld",
			     (long long)needed, c->name, c->name,
			     (long long)c->sessions);
}

int settings_check_sessions(struct option_context *ctx,
			    const struct config_node *node,
			    const struct pipeline_settings *p)
{
	int rc = sessions_check(ctx, node, "source.connection", p, p->source);

	if (!rc)
		rc = sessions_check(ctx, node, "destination.connection", p,
				    p->destination);
	for (size_t i = 0; !rc && i < p->pace.n_replicas; i++)
		rc = sessions_check(ctx, node, "pace.replicas", p,
				    p->pace.replicas[i]);
	return rc;
}
