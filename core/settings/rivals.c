#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/engine.h"
#include "core/data/table_name.h"
#include "core/settings/input.h"

/* The facts about a target that are known without asking its engine. */
struct rival_place {
	struct table_name name;
	struct url_server server;
	const char *schema; /* the URL's database where that is one; or NULL */
	const char *database; /* above the schema; NULL: none, or not known */
};

struct rival {
	struct pipeline_settings *p;
	struct rival_place place;
};

static void rival_place_release(struct rival_place *r)
{
	table_name_release(&r->name);
	url_server_release(&r->server);
}

static void rival_place_fill(struct rival_place *out,
			     const struct pipeline_settings *p)
{
	const struct url *url = &p->destination->url;
	const struct engine *e = engine_named(url->engine);
	const char *schema = e ? e->schema : NULL;
	struct error ignored = ERROR_INIT;

	memset(out, 0, sizeof(*out));
	table_name_parse(&out->name, p->destination_table, &ignored);
	if (!*url->path)
		(void)url_server_parse(&out->server, url, &ignored);
	if (schema)
		out->database = out->server.database;
	else
		schema = out->server.database;
	out->schema = out->name.schema ? out->name.schema : schema;
}

static bool rival_is_odd(const char *name)
{
	for (const char *p = name; *p; p++)
		if ((unsigned char)*p >= 0x80)
			return true;
	return false;
}

/* Only the engine knows which other letters are equal. */
static bool rival_same_word(const char *a, const char *b)
{
	return rival_is_odd(a) || !strcasecmp(a, b);
}

static bool rival_differs(const char *a, const char *b)
{
	return a && b && !rival_same_word(a, b);
}

static bool rival_may_be(const struct rival *a, const struct rival *b)
{
	return a != b &&
	       !strcmp(a->p->destination->url.engine,
		       b->p->destination->url.engine) &&
	       !rival_differs(a->place.name.name, b->place.name.name) &&
	       !rival_differs(a->place.schema, b->place.schema) &&
	       !rival_differs(a->place.database, b->place.database);
}

/* By the table's name, and then as the config has them. */
static int rival_order(const void *x, const void *y)
{
	const struct rival *a = x, *b = y;
	const char *left = a->place.name.name, *right = b->place.name.name;
	int order = strcasecmp(left ? left : "", right ? right : "");

	return order ? order : (a->p > b->p) - (a->p < b->p);
}

static void rival_find(const struct rival *a, const struct rival *first,
		       size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!rival_may_be(a, &first[i]))
			continue;
		a->p->rivals = xreallocarray(a->p->rivals, a->p->n_rivals + 1,
					     sizeof(*a->p->rivals));
		a->p->rivals[a->p->n_rivals++] = first[i].p;
	}
}

/* Names that are alike stand together, so that a thousand pipelines are not
 * compared with a thousand others. A name with other letters than those of
 * ASCII is. */
static void rival_find_all(const struct rival *all, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		const char *name = all[i].place.name.name;

		for (end = i + 1; end < n; end++)
			if (name && all[end].place.name.name &&
			    strcasecmp(name, all[end].place.name.name) != 0)
				break;
		for (size_t k = i; k < end; k++) {
			if (!name || rival_is_odd(name))
				rival_find(&all[k], all, n);
			else
				rival_find(&all[k], &all[i], end - i);
		}
	}
}

void settings_find_rivals(struct settings *s)
{
	struct rival *all =
		xcalloc(s->n_pipelines ? s->n_pipelines : 1, sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; i < s->n_pipelines; i++) {
		struct pipeline_settings *p = &s->pipelines[i];

		if (p->mode == LOAD_UPDATE || p->fault)
			continue;
		all[n].p = p;
		rival_place_fill(&all[n++].place, p);
	}
	qsort(all, n, sizeof(*all), rival_order);
	rival_find_all(all, n);
	for (size_t i = 0; i < n; i++)
		rival_place_release(&all[i].place);
	free(all);
}
