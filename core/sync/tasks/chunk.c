#include "core/sync/tasks/chunk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/pool.h"
#include "core/data/digest.h"
#include "core/data/value.h"
#include "core/plugin/registry.h"
#include "core/store/chunks.h"
#include "core/sync/parts/range.h"
#include "core/sync/parts/shape.h"
#include "core/sync/run/past_mark.h"
#include "core/sync/run/run.h"
#include "core/sync/run/try.h"
#include "core/sync/tasks/chunk_first.h"
#include "core/sync/tasks/chunk_verify.h"

/* Members of a chunk's pending: the rows up to its mark, and when the chunk was
 * queued. If the chunk was queued anew since, all rows are read. */
#define CHUNK_ROWS	"rows"
#define CHUNK_QUEUED_AT "queued_at"

static struct chunk_work *chunk_of(const struct task *t)
{
	return (struct chunk_work *)t;
}

static struct chunk_work *chunk_work(const struct run *r)
{
	return chunk_of(r->task);
}

static void chunk_release_witness(struct chunk_work *w)
{
	if (w->witness)
		w->witness->ops->close(w->witness);
	w->witness = NULL;
	schema_release(&w->witness_schema);
	schema_init(&w->witness_schema);
	free(w->witness_column);
	w->witness_column = NULL;
}

void chunk_work_release(struct chunk_work *w)
{
	chunk_release_witness(w);
	chunk_rows_release(&w->read);
	free(w->column);
	free(w->settled);
	free(w->told);
	free(w->own);
	free(w->position);
	w->column = w->settled = w->told = w->own = w->position = NULL;
}

static int chunk_describe(struct run *r, struct error *err)
{
	struct chunk_work *w = chunk_work(r);
	int rc = 0;

	free(w->column);
	w->column = NULL;
	if (w->first_load)
		rc = chunk_first_server(r, w->chunk, err);
	if (rc)
		return rc;
	rc = range_describe(r->source, r->p, &r->spec, &r->mark, &w->column,
			    &r->schema, err);
	/* The key says nothing about which version a row is. */
	if (r->mark.any_type)
		r->schema.mark = -1;
	w->versioned = r->p->strategy == STRATEGY_TIMESTAMP &&
		       r->schema.mark >= 0 && r->p->nulls != NULLS_INCLUDE &&
		       r->p->mode != LOAD_APPEND;
	r->scan.range = &w->range;
	return rc;
}

/* Nor are rows that another config shapes. */
static int chunk_check_shape(struct run *r, const json_t *seen,
			     struct error *err)
{
	struct strbuf ignored = STRBUF_INIT;
	json_t *now = shape_of(r->p, &r->schema);
	int rc;

	shape_follow(now, seen, &ignored);
	rc = shape_check(r->p, now, seen, err);
	if (!rc)
		rc = shape_check_key(r->p, &r->schema, seen, err);
	strbuf_release(&ignored);
	json_decref(now);
	return rc;
}

/* Find what the pipeline itself has delivered, before anything is read. */
static int chunk_find_settled(struct run *r, struct error *err)
{
	struct target live = r->target;
	struct checkpoint mark;
	struct watermark at;
	int rc;

	checkpoint_init(&mark);
	watermark_init(&at);
	live.pipeline = r->p->name;
	xassign(&r->delivered, NULL);
	xassign(&chunk_work(r)->settled, NULL);
	xassign(&chunk_work(r)->told, NULL);
	rc = r->destination->ops->recover(r->destination, &live, &mark, err);
	if (!rc && mark.watermark)
		rc = watermark_from_text(&at, mark.watermark, err);
	/* The rows of another source are not to be put among this one's. */
	if (!rc && at.identity)
		rc = watermark_check_identity(&at, r->identity,
					      settings_run(r->p),
					      settings_call(r->p), err);
	if (!rc)
		rc = chunk_check_shape(r, at.shape, err);
	if (!rc && at.strategy == r->p->strategy) {
		xassign(&chunk_work(r)->settled, at.value);
		xassign(&chunk_work(r)->told, watermark_delivered(&at));
	}
	if (!rc && chunk_work(r)->versioned && at.value &&
	    at.strategy == STRATEGY_TIMESTAMP)
		xassign(&r->delivered, at.value);
	watermark_release(&at);
	checkpoint_release(&mark);
	return rc;
}

