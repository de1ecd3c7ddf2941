#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/shell.h"
#include "core/base/units.h"
#include "core/settings/input.h"

static int settings_parse_connection(struct option_context *ctx,
				     struct settings *s,
				     const struct config_entry *entry)
{
	struct option table = { .name = entry->key,
				.type = OPTION_TABLE,
				.table = connection_options,
				.shorthand = "url",
				.expects = "a connection URL or a map" };
	struct connection *c = xcalloc(1, sizeof(*c));
	size_t length;
	int rc;

	if (!*entry->key) {
		free(c);
		return config_fail(ctx->file, entry->at, ctx->err,
				   "a connection without a name");
	}
	c->name = xstrdup(entry->key);
	s->connections = xreallocarray(s->connections, s->n_connections + 1,
				       sizeof(*s->connections));
	s->connections[s->n_connections++] = c;
	option_init(connection_options, c);
	length = option_path_push(ctx, entry->key);
	rc = option_parse_table(ctx, &table, entry->node, c);
	if (!rc)
		rc = settings_check_connection(ctx, entry->node, c);
	option_path_pop(ctx, length);
	return rc;
}

static int settings_parse_connections(struct option_context *ctx,
				      struct settings *s,
				      const struct config_node *node)
{
	size_t length = option_path_push(ctx, "connections");
	int rc = 0;

	for (size_t i = 0; !rc && i < node->n; i++)
		rc = settings_parse_connection(ctx, s, &node->entries[i]);
	option_path_pop(ctx, length);
	return rc;
}

static int settings_parse_state(struct option_context *ctx, struct settings *s,
				const struct config_node *node)
{
	static const struct option table = { .name = "state",
					     .type = OPTION_TABLE,
					     .table = state_options,
					     .shorthand = "url",
					     .expects = "a connection URL or a "
							"map" };
	struct state_input in = { .lease_us = 0 };
	size_t length = option_path_push(ctx, "state");
	int rc = 0;

	option_init(state_options, &in);
	in.c.name = xstrdup("state");
	if (node)
		rc = option_parse_table(ctx, &table, node, &in);
	if (!rc && !in.c.url.text)
		rc = url_parse(&in.c.url, SETTINGS_STATE_URL, ctx->err);
	if (!rc && node)
		rc = settings_check_connection(ctx, node, &in.c);
	s->state = xmalloc(sizeof(*s->state));
	*s->state = in.c;
	s->state_lease_us = in.lease_us;
	s->state_keep_us = in.keep_us;
	s->state_letters_us = in.letters_keep_us;
	option_path_pop(ctx, length);
	return rc;
}

void settings_release_input(struct pipeline_input *in)
{
	struct pipeline_settings *p = &in->p;

	option_release(pipeline_options, in);
	for (size_t i = 0; i < p->n_expressions; i++) {
		free(p->expressions[i].name);
		free(p->expressions[i].sql);
	}
	free(p->expressions);
	settings_release_naming(p);
	free(p->pace.replicas);
	free(p->rivals);
	free(p->call);
	free(p->word);
	free(p->fault);
	settings_release_gate(&p->gate);
	schedule_release(&p->schedule);
	free(p->name);
	memset(in, 0, sizeof(*in));
}

int settings_check_part(struct option_context *ctx, const char *name,
			const struct config_node *node)
{
	struct pipeline_input in = { .lag = NULL };
	struct option table = { .name = name,
				.type = OPTION_TABLE,
				.flags = OPTION_PARTIAL,
				.table = pipeline_options };
	int rc;

	option_init(pipeline_options, &in);
	rc = option_parse_table(ctx, &table, node, &in);
	settings_release_input(&in);
	return rc;
}

/* A mistake in the defaults is one, whether or not a pipeline takes them. */
static int settings_check_defaults(struct option_context *ctx,
				   const struct config_node *node)
{
	size_t length = option_path_push(ctx, "defaults");
	int rc = settings_check_part(ctx, "defaults", node);

	option_path_pop(ctx, length);
	return rc;
}

static const char *settings_strategy_text(const struct config_node *node)
{
	const struct config_node *strategy =
		config_node_find(node, "watermark.strategy");

	return strategy && strategy->kind == CONFIG_SCALAR ? strategy->text
							   : "";
}

/* The pipeline's own keys, and the defaults for all others. A pipeline with
 * another strategy does not take the default's column. A lag or time zone that
 * its strategy cannot use is passed over by the checks. */
struct config_node *settings_merged(const struct config_node *own,
				    const struct config_node *defaults)
{
	struct config_node *merged = config_node_copy(own);
	struct config_node *rest, *mark;
	const char *mine = settings_strategy_text(own);

	if (!defaults || own->kind != CONFIG_MAP)
		return merged;
	rest = config_node_copy(defaults);
	mark = config_node_find(rest, "watermark");
	if (mark && *mine && *settings_strategy_text(rest) &&
	    strcmp(mine, settings_strategy_text(rest)) != 0)
		config_node_remove(mark, "column");
	/* A schedule is one value, whichever of its keys are said. */
	if (config_node_find(own, "schedule"))
		config_node_remove(rest, "schedule");
	config_node_merge(merged, rest);
	config_node_free(rest);
	return merged;
}

