#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/nearest.h"
#include "core/settings/input.h"

/* The config tree of a JSON value: texts, lists and maps of them. */
static struct config_node *expand_node(const json_t *value,
				       struct config_place at)
{
	json_t *map = (json_t *)value; /* only jansson wants it so */
	struct config_node *node;

	if (json_is_string(value))
		return config_node_scalar(json_string_value(value), at);
	node = config_node_new(json_is_object(value) ? CONFIG_MAP : CONFIG_LIST,
			       at);
	for (size_t i = 0; i < json_array_size(value); i++)
		config_node_add(node, NULL, at,
				expand_node(json_array_get(value, i), at));
	for (void *i = json_object_iter(map); i;
	     i = json_object_iter_next(map, i))
		config_node_add(node, json_object_iter_key(i), at,
				expand_node(json_object_iter_value(i), at));
	return node;
}

/* The config goes first: no choice adds to a part that it speaks of. */
static void expand_choose(struct config_node *node, const struct caught *c,
			  struct config_place at)
{
	static const struct {
		const char *key, *said;
	} parts[] = { { "key", "key" },
		      { "watermark", "watermark.strategy" },
		      { "load", "load.mode" } };
	struct config_node *rest = config_node_new(CONFIG_MAP, at);

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const json_t *part = json_object_get(c->chosen, parts[i].key);

		if (part && !config_node_find(node, parts[i].said))
			config_node_add(rest, parts[i].key, at,
					expand_node(part, at));
	}
	config_node_merge(node, rest);
	config_node_free(rest);
}

static void expand_set_table(struct config_node *body, const char *end,
			     const char *table, struct config_place at)
{
	struct config_node *map = config_node_find(body, end);

	config_node_add(map, "table", at, config_node_scalar(table, at));
}

/* A name that a config could not write is left to the checks. */
static char *expand_target(const struct wildcard *w, const char *table)
{
	struct table_name name = { NULL, NULL, NULL };
	struct error ignored = ERROR_INIT;
	struct strbuf sb = STRBUF_INIT;

	if (table_name_parse(&name, table, &ignored))
		return xstrdup(table);
	if (w->schema) {
		table_name_write_part(&sb, w->schema);
		strbuf_addch(&sb, '.');
	}
	table_name_write_part(&sb, name.name);
	table_name_release(&name);
	return strbuf_detach(&sb);
}

static const struct wildcard_pattern *
expand_override(const struct wildcard *w, const char *table, size_t from)
{
	struct table_name name = { NULL, NULL, NULL };
	struct error ignored = ERROR_INIT;
	const struct wildcard_pattern *found = NULL;

	if (table_name_parse(&name, table, &ignored))
		return NULL;
	for (size_t i = from; !found && i < w->overrides.n; i++)
		if (table_pattern_match(&w->overrides.items[i].pattern, &name))
			found = &w->overrides.items[i];
	table_name_release(&name);
	return found;
}

/* The wildcard's keys that are a pipeline's. */
static struct config_node *expand_body(const struct wildcard *w)
{
	static const char *const own[] = { "tables", "exclude", "on_missing",
					   "overrides" };
	struct config_node *body = config_node_copy(w->body);

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		config_node_remove(body, own[i]);
	config_node_remove(config_node_find(body, "destination"), "schema");
	return body;
}

/* The pipeline as somebody could have written it. */
static struct config_node *expand_pipeline(const struct wildcard *w,
					   const struct caught *c)
{
	const struct wildcard_pattern *own = expand_override(w, c->table, 0);
	struct config_node *body = expand_body(w), *node;
	struct config_node *none = config_node_new(CONFIG_MAP, w->at);
	char *target = expand_target(w, c->table);

	expand_set_table(body, "source", c->table, w->at);
	expand_set_table(body, "destination", target, w->at);
	node = settings_merged(
		own && own->node->kind == CONFIG_MAP ? own->node : none, body);
	node->at = own ? own->at : w->at;
	expand_choose(node, c, w->at);
	config_node_free(none);
	config_node_free(body);
	free(target);
	return node;
}

static void expand_say(json_t *out, const struct config_node *node,
		       const char *map, const char *key)
{
	char *path = xstrfmt("%s.%s", map, key);
	const struct config_node *value = config_node_find(node, path);
	json_t *object = json_object_get(out, map);

	free(path);
	if (!value || value->kind != CONFIG_SCALAR)
		return;
	if (!object) {
		object = json_object();
		json_object_set_new(out, map, object);
	}
	json_object_set_new(object, key, json_string(value->text));
}

json_t *wildcard_said(const struct wildcard *w, const char *table)
{
	const struct caught asked = { .table = (char *)table };
	struct config_node *node = expand_pipeline(w, &asked);
	const struct config_node *key = config_node_find(node, "key");
	json_t *out = json_object(), *names = json_array();

	for (size_t i = 0; key && key->kind == CONFIG_LIST && i < key->n; i++)
		if (key->entries[i].node->text)
			json_array_append_new(
				names, json_string(key->entries[i].node->text));
	if (json_array_size(names))
		json_object_set(out, "key", names);
	json_decref(names);
	expand_say(out, node, "watermark", "strategy");
	expand_say(out, node, "watermark", "column");
	expand_say(out, node, "load", "mode");
	config_node_free(node);
	return out;
}

