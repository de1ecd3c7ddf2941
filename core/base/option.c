#include "core/base/option.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/nearest.h"
#include "core/base/option_value.h"
#include "core/base/strlist.h"

const struct option *option_row(const struct option *o)
{
	while (o && !o->name)
		o = o->table;
	return o;
}

size_t option_path_push(struct option_context *ctx, const char *key)
{
	size_t length = ctx->path.len;

	if (length)
		strbuf_addch(&ctx->path, '.');
	strbuf_addstr(&ctx->path, key);
	return length;
}

void option_path_pop(struct option_context *ctx, size_t length)
{
	if (ctx->path.len > length) {
		ctx->path.len = length;
		ctx->path.data[length] = '\0';
	}
}

int option_fail(struct option_context *ctx, struct config_place at,
		const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = error_vset(ctx->err, ERROR_CONFIG, fmt, ap);
	va_end(ap);
	/* On the command line the flag says it. */
	if (ctx->path.len && !at.label)
		error_prefix(ctx->err, "%s", ctx->path.data);
	config_prefix(ctx->file, at, ctx->err);
	return rc;
}

const char *option_expects(const struct option *option)
{
	static const char *const texts[] = {
		[OPTION_TEXT] = "text",
		[OPTION_COUNT] = "a count such as 20000",
		[OPTION_SIZE] = "a size such as 32MiB",
		[OPTION_DURATION] = "a duration such as 500ms, 10s or 1h30m",
		[OPTION_CHOICE] = "one of its choices",
		[OPTION_LIST] = "a list such as [a, b]",
		[OPTION_TABLE] = "a map",
		[OPTION_MAP] = "a map",
	};

	return option->expects ? option->expects : texts[option->type];
}

static int option_unknown_key(struct option_context *ctx,
			      const struct option *table,
			      const struct config_entry *entry)
{
	struct strbuf allowed = STRBUF_INIT;
	const char **names = NULL;
	const char *near;
	size_t n = 0, capacity = 0;
	int rc;

	for (const struct option *o = option_row(table); o;
	     o = option_row(o + 1)) {
		names = xgrow(names, &capacity, n + 1, sizeof(*names));
		names[n++] = o->name;
		strbuf_addf(&allowed, "%s%s", n > 1 ? ", " : "", o->name);
	}
	near = nearest_name(entry->key, names, n);
	rc = config_fail(ctx->file, entry->at, ctx->err,
			 "unknown key \"%.80s\" in %s;%s%s%s allowed: %s",
			 entry->key,
			 ctx->path.len ? ctx->path.data : "the top level",
			 near ? " did you mean \"" : "", near ? near : "",
			 near ? "\"?" : "", allowed.data);
	strbuf_release(&allowed);
	free(names);
	return rc;
}

static const struct option *option_find(const struct option *table,
					const char *name)
{
	for (table = option_row(table); table; table = option_row(table + 1))
		if (!strcmp(table->name, name))
			return table;
	return NULL;
}

static int option_missing(struct option_context *ctx,
			  const struct option *option,
			  const struct config_node *node)
{
	if (option->example)
		return option_fail(ctx, node->at,
				   "\"%s\" is missing; write %s: %s",
				   option->name, option->name, option->example);
	return option_fail(ctx, node->at, "\"%s\" is missing", option->name);
}

static int option_check_required(struct option_context *ctx,
				 const struct option *table,
				 const struct config_node *node)
{
	if (ctx->flags & OPTION_PARTIAL)
		return 0;
	for (table = option_row(table); table; table = option_row(table + 1))
		if (table->flags & OPTION_REQUIRED &&
		    !config_node_entry(node, table->name) &&
		    !(table->unless && config_node_entry(node, table->unless)))
			return option_missing(ctx, table, node);
	return 0;
}

int option_parse(struct option_context *ctx, const struct option *table,
		 const struct config_node *node, void *base)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < node->n; i++) {
		const struct config_entry *entry = &node->entries[i];
		const struct option *option = option_find(table, entry->key);
		size_t length;

		if (!option)
			return option_unknown_key(ctx, table, entry);
		length = option_path_push(ctx, entry->key);
		rc = option_parse_value(ctx, option, entry->node, base);
		option_path_pop(ctx, length);
	}
	return rc ? rc : option_check_required(ctx, table, node);
}

