#include <stdlib.h>

#include "core/base/alloc.h"
#include "destinations/clickhouse/internal.h"

static void chdst_close(struct destination *base)
{
	struct chdst *d = (struct chdst *)base;

	if (!d)
		return;
	if (d->db) {
		chdst_mark_give_back(d);
		chdst_input_drop(d);
		chdst_preview_drop(d);
	}
	clickhouse_close(d->db);
	chdst_place_release(&d->place);
	chdst_catalog_release(&d->there);
	free(d->preparation);
	chdst_mark_row_release(&d->seen);
	row_order_release(&d->order);
	free(d->into);
	free(d->stored);
	free(d->session);
	free(d);
}

static int chdst_open(struct destination **out, const struct connection *conn,
		      struct error *err)
{
	struct chdst *d = xcalloc(1, sizeof(*d));
	int rc;

	d->base.ops = &clickhouse_destination;
	d->order = (struct row_order)ROW_ORDER_INIT;
	rc = clickhouse_open(&d->db, conn, true, err);
	if (rc)
		chdst_close(&d->base);
	else
		*out = &d->base;
	return rc;
}

static int chdst_inspect(struct destination *base, const struct target *target,
			 struct inspection *out, struct error *err)
{
	struct chdst *d = (struct chdst *)base;
	struct place place = { .table = NULL };
	struct plan plan;
	int rc = chdst_place_set(&place, clickhouse_database(d->db), target,
				 err);

	chdst_plan_init(&plan);
	if (!rc)
		rc = chdst_plan_make(&plan, d, &place, target, err);
	if (!rc)
		rc = chdst_rights_inspect(d, &place, &plan, target,
					  &plan.inspection.problems, err);
	if (!rc) {
		inspection_release(out);
		*out = plan.inspection;
		inspection_init(&plan.inspection);
	}
	chdst_plan_release(&plan);
	chdst_place_release(&place);
	return rc;
}

/* Requests stand for themselves: there is nothing that could be ended. */
static const char *chdst_session(struct destination *base)
{
	(void)base;
	return "";
}

static void chdst_interrupt(struct destination *base)
{
	clickhouse_interrupt(((struct chdst *)base)->db);
}

const struct destination_ops clickhouse_destination = {
	.name = "clickhouse",
	.options = clickhouse_url_options,
	.batch_rows = CHDST_PIECE,
	.traits = 0,
	.grants = chdst_grants,
	.open = chdst_open,
	.inspect = chdst_inspect,
	.prepare = chdst_prepare,
	.recover = chdst_recover,
	.load = chdst_load,
	.remove = chdst_remove,
	.preview = chdst_preview,
	.explain = chdst_explain,
	.finish = chdst_finish,
	.set_watermark = chdst_set_watermark,
	.forget = chdst_forget,
	.others = chdst_others,
	.raise = chdst_raise,
	.identity = chdst_identity,
	.session = chdst_session,
	.interrupt = chdst_interrupt,
	.close = chdst_close,
};
