#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "core/settings/input.h"

#define NAMING_EXCLUDE "source.exclude"
#define NAMING_RENAME  "source.rename"

/* The place of a key, and the path that names the pipeline. */
static char *naming_place(const struct option_context *ctx,
			  struct config_place at, const char *key)
{
	const char *file = ctx->file->name;

	return xstrfmt("%s:%d:%d: %s.%s", file, at.line, at.column,
		       ctx->path.data ? ctx->path.data : "", key);
}

/* The same for a key of the pipeline; NULL: the file does not say it. */
static char *naming_place_of(struct option_context *ctx,
			     const struct config_node *node, const char *path)
{
	const struct config_node *found = config_node_find(node, path);

	return found ? naming_place(ctx, found->at, path) : NULL;
}

int settings_parse_renames(struct option_context *ctx,
			   const struct option *option,
			   const struct config_node *node, void *base)
{
	struct pipeline_settings *p = &((struct pipeline_input *)base)->p;

	(void)option;
	for (size_t i = 0; i < node->n; i++) {
		const struct config_entry *entry = &node->entries[i];
		const char *to = entry->node->text;
		struct source_rename *r;

		if (!*entry->key || !*to)
			return option_fail(ctx, entry->at,
					   "a column has a name at the source "
					   "and one at the destination, as "
					   "{userId: user_id}");
		if (name_is_own(to))
			return option_fail(ctx, entry->at,
					   "names that begin with _tidemark_ "
					   "are taken, found \"%.80s\"",
					   to);
		p->renames = xreallocarray(p->renames, p->n_renames + 1,
					   sizeof(*p->renames));
		r = &p->renames[p->n_renames++];
		r->from = xstrdup(entry->key);
		r->to = xstrdup(to);
		r->at = naming_place(ctx, entry->at, entry->key);
		r->loose = entry->node->inherited || node->inherited;
	}
	return 0;
}

void settings_release_naming(struct pipeline_settings *p)
{
	for (size_t i = 0; i < p->n_renames; i++) {
		free(p->renames[i].from);
		free(p->renames[i].to);
		free(p->renames[i].at);
	}
	free(p->renames);
	free(p->exclude_at);
	free(p->casing_at);
	p->renames = NULL;
	p->n_renames = 0;
	p->exclude_at = p->casing_at = NULL;
}

static bool naming_computes(const struct pipeline_settings *p, const char *name)
{
	for (size_t i = 0; i < p->n_expressions; i++)
		if (!strcmp(p->expressions[i].name, name))
			return true;
	return false;
}

static int naming_fail_rename(struct option_context *ctx,
			      const struct config_node *node,
			      const struct source_rename *r, const char *why)
{
	const struct config_node *map = config_node_find(node, NAMING_RENAME);
	const struct config_entry *entry = config_node_entry(map, r->from);
	size_t length = option_path_push(ctx, NAMING_RENAME);
	int rc;

	option_path_push(ctx, r->from);
	rc = option_fail(ctx, entry ? entry->at : node->at, "%s", why);
	option_path_pop(ctx, length);
	return rc;
}

/* The columns that only the destination has. */
static bool naming_is_ours(const struct pipeline_settings *p, const char *name)
{
	return (p->loaded_at && !strcasecmp(p->loaded_at, name)) ||
	       (p->soft_delete && !strcasecmp(p->soft_delete, name));
}

static int naming_check_rename(struct option_context *ctx,
			       const struct config_node *node,
			       const struct pipeline_settings *p, size_t at)
{
	const struct source_rename *r = &p->renames[at];

	for (size_t i = 0; i < at; i++)
		if (!strcmp(p->renames[i].to, r->to))
			return naming_fail_rename(ctx, node, r,
						  "another column is renamed "
						  "to that, too");
	if (naming_is_ours(p, r->to))
		return naming_fail_rename(ctx, node, r,
					  "that is the name of load.loaded_at "
					  "or soft_delete; choose another");
	if (p->mode == LOAD_UPDATE && p->in_place)
		return naming_fail_rename(ctx, node, r,
					  "source and destination are the same "
					  "table; write the other column under "
					  "source.expressions");
	if (r->loose)
		return 0;
	if (strlist_has(&p->exclude, r->from) && !naming_computes(p, r->from))
		return naming_fail_rename(ctx, node, r,
					  "source.exclude leaves the column "
					  "out; take it from one of them");
	if (p->columns.n && !strlist_has(&p->columns, r->from) &&
	    !naming_computes(p, r->from))
		return naming_fail_rename(ctx, node, r,
					  "the column is not among "
					  "source.columns; add it there, or "
					  "leave this out");
	return 0;
}

static int naming_check_excluded(struct option_context *ctx,
				 const struct config_node *node,
				 const struct pipeline_settings *p,
				 const char *name)
{
	if (strlist_has(&p->columns, name))
		return settings_fail(ctx, node, NAMING_EXCLUDE,
				     "\"%.80s\" is named under source.columns, "
				     "too; take it from one of them",
				     name);
	if (strlist_has(&p->key, name))
		return settings_fail(ctx, node, NAMING_EXCLUDE,
				     "\"%.80s\" is a column of the key, by "
				     "which rows are found; leave it in",
				     name);
	if (p->mode == LOAD_UPDATE && p->mark_column &&
	    !strcmp(p->mark_column, name))
		return settings_fail(ctx, node, NAMING_EXCLUDE,
				     "mode update compares the mark's column "
				     "\"%.80s\"; leave it in",
				     name);
	return 0;
}

static int naming_check_exclude(struct option_context *ctx,
				const struct config_node *node,
				struct pipeline_settings *p)
{
	const struct config_node *list = config_node_find(node, NAMING_EXCLUDE);
	int rc = 0;

	if (!list || !p->exclude.n)
		return 0;
	p->exclude_at = naming_place_of(ctx, node, NAMING_EXCLUDE);
	p->exclude_loose = list->inherited;
	if (p->columns.n && !list->inherited)
		return settings_fail(ctx, node, NAMING_EXCLUDE,
				     "source.columns names what is read: leave "
				     "out one of them");
	for (size_t i = 0; !rc && i < p->exclude.n; i++)
		rc = naming_check_excluded(ctx, node, p, p->exclude.items[i]);
	return rc;
}

int settings_check_naming(struct option_context *ctx,
			  const struct config_node *node,
			  struct pipeline_settings *p)
{
	int rc = naming_check_exclude(ctx, node, p);

	p->casing_at = naming_place_of(ctx, node, "source.casing");
	for (size_t i = 0; !rc && i < p->n_renames; i++)
		rc = naming_check_rename(ctx, node, p, i);
	return rc;
}
