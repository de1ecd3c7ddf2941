#include "core/sync/parts/dry_run.h"

#include <stdlib.h>
#include <string.h>

void dry_run_release(struct dry_run *d)
{
	strlist_release(&d->ddl);
	explanation_release(&d->plan);
	json_decref(d->lease);
	free(d->breaker);
	memset(d, 0, sizeof(*d));
}

static json_t *dry_run_plan(const struct explanation *e)
{
	json_t *out = json_array();

	for (size_t i = 0; i < e->n; i++)
		json_array_append_new(out,
				      json_pack("{s:s, s:s, s:s?, s:s?}",
						"purpose", e->items[i].purpose,
						"sql", e->items[i].sql, "index",
						e->items[i].index, "plan",
						e->items[i].plan));
	return out;
}

void dry_run_json(const struct dry_run *d, json_t *out)
{
	json_t *ddl = json_array();

	for (size_t i = 0; i < d->ddl.n; i++)
		json_array_append_new(ddl, json_string(d->ddl.items[i]));
	json_object_set_new(out, "dry_run", json_true());
	json_object_set_new(out, "plan", dry_run_plan(&d->plan));
	json_object_set_new(out, "ddl", ddl);
	json_object_set_new(out, "lease",
			    d->lease ? json_incref(d->lease) : json_null());
	json_object_set_new(out, "breaker",
			    d->breaker ? json_string(d->breaker) : json_null());
}
