#include "core/settings/wildcard.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/nearest.h"
#include "core/settings/input.h"

/* The keys that a wildcard has and a pipeline has not. */
static const char *const wildcard_keys[] = { "tables", "exclude", "on_missing",
					     "overrides" };

static bool wildcard_has_key(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(wildcard_keys); i++)
		if (!strcmp(wildcard_keys[i], key))
			return true;
	return false;
}

/* Also by a key that is misspelt, so that the error says the right one. */
bool settings_is_wildcard(const struct config_node *node)
{
	bool is = false;

	if (node->kind != CONFIG_MAP)
		return false;
	for (size_t i = 0; !is && i < node->n; i++)
		is = wildcard_has_key(node->entries[i].key);
	for (size_t i = 0; !is && i < node->n; i++)
		is = strlen(node->entries[i].key) > 4 &&
		     nearest_name(node->entries[i].key, wildcard_keys,
				  ARRAY_SIZE(wildcard_keys));
	return is;
}

static int wildcard_pattern_add(struct option_context *ctx,
				struct wildcard_patterns *list,
				const char *text, struct config_place at,
				const struct config_node *node)
{
	struct error why = ERROR_INIT;
	struct table_pattern pattern;

	if (table_pattern_parse(&pattern, text, &why))
		return option_fail(ctx, at, "%s", why.message);
	list->items =
		xreallocarray(list->items, list->n + 1, sizeof(*list->items));
	list->items[list->n++] =
		(struct wildcard_pattern){ .pattern = pattern,
					   .text = xstrdup(text),
					   .at = at,
					   .node = node };
	return 0;
}

/* A text, or a list of them; it has been parsed before. */
static int wildcard_patterns(struct option_context *ctx,
			     struct wildcard_patterns *list,
			     const struct config_node *body, const char *key)
{
	const struct config_node *node = config_node_find(body, key);
	size_t length = option_path_push(ctx, key);
	int rc = 0;

	if (node && node->kind == CONFIG_SCALAR)
		rc = wildcard_pattern_add(ctx, list, node->text, node->at,
					  NULL);
	for (size_t i = 0; !rc && node && i < node->n; i++) {
		const struct config_node *item = node->entries[i].node;

		rc = wildcard_pattern_add(ctx, list, item->text, item->at,
					  NULL);
	}
	option_path_pop(ctx, length);
	return rc;
}

/* A column without a strategy would join whatever is chosen. */
static int wildcard_check_mark(struct option_context *ctx,
			       const struct config_node *node)
{
	if (!config_node_find(node, "watermark.column") ||
	    config_node_find(node, "watermark.strategy"))
		return 0;
	return settings_fail(ctx, node, "watermark.column",
			     "goes with a strategy; write { strategy: "
			     "timestamp, column: updated_at }, or neither");
}

static int wildcard_check_override(struct option_context *ctx,
				   const struct config_node *node)
{
	static const char *const fixed[] = { "source.table",
					     "source.connection" };
	int rc = settings_check_part(ctx, "overrides", node);

	for (size_t i = 0; !rc && i < ARRAY_SIZE(fixed); i++)
		if (config_node_find(node, fixed[i]))
			rc = settings_fail(ctx, node, fixed[i],
					   "the table is the one that the "
					   "override is for; leave it out");
	return rc ? rc : wildcard_check_mark(ctx, node);
}

static int wildcard_overrides(struct option_context *ctx, struct wildcard *w)
{
	const struct config_node *node = config_node_find(w->body, "overrides");
	size_t length = option_path_push(ctx, "overrides");
	int rc = 0;

	for (size_t i = 0; !rc && node && i < node->n; i++) {
		const struct config_entry *entry = &node->entries[i];
		size_t inner;

		rc = wildcard_pattern_add(ctx, &w->overrides, entry->key,
					  entry->at, entry->node);
		inner = option_path_push(ctx, entry->key);
		if (!rc)
			rc = wildcard_check_override(ctx, entry->node);
		option_path_pop(ctx, inner);
	}
	option_path_pop(ctx, length);
	return rc;
}

