#include "core/base/option_value.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/expand.h"
#include "core/base/nearest.h"
#include "core/base/secret.h"
#include "core/base/strlist.h"
#include "core/base/units.h"
#include "core/base/url.h"
#include "core/base/url_text.h"

int option_value_wrong(struct option_context *ctx, const struct option *option,
		       const struct config_node *node)
{
	const char *expects = option_expects(option);

	if (config_node_is_null(node))
		return option_fail(ctx, node->at, "expected %s, found nothing",
				   expects);
	if (node->kind != CONFIG_SCALAR)
		return option_fail(ctx, node->at, "expected %s, found a %s",
				   expects,
				   node->kind == CONFIG_MAP ? "map" : "list");
	if (option->flags & (OPTION_SECRET | OPTION_URL))
		return option_fail(ctx, node->at, "expected %s", expects);
	return option_fail(ctx, node->at, "expected %s, found \"%.80s\"",
			   expects, node->text);
}

static void option_list_choices(const struct option *option,
				struct strbuf *allowed)
{
	const char *comma = "";

	for (const struct option_choice *c = option->choices; c->name; c++) {
		if (c->unsupported)
			continue;
		strbuf_addf(allowed, "%s%s", comma, c->name);
		comma = ", ";
	}
}

static const char *option_nearest_choice(const struct option *option,
					 const char *text)
{
	const char **names = NULL, *near;
	size_t n = 0, capacity = 0;

	for (const char *const *a = option->also; a && *a; a += 2)
		if (!strcasecmp(a[0], text))
			return a[1];
	for (const struct option_choice *c = option->choices; c->name; c++) {
		names = xgrow(names, &capacity, n + 1, sizeof(*names));
		names[n++] = c->name;
	}
	near = nearest_name(text, names, n);
	free(names);
	return near;
}

static int option_bad_choice(struct option_context *ctx,
			     const struct option *option,
			     const struct config_node *node, bool unsupported)
{
	const char *near = option_nearest_choice(option, node->text);
	struct strbuf tail = STRBUF_INIT;
	const char *verdict = unsupported ? "supported yet" : "allowed";

	if (near && !unsupported)
		strbuf_addf(&tail, " did you mean \"%s\"?", near);
	strbuf_addstr(&tail, " allowed: ");
	option_list_choices(option, &tail);
	option_fail(ctx, node->at, "\"%.80s\" is not %s;%s", node->text,
		    verdict, tail.data);
	strbuf_release(&tail);
	return -ERROR_CONFIG;
}

/* The text as the int64 that the type stores; false if it is none. */
static bool option_scan(const struct option *option, const char *text,
			int64_t *out)
{
	const struct option_choice *c;

	switch (option->type) {
	case OPTION_COUNT:
		return units_parse_count(text, out);
	case OPTION_SIZE:
		return units_parse_size(text, out);
	case OPTION_DURATION:
		return units_parse_duration(text, out);
	case OPTION_CHOICE:
		for (c = option->choices; c->name; c++)
			if (!strcmp(c->name, text)) {
				*out = c->value;
				return true;
			}
		return false;
	default:
		return false;
	}
}

static void option_store(const struct option *option, int64_t value, void *base)
{
	char *field = (char *)base + option->offset;

	if (option->size == sizeof(bool))
		*(bool *)field = value != 0;
	else if (option->size == sizeof(int))
		*(int *)field = (int)value;
	else if (option->size == sizeof(int64_t))
		*(int64_t *)field = value;
}

static void option_store_text(const struct option *option, const char *text,
			      void *base)
{
	char **field = (char **)((char *)base + option->offset);

	if (!option->size)
		return;
	free(*field);
	*field = xstrdup(text);
}

bool option_is_unsupported(const struct option_context *ctx,
			   const struct option *option)
{
	return (ctx->flags | option->flags) & OPTION_UNSUPPORTED;
}

int option_value_not_yet(struct option_context *ctx,
			 const struct option *option,
			 const struct config_node *node)
{
	if (option->default_text && *option->default_text)
		return option_fail(ctx, node->at,
				   "not supported yet; only its default %s is "
				   "accepted",
				   option->default_text);
	return option_fail(ctx, node->at, "not supported yet");
}

static int option_check_range(struct option_context *ctx,
			      const struct option *option,
			      const struct config_node *node, int64_t value)
{
	struct strbuf min = STRBUF_INIT, max = STRBUF_INIT;
	void (*print)(struct strbuf *, int64_t) = NULL;

	if (value >= option->min && (!option->max || value <= option->max))
		return 0;
	if (option->type == OPTION_SIZE)
		print = units_print_size;
	else if (option->type == OPTION_DURATION)
		print = units_print_duration;
	if (print) {
		print(&min, option->min);
		print(&max, option->max);
	} else {
		strbuf_addf(&min, "%lld", (long long)option->min);
		strbuf_addf(&max, "%lld", (long long)option->max);
	}
	if (option->min == option->max)
		option_fail(ctx, node->at, "must be %s, found %s", min.data,
			    node->text);
	else if (option->max)
		option_fail(ctx, node->at,
			    "must be between %s and %s, found %s", min.data,
			    max.data, node->text);
	else
		option_fail(ctx, node->at, "must be at least %s, found %s",
			    min.data, node->text);
	strbuf_release(&min);
	strbuf_release(&max);
	return -ERROR_CONFIG;
}

static bool option_choice_unsupported(const struct option *option,
				      const char *text)
{
	const struct option_choice *c = option->choices;

	if (option->type != OPTION_CHOICE)
		return false;
	while (strcmp(c->name, text) != 0)
		c++;
	return c->unsupported;
}

