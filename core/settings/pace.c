#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/engine.h"
#include "core/base/nearest.h"
#include "core/settings/input.h"

static int pace_check_server(struct option_context *ctx,
			     const struct config_node *node, const char *path,
			     const struct connection *c)
{
	if (!engine_has(c->url.engine, ENGINE_FILE))
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

	if (in->replicas.n && !pace->limits.replica_lag_us)
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

/* Check that each key has a meaning at these ends. */
static int pace_check_ends(struct option_context *ctx,
			   const struct config_node *node,
			   const struct pipeline_settings *p)
{
	const struct pace_limits *limits = &p->pace.limits;
	int rc = 0;

	if (limits->max_active)
		rc = pace_check_server(ctx, node, "pace.max_active", p->source);
	if (!rc && limits->replica_lag_us && !p->pace.n_replicas)
		rc = pace_check_server(ctx, node, "pace.replica_lag",
				       p->source);
	return rc;
}

int settings_check_pace(struct option_context *ctx, const struct settings *s,
			const struct config_node *node,
			struct pipeline_input *in)
{
	int rc = pace_check_replicas(ctx, s, node, in);

	if (!rc && in->probe_name)
		rc = settings_resolve(ctx, s, node, "pace.probe.connection",
				      in->probe_name, &in->p.pace.probe);
	return rc ? rc : pace_check_ends(ctx, node, &in->p);
}

void pace_limits_release(struct pace_limits *l)
{
	free(l->pause_file);
	memset(l, 0, sizeof(*l));
}

/* Options that a running pipeline can take over. */
static const struct option *pace_live_option(const char *name)
{
	for (const struct option *o = pace_options; o->name; o++) {
		if (o->type != OPTION_LIST && o->type != OPTION_TABLE &&
		    !strcmp(o->name, name))
			return o;
	}
	return NULL;
}

static int pace_unknown(const char *name, struct error *err)
{
	const char *names[8], *near;
	struct strbuf all = STRBUF_INIT;
	size_t n = 0;

	for (const struct option *o = pace_options; o->name; o++) {
		if (!pace_live_option(o->name) || n == ARRAY_SIZE(names))
			continue;
		strbuf_addf(&all, "%s%s", n ? ", " : "", o->name);
		names[n++] = o->name;
	}
	near = nearest_name(name, names, n);
	error_set(err, ERROR_CONFIG,
		  "\"%.80s\" is none of the keys of pace that can be changed "
		  "here: %s",
		  name, all.data);
	if (near)
		error_hint(err, "(did you mean \"%s\"?)", near);
	strbuf_release(&all);
	return -(int)err->code;
}

/* As the config would say it; errors name the key in place of a line. */
static int pace_node(const json_t *values, struct config_node **out,
		     struct error *err)
{
	struct config_place at = { .label = "pace" };
	struct config_node *map = config_node_new(CONFIG_MAP, at);
	const char *key;
	json_t *value;
	int rc = 0;

	json_object_foreach((json_t *)values, key, value)
	{
		const struct option *option = pace_live_option(key);
		const char *text = json_string_value(value);
		struct config_node *node;

		if (!option || !text) {
			rc = pace_unknown(key, err);
			break;
		}
		at.label = option->name;
		node = config_node_scalar(text, at);
		/* An empty path is one: that of no file. */
		node->quoted = option->type == OPTION_TEXT;
		config_node_add(map, key, at, node);
	}
	if (rc)
		config_node_free(map);
	else
		*out = map;
	return rc;
}

int settings_pace_limits(const struct pipeline_settings *p,
			 const json_t *values, struct pace_limits *out,
			 struct error *err)
{
	static const struct config_file none = { .name = (char *)"pace" };
	struct option_context ctx = { .file = &none,
				      .path = STRBUF_INIT,
				      .err = err };
	struct pipeline_input in = { .p = *p };
	struct config_node *node = NULL;
	int rc = pace_node(values, &node, err);

	in.p.pace.limits.pause_file = xstrdup(p->pace.limits.pause_file);
	if (!rc)
		rc = option_parse(&ctx, pace_options, node, &in);
	if (!rc)
		rc = pace_check_ends(&ctx, node, &in.p);
	if (rc) {
		error_prefix(err, "pace of %s", p->name);
		pace_limits_release(&in.p.pace.limits);
	} else {
		*out = in.p.pace.limits;
	}
	config_node_free(node);
	strbuf_release(&ctx.path);
	return rc;
}