int settings_check_name(struct option_context *ctx, const char *name,
			struct config_place at)
{
	bool bad = !*name || *name == '-' || strlen(name) > 200;

	for (const char *p = name; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			bad = true;
	if (!bad)
		return 0;
	return config_fail(ctx->file, at, ctx->err,
			   "\"%.40s\" is no name for a pipeline: it takes 1 "
			   "to 200 bytes, does not begin with a dash and "
			   "holds no control characters",
			   name);
}

static char *settings_word(const char *name)
{
	struct strbuf sb = STRBUF_INIT;

	shell_add_word(&sb, name);
	return strbuf_detach(&sb);
}

static void settings_name(struct pipeline_settings *p,
			  const struct pipeline_draft *draft)
{
	p->name = xstrdup(draft->name);
	p->word = settings_word(draft->name);
	p->line = draft->at.line;
	p->wildcard = draft->wildcard;
	p->known = draft->caught && draft->caught->known;
}

static int settings_parse_pipeline(struct option_context *ctx,
				   const struct settings *s,
				   const struct pipeline_draft *draft,
				   struct pipeline_settings *out)
{
	struct option table = { .name = draft->name,
				.type = OPTION_TABLE,
				.table = pipeline_options };
	struct pipeline_input in = { .lag = NULL };
	size_t length;
	int rc = settings_check_name(ctx, draft->name, draft->at);

	if (rc)
		return rc;
	length = option_path_push(ctx, draft->name);
	settings_name(&in.p, draft);
	option_init(pipeline_options, &in);
	in.p.alert = s->alert;
	rc = option_parse_table(ctx, &table, draft->node, &in);
	if (!rc)
		rc = settings_check_pipeline(ctx, s, draft->node, &in);
	option_path_pop(ctx, length);
	if (!rc) {
		*out = in.p;
		memset(&in.p, 0, sizeof(in.p));
	}
	settings_release_input(&in);
	return rc;
}

/* The ends of a table whose pipeline cannot be told, with nothing else said. */
static void settings_stub(const struct settings *s,
			  const struct pipeline_draft *draft,
			  const struct error *why,
			  struct pipeline_settings *out)
{
	const struct config_node *target =
		config_node_find(draft->node, "destination.table");
	struct pipeline_input in = { .lag = NULL };
	struct pipeline_settings *p = &in.p;

	settings_name(p, draft);
	option_init(pipeline_options, &in);
	p->alert = s->alert;
	p->source = draft->wildcard->source;
	p->destination = draft->wildcard->destination;
	p->source_table = xstrdup(draft->caught->table);
	p->destination_table = xstrdup(target ? target->text : "");
	p->fault = xmalloc(sizeof(*p->fault));
	*p->fault = *why;
	*out = in.p;
	memset(p, 0, sizeof(*p));
	settings_release_input(&in);
}

/* A mistake about one table of a wildcard is the fault of its pipeline. */
static int settings_make_pipeline(struct option_context *ctx,
				  const struct settings *s,
				  const struct pipeline_draft *draft,
				  struct pipeline_settings *out)
{
	struct error why = ERROR_INIT, *err = ctx->err;
	int rc;

	if (!draft->caught)
		return settings_parse_pipeline(ctx, s, draft, out);
	ctx->err = &why;
	rc = settings_parse_pipeline(ctx, s, draft, out);
	ctx->err = err;
	if (draft->caught->fault.code)
		why = draft->caught->fault;
	if (rc) {
		settings_stub(s, draft, &why, out);
	} else if (why.code) {
		out->fault = xmalloc(sizeof(*out->fault));
		*out->fault = why;
	}
	return 0;
}

void settings_release_pipelines(struct settings *s)
{
	for (size_t i = 0; i < s->n_pipelines; i++) {
		struct pipeline_input in = { .p = s->pipelines[i] };

		settings_release_input(&in);
	}
	free(s->pipelines);
	s->pipelines = NULL;
	s->n_pipelines = 0;
}

int settings_make_pipelines(struct option_context *ctx, struct settings *s,
			    struct pipeline_draft *drafts, size_t n)
{
	struct config_node **nodes = xcalloc(n + 1, sizeof(*nodes));
	int rc = 0;

