#include "core/base/config.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"

struct config_node *config_node_new(enum config_kind kind,
				    struct config_place at)
{
	struct config_node *node = xcalloc(1, sizeof(*node));

	node->kind = kind;
	node->at = at;
	return node;
}

struct config_node *config_node_scalar(const char *text, struct config_place at)
{
	struct config_node *node = config_node_new(CONFIG_SCALAR, at);

	node->quoted = true;
	node->raw = xstrdup(text);
	node->text = xstrdup(text);
	return node;
}

void config_node_add(struct config_node *parent, const char *key,
		     struct config_place at, struct config_node *node)
{
	struct config_entry *entry;

	parent->entries = xgrow(parent->entries, &parent->capacity,
				parent->n + 1, sizeof(*parent->entries));
	entry = &parent->entries[parent->n++];
	entry->key = xstrdup(key);
	entry->at = at;
	entry->node = node;
}

struct config_node *config_node_copy(const struct config_node *node)
{
	struct config_node *copy = config_node_new(node->kind, node->at);

	copy->quoted = node->quoted;
	copy->inherited = node->inherited;
	copy->raw = xstrdup(node->raw);
	copy->text = xstrdup(node->text);
	for (size_t i = 0; i < node->n; i++)
		config_node_add(copy, node->entries[i].key, node->entries[i].at,
				config_node_copy(node->entries[i].node));
	return copy;
}

static void config_node_inherit(struct config_node *node)
{
	node->inherited = true;
	for (size_t i = 0; i < node->n; i++)
		config_node_inherit(node->entries[i].node);
}

void config_node_merge(struct config_node *dst,
		       const struct config_node *defaults)
{
	for (size_t i = 0; i < defaults->n; i++) {
		const struct config_entry *from = &defaults->entries[i];
		struct config_entry *own = config_node_entry(dst, from->key);
		struct config_node *copy;

		if (own && own->node->kind == CONFIG_MAP &&
		    from->node->kind == CONFIG_MAP)
			config_node_merge(own->node, from->node);
		if (own)
			continue;
		copy = config_node_copy(from->node);
		config_node_inherit(copy);
		config_node_add(dst, from->key, from->at, copy);
	}
}

/* Recursion is as deep as the parser lets maps nest. */
void config_node_free(struct config_node *node)
{
	if (!node)
		return;
	for (size_t i = 0; i < node->n; i++) {
		free(node->entries[i].key);
		config_node_free(node->entries[i].node);
	}
	free(node->entries);
	free(node->raw);
	free(node->text);
	free(node);
}

struct config_entry *config_node_entry(const struct config_node *node,
				       const char *key)
{
	if (!node || node->kind != CONFIG_MAP)
		return NULL;
	for (size_t i = 0; i < node->n; i++)
		if (!strcmp(node->entries[i].key, key))
			return &node->entries[i];
	return NULL;
}

struct config_node *config_node_find(const struct config_node *node,
				     const char *path)
{
	char *copy = xstrdup(path), *rest = copy, *part;
	struct config_node *found = (struct config_node *)node;

	while (found && (part = strsep(&rest, "."))) {
		struct config_entry *entry = config_node_entry(found, part);

		found = entry ? entry->node : NULL;
	}
	free(copy);
	return found;
}

void config_node_remove(struct config_node *map, const char *key)
{
	struct config_entry *entry = config_node_entry(map, key);
	size_t behind;

	if (!entry)
		return;
	free(entry->key);
	config_node_free(entry->node);
	behind = (size_t)(map->entries + map->n - (entry + 1));
	memmove(entry, entry + 1, behind * sizeof(*entry));
	map->n--;
}

bool config_node_is_null(const struct config_node *node)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };

	if (node->kind != CONFIG_SCALAR || node->quoted)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(nulls); i++)
		if (!strcmp(node->raw, nulls[i]))
			return true;
	return false;
}

static void config_place_text(struct strbuf *sb, const struct config_file *file,
			      struct config_place at)
{
	if (at.label)
		strbuf_addstr(sb, at.label);
	else if (at.line)
		strbuf_addf(sb, "%s:%d:%d", file->name, at.line, at.column);
	else
		strbuf_addstr(sb, file->name);
}

void config_prefix(const struct config_file *file, struct config_place at,
		   struct error *err)
{
	struct strbuf place = STRBUF_INIT;

	config_place_text(&place, file, at);
	error_prefix(err, "%s", place.data);
	strbuf_release(&place);
}

int config_fail(const struct config_file *file, struct config_place at,
		struct error *err, const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = error_vset(err, ERROR_CONFIG, fmt, ap);
	va_end(ap);
	config_prefix(file, at, err);
	return rc;
}

void config_file_release(struct config_file *file)
{
	if (!file)
		return;
	free(file->name);
	free(file->exposed);
	free(file->doubt);
	config_node_free(file->root);
	memset(file, 0, sizeof(*file));
}
