#include "core/sync/report/expand_names.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "core/data/digest.h"

/* A pipeline's name takes 200 bytes. */
#define NAMES_LONGEST 200
/* Tables and schemas that an error lists. */
#define NAMES_LISTED 20

static char *names_bare(const char *table)
{
	struct table_name name = { NULL, NULL, NULL };
	struct error ignored = ERROR_INIT;
	char *bare;

	if (table_name_parse(&name, table, &ignored))
		return xstrdup(table);
	bare = xstrdup(name.name);
	table_name_release(&name);
	return bare;
}

void expand_names_init(struct expand_names *n, const char *wildcard,
		       const struct strlist *tables)
{
	*n = (struct expand_names){ .wildcard = wildcard, .tables = tables };
	for (size_t i = 0; i < tables->n; i++) {
		char *bare = names_bare(tables->items[i]);

		strlist_add(&n->bare, bare);
		free(bare);
	}
}

void expand_names_release(struct expand_names *n)
{
	strlist_release(&n->bare);
	strlist_release(&n->known);
	strlist_release(&n->taken);
}

void expand_names_take(struct expand_names *n, const struct choice *c)
{
	strlist_add(&n->known, c->table);
	strlist_add(&n->taken, c->pipeline);
}

/* Another table that is new has the same name, in another schema. */
static bool names_meet(const struct expand_names *n, const char *table,
		       const char *bare)
{
	for (size_t i = 0; i < n->tables->n; i++)
		if (!strcmp(n->bare.items[i], bare) &&
		    strcmp(n->tables->items[i], table) != 0 &&
		    !strlist_has(&n->known, n->tables->items[i]))
			return true;
	return false;
}

/* Characters that a pipeline's name must not hold give way, and a hash tells
 * long names apart. */
static char *names_clean(char *name)
{
	char hash[DIGEST_TEXT_SIZE];
	char *cut;

	utf8_repair(name);
	for (char *p = name; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '_';
	if (strlen(name) <= NAMES_LONGEST)
		return name;
	digest_hash_text(name, strlen(name), hash);
	name[utf8_cut(name, NAMES_LONGEST - 10)] = '\0';
	cut = xstrfmt("%s_%.8s", name, hash);
	free(name);
	return cut;
}

static char *names_form(const struct expand_names *n, const char *table,
			int form)
{
	struct table_name name = { NULL, NULL, NULL };
	struct error ignored = ERROR_INIT;
	char *text;

	if (form == 2 || table_name_parse(&name, table, &ignored))
		return names_clean(xstrfmt("%s.%s", n->wildcard, table));
	if (form == 0 || !name.schema)
		text = xstrfmt("%s.%s", n->wildcard, name.name);
	else
		text = xstrfmt("%s.%s.%s", n->wildcard, name.schema, name.name);
	table_name_release(&name);
	return names_clean(text);
}

char *expand_name(struct expand_names *n, const char *table)
{
	char *bare = names_bare(table), *name = NULL;
	int form = names_meet(n, table, bare) ? 1 : 0;

	for (; form < 3; form++) {
		free(name);
		name = names_form(n, table, form);
		if (!strlist_has(&n->taken, name))
			break;
	}
	strlist_add(&n->taken, name);
	free(bare);
	return name;
}

int expand_check_name(const char *table, struct error *err)
{
	if (utf8_is_valid(table, strlen(table)))
		return 0;
	return error_set(err, ERROR_SCHEMA,
			 "its name is not UTF-8, and a config is");
}

static void names_list(struct strbuf *sb, const struct table_list *tables)
{
	size_t n = tables->n;

	if (n > NAMES_LISTED)
		n = NAMES_LISTED;
	for (size_t i = 0; i < n; i++)
		strbuf_addf(sb, "%s%s", i ? ", " : "", tables->items[i].name);
	if (n < tables->n)
		strbuf_addf(sb, " and %zu more", tables->n - n);
	if (!n)
		strbuf_addstr(sb, "none");
}

int expand_nothing(const struct settings *s, const struct wildcard *w,
		   const struct table_list *tables, struct error *err)
{
	struct strbuf patterns = STRBUF_INIT, there = STRBUF_INIT;

	for (size_t i = 0; i < w->tables.n; i++)
		strbuf_addf(&patterns, "%s%s", i ? ", " : "",
			    w->tables.items[i].text);
	names_list(&there, tables);
	error_set(err, ERROR_CONFIG,
		  "%s:%d:%d: pipelines.%s.tables: \"%s\" catches no table of "
		  "%s%s; there are: %s",
		  s->file, w->tables.items[0].at.line,
		  w->tables.items[0].at.column, w->name, patterns.data,
		  w->source->name, w->exclude.n ? " that is not excluded" : "",
		  there.data);
	strbuf_release(&patterns);
	strbuf_release(&there);
	return -ERROR_CONFIG;
}

void expand_replace(struct catch *caught, const struct choice *kept)
{
	for (size_t i = 0; i < caught->n; i++) {
		struct caught *c = &caught->items[i];
		json_t *chosen;

		if (!kept->chosen || !c->chosen ||
		    strcmp(c->pipeline, kept->pipeline) != 0 ||
		    strcmp(c->table, kept->table) != 0)
			continue;
		chosen = json_loads(kept->chosen, 0, NULL);
		if (!chosen)
			continue;
		json_decref(c->chosen);
		c->chosen = chosen;
	}
}