/* A table of the defaults is not one of a wildcard. */
static void wildcard_drop_tables(struct config_node *body)
{
	static const char *const ends[] = { "source", "destination" };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct config_node *end = config_node_find(body, ends[i]);
		struct config_node *table =
			end ? config_node_find(end, "table") : NULL;

		if (table && table->inherited)
			config_node_remove(end, "table");
	}
}

static int wildcard_parse(struct option_context *ctx, struct settings *s,
			  struct wildcard *w)
{
	struct wildcard_input in = { .schema = NULL };
	struct option table = { .name = w->name,
				.type = OPTION_TABLE,
				.table = wildcard_options };
	int rc;

	option_init(wildcard_options, &in);
	rc = option_parse_table(ctx, &table, w->body, &in);
	if (!rc && !in.tables.n)
		rc = settings_fail(ctx, w->body, "tables",
				   "names no table; write tables: "
				   "\"public.*\"");
	if (!rc)
		rc = settings_resolve(ctx, s, w->body, "source.connection",
				      in.in.source_name, &w->source);
	if (!rc)
		rc = settings_resolve(ctx, s, w->body, "destination.connection",
				      in.in.destination_name, &w->destination);
	if (!rc)
		rc = wildcard_check_mark(ctx, w->body);
	if (in.schema && *in.schema)
		w->schema = xstrdup(in.schema);
	w->skip_missing = in.skip_missing;
	w->retry = in.in.p.retry;
	settings_release_input(&in.in);
	strlist_release(&in.tables);
	strlist_release(&in.exclude);
	free(in.schema);
	return rc;
}

int settings_parse_wildcard(struct option_context *ctx, struct settings *s,
			    const struct config_entry *entry,
			    struct config_node *merged)
{
	struct wildcard *w = xcalloc(1, sizeof(*w));
	size_t length = option_path_push(ctx, entry->key);
	int rc;

	w->name = xstrdup(entry->key);
	w->at = entry->at;
	w->body = merged;
	s->wildcards = xreallocarray(s->wildcards, s->n_wildcards + 1,
				     sizeof(*s->wildcards));
	s->wildcards[s->n_wildcards++] = w;
	wildcard_drop_tables(w->body);
	rc = wildcard_parse(ctx, s, w);
	if (!rc)
		rc = wildcard_patterns(ctx, &w->tables, w->body, "tables");
	if (!rc)
		rc = wildcard_patterns(ctx, &w->exclude, w->body, "exclude");
	if (!rc)
		rc = wildcard_overrides(ctx, w);
	option_path_pop(ctx, length);
	return rc;
}

static void wildcard_patterns_release(struct wildcard_patterns *list)
{
	for (size_t i = 0; i < list->n; i++) {
		table_pattern_release(&list->items[i].pattern);
		free(list->items[i].text);
	}
	free(list->items);
}

void settings_release_wildcard(struct wildcard *w)
{
	wildcard_patterns_release(&w->tables);
	wildcard_patterns_release(&w->exclude);
	wildcard_patterns_release(&w->overrides);
	config_node_free(w->body);
	free(w->schema);
	free(w->name);
	free(w);
}

static bool wildcard_any(const struct wildcard_patterns *list,
			 const struct table_name *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (table_pattern_match(&list->items[i].pattern, name))
			return true;
	return false;
}

bool wildcard_names(const struct wildcard *w, const struct table_name *name)
{
	return wildcard_any(&w->tables, name);
}

bool wildcard_catches(const struct wildcard *w, const struct table_name *name)
{
	return wildcard_any(&w->tables, name) &&
	       !wildcard_any(&w->exclude, name);
}

char *wildcard_place(const struct settings *s, const struct wildcard *w)
{
	return xstrfmt("%s:%d", s->file, w->at.line);
}

struct caught *catch_add(struct catch *c, const char *pipeline,
			 const char *table, json_t *chosen)
{
	struct caught *item;

	c->items = xgrow(c->items, &c->capacity, c->n + 1, sizeof(*c->items));
	item = &c->items[c->n++];
	*item = (struct caught){ .pipeline = xstrdup(pipeline),
				 .table = xstrdup(table),
				 .chosen = chosen,
				 .fault = ERROR_INIT };
	return item;
}

void catch_release(struct catch *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->items[i].pipeline);
		free(c->items[i].table);
		json_decref(c->items[i].chosen);
	}
	free(c->items);
	memset(c, 0, sizeof(*c));
}
