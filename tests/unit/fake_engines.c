#include "tests/unit/fake_engines.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/stop.h"

struct fake fake;

static struct connector fake_connector;
static struct destination fake_destination;
static struct scan fake_scan_args;
static int64_t fake_at; /* last id delivered in this pass */
static size_t fake_at_key; /* of a pass over keys: so many are done */
static const struct target *fake_target;

static const struct url_option fake_options[] = { { NULL, NULL, NULL } };

struct pipeline_settings fake_settings(struct connection *end)
{
	return (struct pipeline_settings){
		.name = (char *)"p",
		.source = end,
		.destination = end,
		.source_table = (char *)"t",
		.destination_table = (char *)"t",
		.strategy = STRATEGY_SEQUENCE,
		.mark_column = (char *)"id",
		.time_zone = (char *)"auto",
		.settle = true,
		.mode = LOAD_UPSERT,
		.batch_rows = 100,
		.batch_bytes = 32 << 20,
		.batch_target_us = 1,
		.retry = { .attempts = 3,
			   .backoff_us = 1,
			   .max_backoff_us = 2 },
		.logic_version = 1,
		.tenant = (char *)"",
	};
}

void fake_reset(int64_t source_rows)
{
	free(fake.watermark);
	free(fake.batch_id);
	free(fake.last_state);
	free(fake.last_outcome);
	memset(&fake, 0, sizeof(fake));
	fake.source_rows = source_rows;
}

static int fake_open(struct connector **out, const struct connection *conn,
		     struct error *err)
{
	extern const struct connector_ops fake_connector_ops;

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

static int fake_destination_open(struct destination **out,
				 const struct connection *conn,
				 struct error *err)
{
	extern const struct destination_ops fake_destination_ops;

