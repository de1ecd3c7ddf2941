#include <stdlib.h>

#include "core/base/alloc.h"
#include "destinations/clickhouse/internal.h"
#include "destinations/common/connection.h"

static void clickhouse_target_close(struct destination *base)
{
	struct clickhouse_target *d = (struct clickhouse_target *)base;

	if (!d)
		return;
	if (d->db) {
		clickhouse_target_mark_give_back(d);
		clickhouse_target_input_drop(d);
		clickhouse_target_preview_drop(d);
	}
	clickhouse_close(d->db);
	clickhouse_target_place_release(&d->place);
	clickhouse_target_catalog_release(&d->there);
	free(d->preparation);
	clickhouse_target_mark_row_release(&d->seen);
	row_order_release(&d->order);
	free(d->into);
	free(d->stored);
	free(d->session);
	free(d);
}

static int clickhouse_target_open(struct destination **out,
				  const struct connection *conn,
				  struct error *err)
{
	struct clickhouse_target *d = xcalloc(1, sizeof(*d));
	int rc;

	d->keeper.base.ops = &clickhouse_destination;
	d->keeper.engine = &clickhouse_target_mark_keeper;
	d->order = (struct row_order)ROW_ORDER_INIT;
	rc = clickhouse_open(&d->db, conn, true, err);
	if (rc)
		clickhouse_target_close(&d->keeper.base);
	else
		*out = &d->keeper.base;
	return rc;
}

static int clickhouse_target_inspect(struct destination *base,
				     const struct target *target,
				     struct inspection *out, struct error *err)
{
	struct clickhouse *db = ((struct clickhouse_target *)base)->db;
	struct place place = { .table = NULL };
	int rc = clickhouse_target_place_set(&place, clickhouse_database(db),
					     target, err);

	if (!rc)
		rc = plan_inspect(&clickhouse_target_plan_engine, base, &place,
				  target, out, err);
	clickhouse_target_place_release(&place);
	return rc;
}

static void clickhouse_target_interrupt(struct destination *base)
{
	clickhouse_interrupt(((struct clickhouse_target *)base)->db);
}

static int clickhouse_destination_execute(struct destination *base,
					  const char *sql, struct error *err)
{
	struct clickhouse_rows rows;
	int rc = clickhouse_query(((struct clickhouse_target *)base)->db, sql,
				  NULL, &rows, err);

	clickhouse_rows_release(&rows);
	return rc;
}

const struct destination_ops clickhouse_destination = {
	.name = "clickhouse",
	.options = clickhouse_url_options,
	.batch_rows = CLICKHOUSE_TARGET_PIECE,
	.traits = 0,
	.grants = clickhouse_target_grants,
	.execute = clickhouse_destination_execute,
	.open = clickhouse_target_open,
	.inspect = clickhouse_target_inspect,
	.prepare = clickhouse_target_prepare,
	.recover = mark_keeper_recover,
	.load = clickhouse_target_load,
	.remove = clickhouse_target_remove,
	.preview = clickhouse_target_preview,
	.explain = clickhouse_target_explain,
	.finish = clickhouse_target_finish,
	.set_watermark = mark_keeper_set,
	.forget = mark_keeper_forget,
	.others = mark_keeper_others,
	.raise = mark_keeper_raise,
	.identity = clickhouse_target_identity,
	.session = connection_no_session,
	.interrupt = clickhouse_target_interrupt,
	.close = clickhouse_target_close,
};
