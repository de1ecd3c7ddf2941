#include "core/sync/parts/dry_run.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/secret.h"

void dry_run_release(struct dry_run *d)
{
	strlist_release(&d->ddl);
	explanation_release(&d->plan);
	json_decref(d->lease);
	free(d->breaker);
	memset(d, 0, sizeof(*d));
}

/* An expression may hold the value of a ${file:}, and then the plan does, too.
 */
static json_t *dry_run_text(const char *text)
{
	char *copy = xstrdup(text);
	json_t *out;

	if (!copy)
		return json_null();
	secret_scrub(copy);
	out = json_string(copy);
	free(copy);
	return out;
}

static json_t *dry_run_plan(const struct explanation *e)
{
	json_t *out = json_array();

	for (size_t i = 0; i < e->n; i++)
		json_array_append_new(
			out, json_pack("{s:s, s:o, s:s?, s:o}", "purpose",
				       e->items[i].purpose, "sql",
				       dry_run_text(e->items[i].sql), "index",
				       e->items[i].index, "plan",
				       dry_run_text(e->items[i].plan)));
	return out;
}

void dry_run_json(const struct dry_run *d, json_t *out)
{
	json_t *ddl = json_array();

	for (size_t i = 0; i < d->ddl.n; i++)
		json_array_append_new(ddl, dry_run_text(d->ddl.items[i]));
	json_object_set_new(out, "dry_run", json_true());
	json_object_set_new(out, "plan", dry_run_plan(&d->plan));
	json_object_set_new(out, "ddl", ddl);
	json_object_set_new(out, "lease",
			    d->lease ? json_incref(d->lease) : json_null());
	json_object_set_new(out, "breaker",
			    d->breaker ? json_string(d->breaker) : json_null());
}
