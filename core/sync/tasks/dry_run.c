#include "core/sync/tasks/dry_run.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/sync/ledger/breaker.h"
#include "core/sync/run/run.h"

void dry_run_release(struct dry_run *d)
{
	strlist_release(&d->ddl);
	explanation_release(&d->plan);
	json_decref(d->lease);
	free(d->breaker);
	memset(d, 0, sizeof(*d));
}

/* Nothing of a try lasts, so the next one begins from nothing. */
void dry_run_restart(struct run_result *out)
{
	strlist_release(&out->dry.ddl);
	explanation_release(&out->dry.plan);
	out->batches = out->bytes_read = out->rows_held = 0;
	out->rows_read = out->rows_inserted = out->rows_updated = 0;
	out->rows_unchanged = out->rows_deleted = 0;
	out->rows_dead_lettered = out->rows_missing = 0;
	out->located = false;
	out->earlier = (struct run_counts){ .batches = 0 };
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

/* As prepare leaves it: what was delivered stays known. */
static void dry_run_forget(struct run *r)
{
	watermark_forget(&r->from);
	free(r->checkpoint.watermark);
	r->checkpoint.watermark = NULL;
}

int dry_run_prepare(struct run *r, struct error *err)
{
	const struct destination_ops *ops = r->destination->ops;
	struct inspection found;
	int rc;

	inspection_init(&found);
	rc = ops->inspect(r->destination, &r->target, &found, err);
	if (!rc)
		strlist_copy(&r->out->dry.ddl, &found.ddl);
	if (!rc)
		rc = problems_to_error(&found.problems, err);
	r->target.preview = true;
	if (!rc)
		rc = ops->prepare(r->destination, &r->target, err);
	if (!rc && found.anew)
		dry_run_forget(r);
	inspection_release(&found);
	return rc;
}

int dry_run_explain(struct run *r, struct error *err)
{
	struct explanation *plan = &r->out->dry.plan;
	int rc = r->source->ops->explain(r->source, r->adapt.rows, plan, err);

	return rc ? rc
		  : r->destination->ops->explain(r->destination, plan, err);
}

static int dry_run_look_at_lease(struct store *store,
				 const struct pipeline_settings *p,
				 struct dry_run *out, struct error *err)
{
	struct lease now;
	bool held = false;
	int rc;

	lease_init(&now);
	rc = store->ops->get_lease(store, p->name, &held, &now, err);
	if (!rc && held)
		out->lease = lease_json(&now);
	lease_release(&now);
	return rc;
}

void dry_run_look(struct store *store, const struct pipeline_settings *p,
		  struct dry_run *out)
{
	struct error err = ERROR_INIT;
	bool single;

	if (!store)
		return;
	if (dry_run_look_at_lease(store, p, out, &err))
		log_warn("who runs %s now is not known: %s", p->name,
			 err.message);
	else if (breaker_check(store, p, &single, &err))
		out->breaker = xstrdup(err.message);
}