/* A choice may be named null, which YAML takes for nothing. */
static const char *option_scalar_text(const struct option *option,
				      const struct config_node *node)
{
	int64_t value;

	if (!config_node_is_null(node))
		return node->text;
	return option->type == OPTION_CHOICE && *node->text &&
			       option_scan(option, "null", &value)
		       ? "null"
		       : NULL;
}

/* Types that are kept as an int64. */
static int option_parse_scalar(struct option_context *ctx,
			       const struct option *option,
			       const struct config_node *node, void *base)
{
	int64_t value, standard = 0;
	const char *text;
	bool is_default;
	int rc;

	if (node->kind != CONFIG_SCALAR ||
	    !(text = option_scalar_text(option, node)))
		return option_value_wrong(ctx, option, node);
	if (!option_scan(option, text, &value)) {
		if (option->type == OPTION_CHOICE)
			return option_bad_choice(ctx, option, node, false);
		return option_value_wrong(ctx, option, node);
	}
	is_default = option->default_text &&
		     option_scan(option, option->default_text, &standard) &&
		     value == standard;
	if (option_is_unsupported(ctx, option) && !is_default)
		return option_value_not_yet(ctx, option, node);
	if (option_choice_unsupported(option, text))
		return option_bad_choice(ctx, option, node, true);
	rc = option_check_range(ctx, option, node, value);
	if (!rc && option->size)
		option_store(option, value, base);
	return rc;
}

/* Exit 2 rather than a password for everyone on the machine. */
static int option_check_exposed(struct option_context *ctx,
				const struct option *option,
				const struct config_node *node)
{
	bool literal = false;

	if (option->flags & OPTION_SECRET)
		literal = *node->raw &&
			  !expand_is_reference(node->raw, strlen(node->raw));
	else if (option->flags & OPTION_URL)
		literal = url_has_password(node->raw);
	if (!literal || !ctx->file->exposed)
		return 0;
	return option_fail(ctx, node->at,
			   "a password is written out, and %s, or write ${VAR} "
			   "or ${file:PATH} instead",
			   ctx->file->exposed);
}

static int option_parse_text(struct option_context *ctx,
			     const struct option *option,
			     const struct config_node *node, void *base)
{
	int rc;

	if (node->kind != CONFIG_SCALAR || config_node_is_null(node))
		return option_value_wrong(ctx, option, node);
	if (option_is_unsupported(ctx, option) &&
	    (!option->default_text ||
	     strcmp(option->default_text, node->text) != 0))
		return option_value_not_yet(ctx, option, node);
	if (option->flags & OPTION_REQUIRED && !*node->text)
		return option_fail(ctx, node->at, "must not be empty");
	if (option->flags & OPTION_SECRET)
		secret_add(node->text);
	rc = option_check_exposed(ctx, option, node);
	if (rc)
		return rc;
	if (option->parse)
		return option->parse(ctx, option, node, base);
	option_store_text(option, node->text, base);
	return 0;
}

static int option_list_item(struct option_context *ctx,
			    const struct option *option,
			    const struct config_node *item,
			    struct strlist *list)
{
	if (item->kind != CONFIG_SCALAR || config_node_is_null(item) ||
	    !*item->text)
		return option_fail(
			ctx, item->at, "expected a list of names, found %s",
			item->kind == CONFIG_MAP    ? "a map"
			: item->kind == CONFIG_LIST ? "a list"
						    : "an empty one");
	if (!(option->flags & OPTION_REPEATS) && strlist_has(list, item->text))
		return option_fail(ctx, item->at, "\"%.80s\" is given twice",
				   item->text);
	strlist_add(list, item->text);
	return 0;
}

static int option_parse_list(struct option_context *ctx,
			     const struct option *option,
			     const struct config_node *node, void *base)
{
	bool bare = option->flags & OPTION_OR_TEXT &&
		    node->kind == CONFIG_SCALAR && !config_node_is_null(node);
	struct strlist list = STRLIST_INIT;
	int rc = 0;

	if (node->kind != CONFIG_LIST && !bare)
		return option_value_wrong(ctx, option, node);
	if (bare)
		rc = option_list_item(ctx, option, node, &list);
	for (size_t i = 0; !rc && i < node->n; i++)
		rc = option_list_item(ctx, option, node->entries[i].node,
				      &list);
	if (!rc && node->n && option_is_unsupported(ctx, option))
		rc = option_value_not_yet(ctx, option, node);
	if (!rc && option->size) {
		struct strlist *field = (void *)((char *)base + option->offset);

		strlist_release(field);
		*field = list;
		return 0;
	}
	strlist_release(&list);
	return rc;
}

int option_value_parse(struct option_context *ctx, const struct option *option,
		       const struct config_node *node, void *base)
{
	if (option->type == OPTION_TEXT)
		return option_parse_text(ctx, option, node, base);
	if (option->type == OPTION_LIST)
		return option_parse_list(ctx, option, node, base);
	return option_parse_scalar(ctx, option, node, base);
}

void option_value_choose(const struct option *option, const char *name,
			 void *base)
{
	int64_t value;

	if (option->size && option_scan(option, name, &value))
		option_store(option, value, base);
}

void option_value_default(const struct option *option, void *base)
{
	int64_t value;

	if (!option->size)
		return;
	if (option->type == OPTION_TEXT)
		option_store_text(option, option->default_text, base);
	else if (option->default_text &&
		 option_scan(option, option->default_text, &value))
		option_store(option, value, base);
}
