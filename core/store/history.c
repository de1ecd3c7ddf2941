#include "core/store/history.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"
#include "core/store/attempt_fields.h"
#include "core/store/session.h"

void attempt_init(struct attempt *a)
{
	memset(a, 0, sizeof(*a));
}

void attempt_release(struct attempt *a)
{
	if (!a)
		return;
	free(a->attempt_id);
	free(a->run_id);
	free(a->pipeline);
	free(a->tenant);
	free(a->state);
	free(a->outcome);
	free(a->host);
	free(a->watermark_before);
	free(a->watermark_after);
	free(a->guarantee);
	free(a->guarantee_reason);
	free(a->error_code);
	free(a->error_message);
	free(a->paused);
	attempt_init(a);
}

void attempt_list_release(struct attempt_list *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->n; i++)
		attempt_release(&list->items[i]);
	free(list->items);
	memset(list, 0, sizeof(*list));
}

void run_list_release(struct run_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		struct run_record *r = &list->items[i];

		free(r->run_id);
		free(r->pipeline);
		free(r->tenant);
		free(r->window_from);
		free(r->window_to);
		free(r->state);
	}
	free(list->items);
	memset(list, 0, sizeof(*list));
}

void batch_list_release(struct batch_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		struct batch_record *b = &list->items[i];

		free(b->attempt_id);
		free(b->batch_id);
		free(b->pipeline);
		free(b->window_from);
		free(b->watermark);
		free(b->error_code);
		free(b->error_message);
	}
	free(list->items);
	memset(list, 0, sizeof(*list));
}

static const char runs_sql[] =
	"SELECT run_id, pipeline, tenant, logic_version, window_from,\n"
	"  window_to, state, created_at, updated_at FROM runs WHERE 1 = 1";

static const char attempts_sql[] =
	"SELECT " ATTEMPT_COLUMNS " FROM attempts WHERE 1 = 1";

static const char batches_sql[] =
	"SELECT b.attempt_id, b.number, b.batch_id, b.pipeline,\n"
	"  b.window_from, b.watermark, b.rows_read, b.rows_inserted,\n"
	"  b.rows_updated, b.rows_unchanged, b.rows_deleted, b.read_us,\n"
	"  b.load_us, b.loaded_at, b.error_code, b.error_message,\n"
	"  b.rows_dead_lettered\n"
	"FROM batches AS b JOIN attempts AS a USING (attempt_id)\n"
	"WHERE a.run_id = $1\n"
	"ORDER BY a.seq, b.number";

/* The filter behind "WHERE 1 = 1", newest first. */
static int history_query(struct store *s, const char *select, const char *shape,
			 const char *order, const struct run_filter *f,
			 store_row row, void *ctx, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	char limit[STORE_NUMBER_SIZE];
	const char *params[3];
	int n = 0, rc;

	strbuf_addstr(&sql, select);
	if (f->pipeline) {
		params[n++] = f->pipeline;
		strbuf_addf(&sql, " AND pipeline = $%d", n);
	}
	if (f->run_id) {
		params[n++] = f->run_id;
		strbuf_addf(&sql, " AND run_id = $%d", n);
	}
	params[n++] = store_number(limit, f->limit);
	strbuf_addf(&sql, "\nORDER BY %s LIMIT $%d", order, n);
	rc = store_run(s, sql.data, params, n, shape, row, ctx, err);
	strbuf_release(&sql);
	return rc;
}

static int history_note_attempt(void *ctx, const char *const *values,
				struct error *err)
{
	struct attempt_list *list = ctx;
	struct attempt *a;

	(void)err;
	list->items = xgrow(list->items, &list->capacity, list->n + 1,
			    sizeof(*list->items));
	a = &list->items[list->n++];
	attempt_init(a);
	attempt_from_texts(a, values);
	return 0;
}

int store_attempts_list(struct store *s, const struct run_filter *filter,
			struct attempt_list *out, struct error *err)
{
	return history_query(s, attempts_sql, ATTEMPT_SHAPE,
			     filter->pipeline
				     ? "seq DESC"
				     : "started_at DESC, attempt_id DESC",
			     filter, history_note_attempt, out, err);
}

static int history_note_run(void *ctx, const char *const *values,
			    struct error *err)
{
	struct run_list *list = ctx;

	(void)err;
	list->items = xgrow(list->items, &list->capacity, list->n + 1,
			    sizeof(*list->items));
	list->items[list->n++] = (struct run_record){
		.run_id = xstrdup(values[0]),
		.pipeline = xstrdup(values[1]),
		.tenant = xstrdup(values[2]),
		.logic_version = store_number_of(values[3]),
		.window_from = xstrdup(values[4]),
		.window_to = xstrdup(values[5]),
		.state = xstrdup(values[6]),
		.created_at = store_number_of(values[7]),
		.updated_at = store_number_of(values[8]),
	};
	return 0;
}

int store_runs_list(struct store *s, const struct run_filter *filter,
		    struct run_list *out, struct error *err)
{
	return history_query(s, runs_sql, "tttt??ttt",
			     "created_at DESC, run_id DESC", filter,
			     history_note_run, out, err);
}

static int history_note_batch(void *ctx, const char *const *values,
			      struct error *err)
{
	struct batch_list *list = ctx;

	(void)err;
	list->items = xgrow(list->items, &list->capacity, list->n + 1,
			    sizeof(*list->items));
	list->items[list->n++] = (struct batch_record){
		.attempt_id = xstrdup(values[0]),
		.number = store_number_of(values[1]),
		.batch_id = xstrdup(values[2]),
		.pipeline = xstrdup(values[3]),
		.window_from = xstrdup(values[4]),
		.watermark = xstrdup(values[5]),
		.rows = store_number_of(values[6]),
		.inserted = store_number_of(values[7]),
		.updated = store_number_of(values[8]),
		.unchanged = store_number_of(values[9]),
		.deleted = store_number_of(values[10]),
		.read_us = store_number_of(values[11]),
		.load_us = store_number_of(values[12]),
		.at = store_number_of(values[13]),
		.error_code = xstrdup(values[14]),
		.error_message = xstrdup(values[15]),
		.dead_lettered = store_number_of(values[16]),
	};
	return 0;
}

int store_batches_list(struct store *s, const char *run_id,
		       struct batch_list *out, struct error *err)
{

	return store_run(s, batches_sql, &run_id, 1, "tttt??tttttttt??t",
			 history_note_batch, out, err);
}
