/* The destination in memory. */
#include <inttypes.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/stop.h"
#include "tests/unit/fake_engines.h"

static struct destination fake_destination;
static const struct target *fake_target;

static int fake_destination_open(struct destination **out,
				 const struct connection *conn,
				 struct error *err)
{
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

static int fake_raise(struct destination *d, const struct target *target,
		      const char *mark, struct error *err)
{
	(void)d;
	(void)target;
	(void)mark;
	(void)err;
	return 0;
}

static int fake_identity(struct destination *d, const struct target *target,
			 json_t **out, struct error *err)
{
	(void)d;
	(void)err;
	*out = json_pack("{s:s, s:s}", "engine", "fake", "table",
			 target->table);
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
	return fake.session ? fake.session : "fake session";
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
	.raise = fake_raise,
	.identity = fake_identity,
	.session = fake_session,
	.interrupt = fake_destination_interrupt,
	.close = fake_destination_close,
};
