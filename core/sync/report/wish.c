#include "core/sync/report/wish.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/nearest.h"
#include "core/settings/wildcard.h"

void wish_release(struct wish *w)
{
	strlist_release(&w->schemas);
	strlist_release(&w->tables);
	strlist_release(&w->exclude);
}

/* Marks in `hit` the tables that a pattern, or a schema, is for; true if there
 * are any. */
static bool wish_mark(const struct table_list *tables,
		      const struct table_pattern *pattern, const char *schema,
		      bool *hit)
{
	bool any = false;

	for (size_t i = 0; i < tables->n; i++) {
		struct table_name name = { NULL, NULL, NULL };
		struct error ignored = ERROR_INIT;
		bool is;

		if (table_name_parse(&name, tables->items[i].name, &ignored))
			continue;
		is = pattern ? table_pattern_match(pattern, &name)
			     : name.schema && !strcmp(name.schema, schema);
		hit[i] = hit[i] || is;
		any = any || is;
		table_name_release(&name);
	}
	return any;
}

static int wish_nothing(const char *flag, const char *text,
			const struct table_list *tables, struct error *err)
{
	const char **names = xcalloc(tables->n + 1, sizeof(*names));
	const char *near;
	int rc;

	for (size_t i = 0; i < tables->n; i++)
		names[i] = tables->items[i].name;
	near = nearest_name(text, names, tables->n);
	rc = error_set(err, ERROR_CONFIG,
		       "--%s %s is for none of the %zu tables of the "
		       "source%s%s%s",
		       flag, text, tables->n, near ? "; did you mean " : "",
		       near ? near : "", near ? "?" : "");
	free(names);
	return rc;
}

static int wish_patterns(const char *flag, const struct strlist *texts,
			 const struct table_list *tables, bool *hit, bool must,
			 struct error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < texts->n; i++) {
		struct table_pattern pattern;

		rc = table_pattern_parse(&pattern, texts->items[i], err);
		if (rc) {
			error_prefix(err, "--%s", flag);
			break;
		}
		if (!wish_mark(tables, &pattern, NULL, hit) && must)
			rc = wish_nothing(flag, texts->items[i], tables, err);
		table_pattern_release(&pattern);
	}
	return rc;
}

static int wish_schemas(const struct strlist *schemas,
			const struct table_list *tables, bool *hit,
			struct error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < schemas->n; i++)
		if (!wish_mark(tables, NULL, schemas->items[i], hit))
			rc = wish_nothing("schema", schemas->items[i], tables,
					  err);
	return rc;
}

static void wish_drop(struct table_list *tables, const bool *keep)
{
	size_t n = 0;

	for (size_t i = 0; i < tables->n; i++) {
		if (keep[i]) {
			tables->items[n++] = tables->items[i];
			continue;
		}
		free(tables->items[i].name);
		free(tables->items[i].kind);
	}
	tables->n = n;
}

int wish_apply(const struct wish *w, struct table_list *tables,
	       struct error *err)
{
	size_t n = tables->n + 1;
	bool *schema = xcalloc(n, sizeof(bool)), *table = xcalloc(n, 1),
	     *without = xcalloc(n, sizeof(bool));
	int rc = wish_schemas(&w->schemas, tables, schema, err);

	if (!rc)
		rc = wish_patterns("table", &w->tables, tables, table, true,
				   err);
	if (!rc)
		rc = wish_patterns("exclude", &w->exclude, tables, without,
				   false, err);
	for (size_t i = 0; i < tables->n; i++)
		table[i] = (table[i] || !w->tables.n) &&
			   (schema[i] || !w->schemas.n) && !without[i];
	if (!rc)
		wish_drop(tables, table);
	free(schema);
	free(table);
	free(without);
	return rc;
}

static bool wish_same_source(const struct connection *a,
			     const struct connection *b)
{
	return a == b || !strcmp(a->url.text, b->url.text);
}

static bool wish_same_part(const char *a, const char *b)
{
	return !a || !b || !strcmp(a, b);
}

/* A name without a schema is taken for any: better one too few is added. */
static bool wish_is_table(const char *text, const struct table_name *name)
{
	struct table_name other = { NULL, NULL, NULL };
	struct error ignored = ERROR_INIT;
	bool is;

	if (table_name_parse(&other, text, &ignored))
		return false;
	is = !strcmp(other.name, name->name) &&
	     wish_same_part(other.schema, name->schema);
	table_name_release(&other);
	return is;
}

static bool wish_is_known(const struct settings *s,
			  const struct connection *source,
			  const struct table_name *name)
{
	for (size_t i = 0; i < s->n_pipelines; i++)
		if (wish_same_source(s->pipelines[i].source, source) &&
		    wish_is_table(s->pipelines[i].source_table, name))
			return true;
	/* Its exceptions are meant, too. */
	for (size_t i = 0; i < s->n_wildcards; i++)
		if (wish_same_source(s->wildcards[i]->source, source) &&
		    wildcard_names(s->wildcards[i], name))
			return true;
	return false;
}

void wish_drop_known(const struct settings *s, const struct connection *source,
		     struct table_list *tables)
{
	bool *keep = xcalloc(tables->n + 1, sizeof(*keep));

	for (size_t i = 0; i < tables->n; i++) {
		struct table_name name = { NULL, NULL, NULL };
		struct error ignored = ERROR_INIT;

		if (table_name_parse(&name, tables->items[i].name, &ignored))
			continue;
		keep[i] = !wish_is_known(s, source, &name);
		table_name_release(&name);
	}
	wish_drop(tables, keep);
	free(keep);
}