/* Up to a settled mark, every version was there before this chunk read its
 * first row. So the chunk reads that version or a newer one, even if its mark
 * is lower. Without that certainty, the higher mark wins. */
static int chunk_trust_settled(struct run *r, struct error *err)
{
	struct chunk_work *w = chunk_work(r);

	(void)err;
	if (r->settled.guarantee != GUARANTEE_EXACT || r->p->lag_us)
		xassign(&r->delivered, NULL);
	past_mark_take(r, &w->settled, r->settled.value);
	past_mark_take(r, &r->delivered, w->own);
	return 0;
}

/* The pipeline's mark is told, if there are rows past it. */
static int chunk_loading(struct run *r, const struct batch *b,
			 struct error *err)
{
	struct chunk_work *w = chunk_work(r);
	char *highest = past_mark_highest(r, b);
	int rc = 0;

	w->loading = b;
	w->unsettled = w->own ||
		       watermark_is_beyond(r->p->strategy, highest, w->settled);
	if (watermark_is_beyond(r->p->strategy, highest, w->told))
		rc = past_mark_tell(r, highest, err);
	if (!rc)
		past_mark_take(r, &w->told, highest);
	free(highest);
	return rc;
}

/* Its rows are in all the same, and may be older than what was there. */
static void chunk_own(struct run *r)
{
	char *highest = past_mark_highest(r, chunk_work(r)->loading);

	if (!(r->destination->ops->traits & DESTINATION_TRANSACTIONAL))
		past_mark_take(r, &chunk_work(r)->own, highest);
	free(highest);
}

/* How far earlier attempts have come, by the mark at the destination. */
static void chunk_resume(struct run *r)
{
	struct chunk_work *w = chunk_work(r);
	const json_t *queued_at =
		json_object_get(r->from.pending, CHUNK_QUEUED_AT);

	/* A table that was rebuilt, or is another one: a position in the middle
	 * of it says nothing. */
	if (json_integer_value(queued_at) != w->chunk->queued_at ||
	    !json_equal(r->from.identity, r->identity))
		watermark_forget(&r->from);
	w->rows = r->from.value ? json_integer_value(json_object_get(
					  r->from.pending, CHUNK_ROWS))
				: 0;
	chunk_rows_begin(&w->read, w->form, r->p, &r->schema, !r->from.value);
}

/* How many rows the chunk has with this batch. */
static const char *chunk_mark(struct run *r, const struct batch *b,
			      struct watermark *mark)
{
	const struct chunk_work *w = chunk_work(r);
	json_int_t rows = w->rows + (int64_t)b->n_rows;
	json_int_t queued_at = w->chunk->queued_at;

	json_decref(mark->pending);
	mark->pending = json_pack("{s:I, s:I}", CHUNK_ROWS, rows,
				  CHUNK_QUEUED_AT, queued_at);
	return r->delivered;
}

static void chunk_loaded(struct run *r, const struct batch *b)
{
	chunk_work(r)->rows += (int64_t)b->n_rows;
	chunk_rows_add(&chunk_work(r)->read, b);
}

/* A pause of the run is a pause of the chunk: `status` reads it in the store. A
 * pause that cannot be written now is no reason to stop. */
static void chunk_note_pause(const struct run_pace *r, void *ctx)
{
	struct chunk *c = ctx;
	struct error ignored = ERROR_INIT;
	bool held;

	if (!c->paused && !r->out->paused_text)
		return;
	xassign(&c->paused, r->out->paused_text);
	store_chunk_save(r->store, c, &held, &ignored);
}