	(void)conn;
	(void)err;
	fake_destination.ops = &fake_destination_ops;
	*out = &fake_destination;
	return 0;
}

static int fake_destination_inspect(struct destination *d,
				    const struct target *target,
				    struct inspection *out, struct error *err)
{
	(void)d;
	(void)target;
	(void)out;
	(void)err;
	return 0;
}

static int fake_prepare(struct destination *d, const struct target *target,
			struct error *err)
{
	(void)d;
	fake_target = target;
	fake.claims += target->writer.claim;
	if (writer_check_fence(&target->writer, target->pipeline,
			       fake.stored_fence, err))
		return -ERROR_STATE;
	return 0;
}

static int fake_recover(struct destination *d, const struct target *target,
			struct checkpoint *out, struct error *err)
{
	(void)d;
	(void)target;
	(void)err;
	out->found = fake.watermark != NULL;
	out->watermark = xstrdup(fake.watermark);
	out->batch_id = xstrdup(fake.batch_id ? fake.batch_id : "");
	out->rows_total = fake.rows_total;
	out->fence = fake.stored_fence;
	return 0;
}

static void fake_commit(const struct batch *b, const struct checkpoint *next)
{
	for (size_t row = 0; row < b->n_rows; row++)
		fake.arrived[vector_i64(&b->vectors[0], row)]++;
	if (fake_target->refresh)
		return;
	free(fake.watermark);
	free(fake.batch_id);
	fake.watermark = xstrdup(next->watermark);
	fake.batch_id = xstrdup(next->batch_id);
	fake.rows_total = next->rows_total;
}

static bool fake_reaches(const struct batch *b, int64_t id)
{
	return id && b->n_rows &&
	       vector_i64(&b->vectors[0], b->n_rows - 1) >= id;
}

static bool fake_is_there(const struct batch *b, int64_t id)
{
	if (fake.arrived[id])
		return true;
	for (size_t row = 0; row < b->n_rows; row++)
		if (vector_i64(&b->vectors[0], row) == id)
			return true;
	return false;
}

static int fake_refuse(const struct batch *b, struct error *err)
{
	for (size_t row = 0; row < b->n_rows; row++) {
		int64_t id = vector_i64(&b->vectors[0], row);
		bool bad = fake.bad[id] || (fake.needs[id] &&
					    !fake_is_there(b, fake.needs[id]));

		if (!bad)
			continue;
		fake.refused_rows += (int64_t)b->n_rows;
		return error_set(err, ERROR_DATA, "row %" PRId64 " is bad", id);
	}
	return 0;
}

static int fake_load(struct destination *d, const struct batch *batch,
		     const struct checkpoint *next, struct load_counts *out,
		     struct error *err)
{
	(void)d;
	fake.loads++;
	if (batch->n_rows > fake.largest_batch)
		fake.largest_batch = batch->n_rows;
	if (fake.loads == fake.stop_at_load)
		stop_request();
	if (fake.loads == fake.fail_load_at || fake.fail_load_every_time ||
	    fake_reaches(batch, fake.fail_load_from))
		return error_set(err, fake.fail_load_with, "planted in load");
	if (fake_refuse(batch, err))
		return -ERROR_DATA;
	if (fake.in_load)
		fake.in_load();
	if (writer_check(&fake_target->writer, err))
		return -ERROR_STATE;
	fake.lease_at_load = fake.stored_fence = next->fence;
	fake_commit(batch, next);
	out->inserted = (int64_t)batch->n_rows;
	if (fake.loads == fake.miscount_at)
		out->inserted--;
	if (fake.loads == fake.fail_after_commit_at)
		return error_set(err, ERROR_TRANSIENT, "planted after commit");
	return 0;
}

static int fake_remove(struct destination *d, const struct batch *keys,
		       const struct checkpoint *next, int64_t *removed,
		       struct error *err)
{
	(void)d;
	(void)next;
	(void)err;
	*removed = (int64_t)keys->n_rows;
	return 0;
}

/* As a load, but that nothing arrives. */
static int fake_preview(struct destination *d, const struct batch *batch,
			const struct checkpoint *next, struct load_counts *out,
			struct error *err)
{
	(void)d;
	(void)next;
	fake.previews++;
	if (fake.previews == fake.fail_preview_at)
		return error_set(err, ERROR_TRANSIENT, "planted in preview");
	if (fake_refuse(batch, err))
		return -ERROR_DATA;
	out->inserted = (int64_t)batch->n_rows;
	return 0;
}

static int fake_explain(struct destination *d, struct explanation *out,
			struct error *err)
{
	(void)d;
	(void)err;
	explanation_add(out, "insert", "INSERT", "pk", NULL);
	return 0;
}

static int fake_finish(struct destination *d, const struct checkpoint *next,
		       struct error *err)
{
	(void)d;
	(void)err;
	fake.finishes++;
	free(fake.watermark);
	fake.watermark = xstrdup(next->watermark);
	return 0;
}

static int fake_forget(struct destination *d, const struct target *target,
		       struct error *err)
{
	(void)d;
	(void)target;
	(void)err;
	return 0;
}

static int fake_others(struct destination *d, const struct target *target,
		       struct strlist *out, struct error *err)
{
	(void)d;
	(void)target;
	(void)out;
	(void)err;
	return 0;
}

static int fake_set_watermark(struct destination *d,
			      const struct target *target,
			      const char *watermark, struct error *err)
{
	(void)d;
	(void)target;
	(void)watermark;
	(void)err;
	return 0;
}

static const char *fake_session(struct destination *d)
{
	(void)d;
	return "fake session";
}

static void fake_destination_interrupt(struct destination *d)
{
	(void)d;
}

static void fake_destination_close(struct destination *d)
{
	(void)d;
	if (fake.in_close)
		fake.in_close();
}

const struct destination_ops fake_destination_ops = {
	.name = "fake",
	.options = fake_options,
	.traits = DESTINATION_TRANSACTIONAL,
	.open = fake_destination_open,
	.inspect = fake_destination_inspect,
	.prepare = fake_prepare,
	.recover = fake_recover,
	.load = fake_load,
	.remove = fake_remove,
	.preview = fake_preview,
	.explain = fake_explain,
	.finish = fake_finish,
	.set_watermark = fake_set_watermark,
	.forget = fake_forget,
	.others = fake_others,
	.session = fake_session,
	.interrupt = fake_destination_interrupt,
	.close = fake_destination_close,
};

extern const struct store_ops fake_store_ops;

static const struct plugin fake_plugin = {
	.abi = PLUGIN_ABI,
	.size = sizeof(struct plugin),
	.name = "fake",
	.version = "",
	.connector = &fake_connector_ops,
	.destination = &fake_destination_ops,
	.store = &fake_store_ops,
};

const struct plugin *const plugin_builtin[] = { &fake_plugin, NULL };