/* A bare text where a map may stand: the value of one of its keys. */
static int option_parse_shorthand(struct option_context *ctx,
				  const struct option *option,
				  const struct config_node *node, void *base)
{
	const struct option *key =
		option_find(option->table, option->shorthand);

	return option_parse_value(ctx, key, node, base);
}

int option_parse_table(struct option_context *ctx, const struct option *option,
		       const struct config_node *node, void *base)
{
	unsigned flags = ctx->flags;
	int rc;

	if (node->kind == CONFIG_SCALAR && option->shorthand &&
	    !config_node_is_null(node))
		return option_parse_shorthand(ctx, option, node, base);
	if (node->kind != CONFIG_MAP && !config_node_is_null(node))
		return option_value_wrong(ctx, option, node);
	ctx->flags |= option->flags & (OPTION_UNSUPPORTED | OPTION_PARTIAL);
	rc = option_parse(ctx, option->table, node, base);
	ctx->flags = flags;
	return rc;
}

/* Values of a map that is only looked at. */
static int option_check_elements(struct option_context *ctx,
				 const struct option *option,
				 const struct config_node *node)
{
	struct option element = { .name = option->name,
				  .type = option->element };
	int rc = 0;

	for (size_t i = 0; !rc && i < node->n; i++) {
		const struct config_entry *entry = &node->entries[i];
		size_t length = option_path_push(ctx, entry->key);

		rc = option_value_parse(ctx, &element, entry->node, NULL);
		option_path_pop(ctx, length);
	}
	return rc;
}

static int option_parse_map(struct option_context *ctx,
			    const struct option *option,
			    const struct config_node *node, void *base)
{
	unsigned flags = ctx->flags;
	int rc = 0;

	if (node->kind != CONFIG_MAP && !config_node_is_null(node))
		return option_value_wrong(ctx, option, node);
	if (!option->table) {
		ctx->flags &= ~(unsigned)OPTION_UNSUPPORTED;
		rc = option_check_elements(ctx, option, node);
		ctx->flags = flags;
	}
	if (!rc && node->n && option_is_unsupported(ctx, option))
		rc = option_value_not_yet(ctx, option, node);
	if (!rc && option->parse)
		rc = option->parse(ctx, option, node, base);
	return rc;
}

static int option_parse_maps(struct option_context *ctx,
			     const struct option *option,
			     const struct config_node *node, void *base)
{
	if (node->kind != CONFIG_LIST)
		return option_value_wrong(ctx, option, node);
	return option->parse(ctx, option, node, base);
}

/* A map where a bare choice may stand, which its key is. */
static int option_parse_variant(struct option_context *ctx,
				const struct option *option,
				const struct config_node *node, void *base)
{
	int rc = option_parse(ctx, option->table, node, base);

	if (!rc && option_is_unsupported(ctx, option))
		rc = option_value_not_yet(ctx, option, node);
	if (!rc && node->n)
		option_value_choose(option, node->entries[0].key, base);
	return rc;
}

int option_parse_value(struct option_context *ctx, const struct option *option,
		       const struct config_node *node, void *base)
{
	if (option->type == OPTION_MAP)
		return option_parse_map(ctx, option, node, base);
	if (option->type == OPTION_TABLE && option->parse)
		return option->parse(ctx, option, node, base);
	if (option->type == OPTION_TABLE)
		return option_parse_table(ctx, option, node, base);
	if (option->type == OPTION_LIST && option->table)
		return option_parse_maps(ctx, option, node, base);
	if (option->table && node->kind == CONFIG_MAP)
		return option_parse_variant(ctx, option, node, base);
	return option_value_parse(ctx, option, node, base);
}

void option_init(const struct option *table, void *base)
{
	for (table = option_row(table); table; table = option_row(table + 1)) {
		if (table->type == OPTION_TABLE && !table->parse)
			option_init(table->table, base);
		else if (table->type != OPTION_MAP)
			option_value_default(table, base);
	}
}

void option_release(const struct option *table, void *base)
{
	for (table = option_row(table); table; table = option_row(table + 1)) {
		char *field = (char *)base + table->offset;

		if (table->type == OPTION_TABLE && !table->parse) {
			option_release(table->table, base);
		} else if (table->size && table->type == OPTION_TEXT) {
			free(*(char **)field);
			*(char **)field = NULL;
		} else if (table->size && table->type == OPTION_LIST) {
			strlist_release((struct strlist *)field);
		}
	}
}