static void chunk_begin(struct run_context *c, struct run_result *out)
{
	struct chunk_work *w = chunk_of(c->options->task);

	(void)out;
	c->pacing.note = chunk_note_pause;
	c->pacing.ctx = w->chunk;
	/* No session is in use yet. */
	if (w->form)
		chunk_learn_form(c, &w->range, w->form);
}

static int chunk_open_witness(struct run *r, struct error *err)
{
	struct chunk_work *w = chunk_work(r);
	int rc;

	if (w->witness)
		return 0;
	settings_source_spec(r->p, &w->witness_spec);
	rc = registry_open_connector(r->p->source, &w->witness, err);
	if (!rc)
		rc = range_describe(w->witness, r->p, &w->witness_spec,
				    &w->witness_mark, &w->witness_column,
				    &w->witness_schema, err);
	if (!rc)
		rc = range_settle(w->witness, &w->witness_spec,
				  &w->witness_mark, &w->witness_schema, err);
	return rc;
}

static void chunk_keys(const struct batch *b, struct strlist *keys)
{
	const struct schema *s = b->schema;

	for (size_t row = 0; row < b->n_rows; row++)
		for (size_t i = 0; i < s->n_key; i++) {
			struct strbuf text = STRBUF_INIT;

			value_print(&text, &b->vectors[s->key[i]], row);
			strlist_add(keys, text.data);
			strbuf_release(&text);
		}
}

static int chunk_read_again(struct chunk_work *w, const struct strlist *keys,
			    struct digest *out, struct error *err)
{
	const struct watermark none = { .strategy = w->witness_mark.strategy };
	const struct scan scan = { .source = &w->witness_spec,
				   .schema = &w->witness_schema,
				   .mark = &w->witness_mark,
				   .from = &none,
				   .keys = keys };
	struct batch b;
	int rc = w->witness->ops->scan(w->witness, &scan, err);

	batch_init(&b, &w->witness_schema);
	while (!rc) {
		batch_reset(&b);
		rc = w->witness->ops->next(w->witness, &b, err);
		if (rc || !b.n_rows)
			break;
		digest_add_batch(out, &b);
	}
	batch_release(&b);
	return rc;
}

/* The load is about to write the source's present version as its last step.
 * Another writer that loaded a different version before has loaded an older
 * one. A writer that is about to waits for the locks of this transaction. */
static int chunk_unchanged(struct run *r, struct error *err)
{
	struct chunk_work *w = chunk_work(r);
	struct digest loaded = { 0, 0, 0 }, now = { 0, 0, 0 };
	struct strlist keys = STRLIST_INIT;
	int rc = chunk_open_witness(r, err);

	chunk_keys(w->loading, &keys);
	digest_add_batch(&loaded, w->loading);
	if (!rc)
		rc = chunk_read_again(w, &keys, &now, err);
	strlist_release(&keys);
	if (rc || digest_equal(&loaded, &now))
		return rc;
	w->task.most_rows = w->loading->n_rows / 2 + 1;
	chunk_own(r);
	return error_set(err, ERROR_TRANSIENT,
			 "rows of the batch changed at the source while it was "
			 "loaded: it was rolled back, and is read again with "
			 "fewer rows");
}

static int chunk_check(void *ctx, struct error *err)
{
	struct run *r = ctx;
	const struct chunk_work *w = chunk_work(r);
	int rc = lease_keeper_check(r->keeper, err);

	if (rc || w->first_load || !w->loading || !w->loading->n_rows)
		return rc;
	/* Up to the settled mark the load itself lets no older version win.
	 * Past it a transaction that began before may have put the newest one
	 * there, with an older mark. */
	if (w->versioned && !w->unsettled)
		return 0;
	return chunk_unchanged(r, err);
}

static int chunk_prepare(struct run *r, struct error *err)
{
	int rc = run_claim(r, err);

	r->target.writer.check = chunk_check;
	r->target.writer.ctx = r;
	if (!rc)
		rc = run_prepare(r, err);
	if (!rc)
		chunk_resume(r);
	return rc;
}

