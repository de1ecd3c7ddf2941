#include "core/plugin/naming.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/nearest.h"
#include "core/base/strbuf.h"
#include "core/data/table_name.h"

static bool snake_is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool snake_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Bytes of other alphabets count as small letters. */
static bool snake_is_lower(char c)
{
	return (c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80;
}

/* Does a word begin at `s`, whose neighbour before is part of a word? */
static bool snake_begins(const char *s)
{
	return snake_is_upper(*s) &&
	       (!snake_is_upper(s[-1]) || snake_is_lower(s[1]));
}

char *naming_snake(const char *name)
{
	struct strbuf sb = STRBUF_INIT;
	bool in_word = false;

	for (const char *s = name; *s; s++) {
		bool part = snake_is_upper(*s) || snake_is_lower(*s) ||
			    snake_is_digit(*s);
		bool begins = part && (!in_word || snake_begins(s));

		if (begins && (sb.len || *name == '_' || snake_is_digit(*s)))
			strbuf_addch(&sb, '_');
		if (part)
			strbuf_addch(&sb, (char)(snake_is_upper(*s) ? *s | 0x20
								    : *s));
		in_word = part;
	}
	return sb.data ? strbuf_detach(&sb) : xstrdup("");
}

static const struct source_rename *naming_find(const struct source_spec *source,
					       const char *name)
{
	for (size_t i = 0; i < source->n_renames; i++)
		if (!strcmp(source->renames[i].from, name))
			return &source->renames[i];
	return NULL;
}

char *naming_target(const struct source_spec *source, const char *name)
{
	const struct source_rename *own = naming_find(source, name);

	if (own)
		return xstrdup(own->to);
	return source->casing == CASING_SNAKE ? naming_snake(name)
					      : xstrdup(name);
}

static int naming_missing(const struct source_spec *source,
			  const struct source_rename *own,
			  const struct schema *s, struct error *err)
{
	const char **names = xcalloc(s->n_columns + 1, sizeof(*names));
	const char *near;

	for (size_t i = 0; i < s->n_columns; i++)
		names[i] = s->columns[i].name;
	near = nearest_name(own->from, names, s->n_columns);
	error_set(err, ERROR_SCHEMA,
		  "%s: table %s has no column \"%s\" that is read", own->at,
		  source->table, own->from);
	if (near)
		error_hint(err, "(did you mean \"%s\"?)", near);
	else
		error_hint(err, "correct the name, or leave the line out");
	free(names);
	return -ERROR_SCHEMA;
}

/* Internal looks read some of the columns: only a look at all of them tells
 * that one is missing. The config is checked where it names columns. */
static int naming_check_renames(const struct source_spec *source,
				const struct schema *s, struct error *err)
{
	if (source->columns && source->columns->n)
		return 0;
	for (size_t i = 0; i < source->n_renames; i++) {
		const struct source_rename *own = &source->renames[i];

		if (!own->loose && schema_find(s, own->from) < 0)
			return naming_missing(source, own, s, err);
	}
	return 0;
}

/* All columns of a query are expressions to its connector. */
static bool naming_is_users(const struct source_spec *source,
			    const struct column *c)
{
	for (size_t i = 0; i < source->n_expressions; i++)
		if (!strcmp(source->expressions[i].name, c->name))
			return c->expression;
	return !source->query && c->expression;
}

/* A plug-in may not know of it. */
static int naming_check_excluded(const struct source_spec *source,
				 const struct schema *s, struct error *err)
{
	size_t n = source->exclude ? source->exclude->n : 0;

	if (source->columns && source->columns->n)
		return 0;
	for (size_t i = 0; i < n; i++) {
		long at = schema_find(s, source->exclude->items[i]);

		if (at >= 0 && !naming_is_users(source, &s->columns[at]))
			return error_set(
				err, ERROR_CONFIG,
				"%s: the engine %s does not leave out column "
				"\"%s\" of %s" ERROR_FIX
				"; name the others under source.columns",
				source->exclude_at ? source->exclude_at
						   : "source.exclude",
				s->engine ? s->engine : "of the source",
				source->exclude->items[i], source->table);
	}
	return 0;
}

static int naming_refuse(const struct source_spec *source,
			 const struct column *c, const char *why,
			 struct error *err)
{
	const struct source_rename *own = naming_find(source, column_source(c));

	return error_set(err, ERROR_SCHEMA,
			 "%s: column \"%s\" of %s would be named \"%s\", "
			 "%s" ERROR_FIX ": give it a name under "
			 "source.rename, or leave it out under source.exclude",
			 own && own->at	     ? own->at
			 : source->casing_at ? source->casing_at
					     : "source.casing",
			 column_source(c), source->table, c->name, why);
}

static int naming_check_column(const struct source_spec *source,
			       const struct schema *s, size_t column,
			       struct error *err)
{
	const struct column *c = &s->columns[column], *other;
	long first = schema_find(s, c->name);
	char *why;
	int rc;

	if (c->source && !*c->name)
		return naming_refuse(source, c, "which is no name", err);
	if (c->source && name_is_own(c->name))
		return naming_refuse(source, c,
				     "and names that begin with _tidemark_ "
				     "are taken",
				     err);
	if (first == (long)column)
		return 0;
	/* The one that keeps its name is not at fault. */
	other = c->source ? &s->columns[first] : c;
	c = c->source ? c : &s->columns[first];
	why = xstrfmt("as column \"%s\" is", column_source(other));
	rc = naming_refuse(source, c, why, err);
	free(why);
	return rc;
}

static void naming_apply(const struct source_spec *source, struct schema *s)
{
	for (size_t i = 0; i < s->n_columns; i++) {
		struct column *c = &s->columns[i];
		char *target = naming_target(source, c->name);

		if (!strcmp(target, c->name)) {
			free(target);
			continue;
		}
		c->source = c->name;
		c->name = target;
	}
}

int source_describe(struct connector *c, const struct source_spec *source,
		    const struct watermark_spec *mark, struct schema *out,
		    struct error *err)
{
	int rc = c->ops->describe(c, source, mark, out, err);

	if (!rc)
		rc = naming_check_excluded(source, out, err);
	if (!rc)
		rc = naming_check_renames(source, out, err);
	if (rc || (!source->n_renames && source->casing == CASING_AS_IS))
		return rc;
	naming_apply(source, out);
	for (size_t i = 0; !rc && i < out->n_columns; i++)
		rc = naming_check_column(source, out, i, err);
	return rc;
}