static bool expand_is_used(const struct wildcard_pattern *override,
			   const struct catch *caught)
{
	bool used = false;

	for (size_t i = 0; !used && i < caught->n; i++) {
		struct table_name name = { NULL, NULL, NULL };
		struct error ignored = ERROR_INIT;

		if (table_name_parse(&name, caught->items[i].table, &ignored))
			continue;
		used = table_pattern_match(&override->pattern, &name);
		table_name_release(&name);
	}
	return used;
}

static int expand_no_table(struct option_context *ctx,
			   const struct wildcard_pattern *override,
			   const struct catch *caught)
{
	const char **names = xcalloc(caught->n + 1, sizeof(*names));
	const char *near;
	int rc;

	for (size_t i = 0; i < caught->n; i++)
		names[i] = caught->items[i].table;
	near = nearest_name(override->text, names, caught->n);
	rc = option_fail(ctx, override->at,
			 "the override \"%.80s\" is for none of the %zu tables "
			 "of this wildcard%s%s%s",
			 override->text, caught->n,
			 near ? "; did you mean \"" : "", near ? near : "",
			 near ? "\"?" : "");
	free(names);
	return rc;
}

/* An override for no table is a typo, and two for one would both be meant. */
static int expand_check_overrides(struct option_context *ctx,
				  const struct wildcard *w,
				  const struct catch *caught)
{
	size_t length = option_path_push(ctx, w->name);
	int rc = 0;

	for (size_t i = 0; !rc && !caught->partial && i < w->overrides.n; i++)
		if (!expand_is_used(&w->overrides.items[i], caught))
			rc = expand_no_table(ctx, &w->overrides.items[i],
					     caught);
	for (size_t i = 0; !rc && i < caught->n; i++) {
		const char *table = caught->items[i].table;
		const struct wildcard_pattern *one = expand_override(w, table,
								     0),
					      *two = NULL;

		if (one)
			two = expand_override(
				w, table,
				(size_t)(one - w->overrides.items) + 1);
		if (two)
			rc = option_fail(ctx, two->at,
					 "the override \"%.80s\" and \"%.80s\" "
					 "of line %d are both for %s; write "
					 "one of them",
					 two->text, one->text, one->at.line,
					 table);
	}
	option_path_pop(ctx, length);
	return rc;
}

static const struct wildcard *expand_wildcard(const struct settings *s,
					      const char *name, size_t *index)
{
	for (size_t i = 0; i < s->n_wildcards; i++)
		if (!strcmp(s->wildcards[i]->name, name)) {
			*index = i;
			return s->wildcards[i];
		}
	return NULL;
}

/* In the order of the config, and a wildcard's as they were caught. */
static size_t expand_draft(const struct settings *s,
			   const struct catch *catches,
			   struct pipeline_draft *out)
{
	size_t n = 0, index = 0;

	for (size_t i = 0; i < s->written->n; i++) {
		const struct config_entry *entry = &s->written->entries[i];
		const struct wildcard *w =
			expand_wildcard(s, entry->key, &index);

		if (!w) {
			out[n++] = (struct pipeline_draft){
				.name = entry->key,
				.at = entry->at,
				.node = settings_merged(entry->node,
							s->defaults),
			};
			continue;
		}
		for (size_t k = 0; k < catches[index].n; k++) {
			const struct caught *c = &catches[index].items[k];

			out[n++] = (struct pipeline_draft){
				.name = c->pipeline,
				.at = w->at,
				.node = expand_pipeline(w, c),
				.wildcard = w,
				.caught = c,
			};
		}
	}
	return n;
}

int settings_expand(struct settings *s, const struct catch *catches,
		    struct error *err)
{
	struct config_file file = { .name = s->file };
	struct option_context ctx = { .file = &file,
				      .path = STRBUF_INIT,
				      .err = err };
	struct settings before = { .pipelines = s->pipelines,
				   .n_pipelines = s->n_pipelines };
	struct pipeline_draft *drafts;
	size_t n = s->written->n;
	int rc = 0;

	option_path_push(&ctx, "pipelines");
	for (size_t i = 0; !rc && i < s->n_wildcards; i++) {
		rc = expand_check_overrides(&ctx, s->wildcards[i], &catches[i]);
		n += catches[i].n;
	}
	strbuf_release(&ctx.path);
	if (rc)
		return rc;
	drafts = xcalloc(n + 1, sizeof(*drafts));
	n = expand_draft(s, catches, drafts);
	s->pipelines = NULL;
	s->n_pipelines = 0;
	option_path_push(&ctx, "pipelines");
	rc = settings_make_pipelines(&ctx, s, drafts, n);
	free(drafts);
	strbuf_release(&ctx.path);
	if (rc) {
		settings_release_pipelines(s);
		s->pipelines = before.pipelines;
		s->n_pipelines = before.n_pipelines;
		return rc;
	}
	settings_release_pipelines(&before);
	if (s->origin)
		settings_set_origin(s, s->origin);
	return 0;
}