/* The chunk's row at the destination goes. */
static int chunk_end_pass(struct run *r, const struct read_batch *last,
			  struct error *err)
{
	if (chunk_work(r)->first_load)
		chunk_first_position(r, &last->batch.watermark,
				     &chunk_work(r)->position);
	return r->destination->ops->forget(r->destination, &r->target, err);
}

static bool chunk_comes_again(const struct chunk *c, int rc)
{
	return error_may_pass((enum error_code) - rc) &&
	       c->attempts < CHUNK_ATTEMPTS;
}

static void chunk_end(struct chunk *c, const char *state, const char *code,
		      const char *message)
{
	free(c->state);
	free(c->error_code);
	free(c->error_message);
	free(c->paused);
	c->paused = NULL;
	c->state = xstrdup(state);
	c->error_code = xstrdup(code);
	c->error_message = xstrdup(message);
	c->ended_at = clock_now_us();
}

static int chunk_judge(struct run_context *c, int rc, struct error *err)
{
	struct chunk_work *w = chunk_of(c->options->task);
	struct chunk *chunk = w->chunk;

	chunk_release_witness(w);
	if (!rc && !w->first_load)
		rc = chunk_verify(c, &w->range, &w->read, w->form,
				  &chunk->checksum, err);
	run_pace_rest(&c->pacing);
	if (!rc) {
		chunk->rows = w->rows;
		if (w->first_load)
			xassign(&chunk->checksum, w->position);
		chunk_end(chunk, CHUNK_DONE, NULL, NULL);
	} else if (rc == -ERROR_STOPPED || rc == -ERROR_STATE ||
		   ((w->first_load || c->options->yields) &&
		    pool_is_full(err))) {
		/* Not its own fault: it waits for another turn. */
		chunk->attempts--;
		chunk_end(chunk, CHUNK_QUEUED, NULL, NULL);
	} else {
		chunk_end(chunk,
			  chunk_comes_again(chunk, rc) ? CHUNK_QUEUED
						       : CHUNK_FAILED,
			  error_code_name(err->code), err->message);
	}
	return rc;
}

/* Compare both sides, and write down in the store what has become of the
 * chunk. */
static int chunk_done(struct run_context *c, struct run_result *out, int rc,
		      struct error *err)
{
	struct chunk *chunk = chunk_of(c->options->task)->chunk;
	struct error unsaved = ERROR_INIT;
	bool held = false;

	(void)out;
	/* Whoever has it now will say; unless it is the target that another
	 * one holds locked. */
	if (rc == -ERROR_STATE && lease_keeper_check(&c->keeper, &unsaved))
		return rc;
	rc = chunk_judge(c, rc, err);
	if (store_chunk_save(c->store, chunk, &held, &unsaved)) {
		log_warn("what became of the chunk could not be written down, "
			 "and it will be done again: %s",
			 unsaved.message);
		if (!rc)
			*err = unsaved;
		return rc ? rc : -(int)unsaved.code;
	}
	if (!rc && !held)
		rc = error_set(err, ERROR_STATE,
			       "another worker has taken the chunk over");
	return rc;
}

static const struct task_ops chunk_ops = {
	.traits = TASK_MOVES_MARK | TASK_WRITES | TASK_PACED | TASK_OWN_LEASE,
	.begin = chunk_begin,
	.held = task_no_held,
	.init = task_no_init,
	.describe = chunk_describe,
	.locate = chunk_find_settled,
	.prepare = chunk_prepare,
	.bound = chunk_trust_settled,
	.begun = task_no_step,
	.mark = chunk_mark,
	.batch_id = task_no_batch_id,
	.loading = chunk_loading,
	.loaded = chunk_loaded,
	.finish = chunk_end_pass,
	.again = task_no_again,
	.end = chunk_done,
};

void chunk_work_init(struct chunk_work *w, struct chunk *c)
{
	memset(w, 0, sizeof(*w));
	w->task = (struct task){ .ops = &chunk_ops,
				 .name = c->chunk_id,
				 .holder = c->holder };
	w->chunk = c;
	w->range = (struct range){ c->range_from, c->range_to, c->nulls };
	schema_init(&w->witness_schema);
}
