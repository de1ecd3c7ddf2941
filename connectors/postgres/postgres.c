#include "connectors/postgres/postgres.h"
#include "connectors/postgres/leaf_list.h"

#include <stdlib.h>
#include <string.h>

#include "clients/pg_ahead.h"
#include "connectors/postgres/durable.h"
#include "connectors/postgres/shape.h"
#include "core/base/alloc.h"

/* pg_current_snapshot(), FETCH ... WITH TIES, incremental sort */
#define POSTGRES_OLDEST 130000

static int postgres_open(struct connector **out, const struct connection *conn,
			 struct error *err)
{
	const struct pg_options options = {
		.read_only = true,
		.pin = true,
		/* Compiling a page's plan costs more than the page; a scan that
		 * joins another one in the middle of the table comes out of
		 * order. */
		.settings = "SELECT set_config('jit', 'off', false),"
			    " set_config('synchronize_seqscans', 'off', false)",
		.application = "source",
	};
	struct postgres *c = xcalloc(1, sizeof(*c));
	int rc;

	c->base.ops = &postgres_connector;
	c->layout.mark = -1;
	rc = pg_open(&c->pg, conn, &options, err);
	if (!rc && pg_server_version(c->pg) < POSTGRES_OLDEST)
		rc = error_set(err, ERROR_CONFIG,
			       "connection %s: PostgreSQL %d is too old: "
			       "13 or newer is needed",
			       conn->name, pg_server_version(c->pg) / 10000);
	if (rc) {
		pg_close(c->pg);
		free(c);
		return rc;
	}
	*out = &c->base;
	return 0;
}

/* Sum over the leaves; one that was never counted makes it unknown. */
static int postgres_estimate(struct postgres *c, struct schema *out,
			     struct error *err)
{
	struct leaves leaves = { NULL, 0 };
	double rows = 0;
	int64_t blocks = 0;
	bool known;
	int rc = postgres_source_leaves_find(
		c->pg, postgres_source_relation(&c->layout)->oid, &leaves, err);

	if (rc)
		return rc;
	known = leaves.n > 0;
	for (size_t i = 0; i < leaves.n; i++) {
		known &= leaves.items[i].rows >= 0;
		rows += leaves.items[i].rows;
		blocks += leaves.items[i].blocks;
	}
	out->row_estimate = known && rows < 1e18 ? (int64_t)rows : -1;
	out->byte_estimate = leaves.n ? blocks * 8192 : -1;
	json_decref(c->leaf_list);
	c->leaf_list = postgres_source_leaf_list_new(
		postgres_source_relation(&c->layout), &leaves);
	postgres_source_leaves_release(&leaves);
	return 0;
}

static int postgres_describe(struct connector *base,
			     const struct source_spec *source,
			     const struct watermark_spec *mark,
			     struct schema *out, struct error *err)
{
	struct postgres *c = (struct postgres *)base;
	int rc;

	c->described = NULL;
	rc = postgres_end_pass(c, err);
	if (!rc)
		rc = postgres_source_describe_ahead(c, source, mark, err);
	if (!rc)
		rc = postgres_layout(c, source, mark, err);
	if (rc) {
		pg_ahead_drop(c->pg);
		return rc;
	}
	postgres_source_layout_to_schema(&c->layout, source->table, out);
	rc = postgres_estimate(c, out, err);
	if (rc)
		schema_release(out);
	return rc;
}

static int postgres_scan(struct connector *base, const struct scan *scan,
			 struct error *err)
{
	struct postgres *c = (struct postgres *)base;
	int rc = postgres_end_pass(c, err);

	if (!rc)
		rc = postgres_layout(c, scan->source, scan->mark, err);
	if (rc)
		return rc;
	rc = paged_pass_begin(&c->pass, base, &postgres_source_pages,
			      &c->layout, scan, err);
	if (scan_is_ordered(scan) && !scan->range)
		postgres_source_durable_begin(
			c, scan->mark->strategy == STRATEGY_SEQUENCE
				   ? c->unflushed
				   : 0);
	if (rc || !scan_is_ordered(scan))
		return rc;
	rc = scan->mark->strategy == STRATEGY_XMIN
		     ? postgres_source_blocks_begin(c, err)
		     : postgres_source_keyset_begin(c, err);
	return postgres_source_shape_judge(c, scan->source, scan->mark, rc,
					   err);
}

static int postgres_next(struct connector *base, struct batch *out,
			 struct error *err)
{
	struct postgres *c = (struct postgres *)base;
	const struct scan *scan = c->pass.scan;
	int rc;

	if (!scan)
		return error_set(err, ERROR_BUG, "next without scan");
	if (!scan_is_ordered(scan))
		rc = postgres_source_lookup_next(c, out, err);
	else if (scan->mark->strategy == STRATEGY_XMIN)
		rc = postgres_source_blocks_next(c, out, err);
	else
		rc = paged_pass_next(&c->pass, out, err);
	return postgres_source_shape_judge(c, scan->source, scan->mark, rc,
					   err);
}

static void postgres_interrupt(struct connector *base)
{
	pg_interrupt(((struct postgres *)base)->pg);
}

static void postgres_close(struct connector *base)
{
	struct postgres *c = (struct postgres *)base;

	if (!c)
		return;
	postgres_source_pass_release(c);
	source_layout_release(&c->layout);
	free(c->mark_column);
	json_decref(c->leaf_list);
	pg_close(c->pg);
	free(c);
}

static const struct url_option postgres_options[] = {
	{ "sslmode", "verify-full off loopback",
	  "every parameter of libpq is passed on" },
	{ NULL, NULL, NULL },
};

const struct connector_ops postgres_connector = {
	.name = "postgres",
	.options = postgres_options,
	.grants = postgres_grants,
	.foresee = postgres_foresee,
	.open = postgres_open,
	.tables = postgres_tables,
	.describe = postgres_describe,
	.inspect = postgres_inspect,
	.suggest = postgres_suggest,
	.identity = postgres_identity,
	.settle = postgres_settle,
	.cut = postgres_cut,
	.scan = postgres_scan,
	.explain = postgres_explain,
	.next = postgres_next,
	.pause = postgres_pause,
	.pressure = postgres_pressure,
	.interrupt = postgres_interrupt,
	.close = postgres_close,
};
