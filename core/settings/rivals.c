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

/* Only the engine knows which other letters are equal. */
static bool rival_same_word(const char *a, const char *b)
{
	for (const char *p = a; *p; p++)
		if ((unsigned char)*p >= 0x80)
			return true;
	return !strcasecmp(a, b);
}

static bool rival_differs(const char *a, const char *b)
{
	return a && b && !rival_same_word(a, b);
}

static bool rival_may_be(const struct pipeline_settings *p,
			 const struct pipeline_settings *q)
{
	struct rival_place a, b;
	bool may;

	if (p == q || p->mode == LOAD_UPDATE || q->mode == LOAD_UPDATE ||
	    strcmp(p->destination->url.engine, q->destination->url.engine) != 0)
		return false;
	rival_place_fill(&a, p);
	rival_place_fill(&b, q);
	may = !rival_differs(a.name.name, b.name.name) &&
	      !rival_differs(a.schema, b.schema) &&
	      !rival_differs(a.database, b.database);
	rival_place_release(&a);
	rival_place_release(&b);
	return may;
}

void settings_find_rivals(struct settings *s)
{
	for (size_t i = 0; i < s->n_pipelines; i++) {
		struct pipeline_settings *p = &s->pipelines[i];

		for (size_t k = 0; k < s->n_pipelines; k++) {
			if (!rival_may_be(p, &s->pipelines[k]))
				continue;
			p->rivals = xreallocarray(p->rivals, p->n_rivals + 1,
						  sizeof(*p->rivals));
			p->rivals[p->n_rivals++] = &s->pipelines[k];
		}
	}
}