	settings_release_pipelines(s);
	s->pipelines = xcalloc(n + 1, sizeof(*s->pipelines));
	for (size_t i = 0; !rc && i < n; i++) {
		nodes[i] = drafts[i].node;
		rc = settings_make_pipeline(ctx, s, &drafts[i],
					    &s->pipelines[i]);
		s->n_pipelines += !rc;
	}
	if (!rc)
		rc = settings_check_names(ctx, s);
	if (!rc)
		rc = settings_check_targets(ctx, s, nodes);
	if (!rc)
		settings_find_rivals(s);
	for (size_t i = 0; i < n; i++)
		config_node_free(drafts[i].node);
	free(nodes);
	return rc;
}

static int settings_parse_pipelines(struct option_context *ctx,
				    struct settings *s,
				    const struct config_node *node,
				    const struct config_node *defaults)
{
	struct pipeline_draft *drafts = xcalloc(node->n + 1, sizeof(*drafts));
	size_t length = option_path_push(ctx, "pipelines");
	size_t n = 0;
	int rc = 0;

	if (!node->n)
		rc = option_fail(ctx, node->at, "there is no pipeline");
	for (size_t i = 0; !rc && i < node->n; i++) {
		const struct config_entry *entry = &node->entries[i];
		struct config_node *merged =
			settings_merged(entry->node, defaults);

		if (settings_is_wildcard(entry->node))
			rc = settings_parse_wildcard(ctx, s, entry, merged);
		else
			drafts[n++] =
				(struct pipeline_draft){ .name = entry->key,
							 .at = entry->at,
							 .node = merged };
	}
	if (rc)
		for (size_t i = 0; i < n; i++)
			config_node_free(drafts[i].node);
	else
		rc = settings_make_pipelines(ctx, s, drafts, n);
	free(drafts);
	option_path_pop(ctx, length);
	return rc;
}

/* Wildcards need them again. */
static void settings_keep(struct settings *s, const struct settings_input *in)
{
	if (!s->n_wildcards)
		return;
	s->written = config_node_copy(in->pipelines);
	s->defaults = in->defaults ? config_node_copy(in->defaults) : NULL;
}

static int settings_parse_root(struct option_context *ctx, struct settings *s,
			       const struct config_node *root)
{
	struct settings_input in = { .alert.late_schedules =
					     SETTINGS_LATE_SCHEDULES };
	struct option table = {
		.name = "the file",
		.type = OPTION_TABLE,
		.table = settings_options,
		.expects =
			"a map of version, state, log, "
			"jobs, alert, serve, notify, connections, defaults and "
			"pipelines"
	};
	int rc;

	option_init(settings_options, &in);
	rc = option_parse_table(ctx, &table, root, &in);
	s->row_values = in.row_values;
	s->jobs = (size_t)in.jobs;
	s->alert = in.alert;
	s->serve = in.serve;
	if (!rc)
		rc = settings_check_serve(ctx, root, &s->serve);
	if (!rc && in.notify)
		rc = settings_parse_notify(ctx, s, in.notify);
	if (!rc)
		rc = settings_parse_state(ctx, s, in.state);
	if (!rc)
		rc = settings_parse_connections(ctx, s, in.connections);
	if (!rc && in.defaults)
		rc = settings_check_defaults(ctx, in.defaults);
	if (!rc)
		rc = settings_parse_pipelines(ctx, s, in.pipelines,
					      in.defaults);
	if (!rc)
		settings_keep(s, &in);
	return rc;
}

int settings_parse(struct settings *out, const struct config_file *file,
		   struct error *err)
{
	struct option_context ctx = { .file = file,
				      .path = STRBUF_INIT,
				      .err = err };
	struct settings s = { .file = xstrdup(file->name) };
	int rc = settings_parse_root(&ctx, &s, file->root);

	strbuf_release(&ctx.path);
	if (rc)
		settings_release(&s);
	else
		*out = s;
	return rc;
}

/* Links are not followed: a config that is deployed as one leads to another
 * file with each edit. */
static void settings_set_path(struct settings *s, const char *path)
{
	const char *shell = getenv("PWD");
	char *here, *whole;
	struct stat a, b;

	if (*path == '/') {
		settings_set_origin(s, path);
		return;
	}
	if (shell && *shell == '/' && !stat(shell, &a) && !stat(".", &b) &&
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		here = xstrdup(shell);
	else
		here = getcwd(NULL, 0);
	whole = xstrfmt("%s/%s", here ? here : ".", path);
	settings_set_origin(s, whole);
	free(whole);
	free(here);
}

int settings_load(struct settings *out, const char *path, struct error *err)
{
	struct config_file file;
	int rc = config_file_load(&file, path, err);

	if (rc)
		return rc;
	if (file.doubt)
		log_warn("the config is not to be trusted: %s", file.doubt);
	rc = settings_parse(out, &file, err);
	config_file_release(&file);
	if (rc)
		return rc;
	settings_set_path(out, path);
	rc = failpoint("config_loaded", err);
	if (rc)
		settings_release(out);
	return rc;
}

static void settings_release_connection(struct connection *c)
{
	if (!c)
		return;
	option_release(connection_options, c);
	url_release(&c->url);
	free(c->name);
	free(c);
}

void settings_release(struct settings *s)
{
	if (!s)
		return;
	settings_release_pipelines(s);
	for (size_t i = 0; i < s->n_wildcards; i++)
		settings_release_wildcard(s->wildcards[i]);
	free(s->wildcards);
	config_node_free(s->written);
	config_node_free(s->defaults);
	for (size_t i = 0; i < s->n_connections; i++)
		settings_release_connection(s->connections[i]);
	free(s->connections);
	settings_release_connection(s->state);
	settings_release_serve(&s->serve);
	settings_release_notify(s);
	free(s->file);
	free(s->origin);
	memset(s, 0, sizeof(*s));
}
