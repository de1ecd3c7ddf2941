/* The source in memory. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "tests/unit/fake_engines.h"

static struct connector fake_connector;
static struct scan fake_scan_args;
static int64_t fake_at; /* last id delivered in this pass */
static size_t fake_at_key; /* keys that a pass over keys has done */

static int fake_open(struct connector **out, const struct connection *conn,
		     struct error *err)
{
	(void)conn;
	fake.opens++;
	if (fake.open_us)
		clock_sleep_us(fake.open_us);
	if (fake.source_rows < 0)
		return error_set(err, ERROR_ACCESS, "planted: no source");
	if (fake.opens <= fake.fail_opens)
		return error_set(err, ERROR_TRANSIENT, "planted in open");
	fake_connector.ops = &fake_connector_ops;
	*out = &fake_connector;
	return 0;
}

static int fake_tables(struct connector *c, struct table_list *out,
		       struct error *err)
{
	(void)c;
	(void)out;
	(void)err;
	return 0;
}

static int fake_describe(struct connector *c, const struct source_spec *source,
			 const struct watermark_spec *mark, struct schema *out,
			 struct error *err)
{
	struct type type = { .kind = TYPE_INT64 };
	size_t key = 0;

	(void)c;
	(void)source;
	(void)mark;
	(void)err;
	type.native = (char *)"bigint";
	schema_add(out, "id", &type, false);
	schema_set_key(out, &key, 1);
	out->mark = 0;
	out->engine = xstrdup("fake");
	out->table = xstrdup("t");
	return 0;
}

static int fake_inspect_source(struct connector *c,
			       const struct source_spec *source,
			       const struct watermark_spec *mark,
			       const struct schema *schema,
			       struct problems *out, struct error *err)
{
	(void)c;
	(void)source;
	(void)mark;
	(void)schema;
	(void)out;
	(void)err;
	return 0;
}

static int fake_suggest(struct connector *c, const char *table,
			enum strategy *strategy, char **column, char **reason,
			struct error *err)
{
	(void)c;
	(void)table;
	(void)err;
	*strategy = STRATEGY_SEQUENCE;
	*column = xstrdup("id");
	*reason = xstrdup("");
	return 0;
}

static int fake_identity(struct connector *c, const struct source_spec *source,
			 json_t **out, struct error *err)
{
	(void)c;
	(void)source;
	(void)err;
	*out = json_pack("{s:s}", "engine", "fake");
	return 0;
}

static int fake_settle(struct connector *c, const struct source_spec *source,
		       const struct schema *schema,
		       const struct watermark_spec *mark,
		       const struct watermark *from, struct settled *out,
		       struct error *err)
{
	(void)c;
	(void)source;
	(void)schema;
	(void)mark;
	(void)from;
	(void)err;
	out->guarantee = GUARANTEE_EXACT;
	out->reason = xstrdup("");
	return 0;
}

static int fake_scan(struct connector *c, const struct scan *scan,
		     struct error *err)
{
	(void)c;
	(void)err;
	if (++fake.scans == fake.grow_at_scan)
		fake.source_rows += fake.grow_by;
	fake_scan_args = *scan;
	fake_at_key = 0;
	fake_at = scan->from->value ? atoll(scan->from->value) : 0;
	return 0;
}

static void fake_mark(struct watermark *w)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, fake_at);
	watermark_release(w);
	watermark_copy(w, fake_scan_args.from);
	free(w->value);
	w->value = fake_at ? xstrdup(text) : NULL;
	json_decref(w->identity);
	w->identity = json_incref((json_t *)fake_scan_args.identity);
}

/* Rows of the keys that were asked for, one after the other. */
static void fake_next_keys(struct batch *out)
{
	const struct strlist *keys = fake_scan_args.keys;

	while (fake_at_key < keys->n && !batch_is_full(out)) {
		int64_t id = atoll(keys->items[fake_at_key++]);

		if (id > fake.source_rows)
			continue;
		batch_reserve_row(out);
		vector_set_fixed(&out->vectors[0], out->n_rows, &id);
		batch_row_done(out);
	}
	watermark_release(&out->watermark);
	watermark_copy(&out->watermark, fake_scan_args.from);
}

static int fake_explain_source(struct connector *c, size_t rows,
			       struct explanation *out, struct error *err)
{
	(void)c;
	(void)rows;
	(void)err;
	explanation_add(out, "read", "SELECT", NULL, NULL);
	return 0;
}

static int fake_next(struct connector *c, struct batch *out, struct error *err)
{
	(void)c;
	if (fake_scan_args.keys) {
		fake_next_keys(out);
		return 0;
	}
	if (++fake.nexts == fake.fail_next_at)
		return error_set(err, ERROR_TRANSIENT, "planted in next");
	while (fake_at < fake.source_rows && !batch_is_full(out)) {
		fake_at++;
		batch_reserve_row(out);
		vector_set_fixed(&out->vectors[0], out->n_rows, &fake_at);
		batch_row_done(out);
	}
	fake_mark(&out->watermark);
	out->progress = (double)fake_at / (double)(fake.source_rows + 1);
	return 0;
}

static int fake_pause(struct connector *c, struct error *err)
{
	(void)c;
	(void)err;
	fake.pauses++;
	return 0;
}

static int fake_pressure(struct connector *c, const struct pressure_question *q,
			 struct pressure *out, struct error *err)
{
	(void)c;
	(void)q;
	fake.asked++;
	if (fake.asked <= fake.fail_asked)
		return error_set(err, ERROR_ACCESS, "planted in pressure");
	out->active = fake.active;
	out->lag_us = fake.lag_us;
	return 0;
}

static int fake_cut(struct connector *c, const struct source_spec *source,
		    const struct watermark_spec *mark,
		    const struct range *range, int64_t rows,
		    struct range_cut *out, struct error *err)
{
	(void)c;
	(void)source;
	(void)mark;
	(void)range;
	(void)rows;
	(void)err;
	out->end = NULL;
	out->rows = fake.source_rows;
	return 0;
}

static void fake_interrupt(struct connector *c)
{
	(void)c;
}

static void fake_close(struct connector *c)
{
	(void)c;
}

const struct connector_ops fake_connector_ops = {
	.name = "fake",
	.options = fake_options,
	.open = fake_open,
	.tables = fake_tables,
	.describe = fake_describe,
	.inspect = fake_inspect_source,
	.suggest = fake_suggest,
	.identity = fake_identity,
	.settle = fake_settle,
	.cut = fake_cut,
	.scan = fake_scan,
	.explain = fake_explain_source,
	.next = fake_next,
	.pause = fake_pause,
	.pressure = fake_pressure,
	.interrupt = fake_interrupt,
	.close = fake_close,
};
