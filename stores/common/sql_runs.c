#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/process.h"
#include "core/base/strbuf.h"
#include "stores/common/attempt_fields.h"
#include "stores/common/sql_store.h"

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

static const char running_sql[] =
	"SELECT attempt_id, run_id, host, pid, process_start FROM attempts\n"
	"WHERE state = 'RUNNING' AND pipeline = $1";

static const char close_attempt_sql[] =
	"UPDATE attempts SET state = 'FAILED', outcome = 'failed',\n"
	"  ended_at = $1, error_code = $2, error_message = $3\n"
	"WHERE attempt_id = $4 AND state = 'RUNNING'";

static const char close_run_sql[] =
	"UPDATE runs SET state = 'FAILED', updated_at = $1\n"
	"WHERE run_id = $2 AND state = 'RUNNING' AND NOT EXISTS (\n"
	"  SELECT 1 FROM attempts AS a\n"
	"  WHERE a.run_id = runs.run_id AND a.state = 'RUNNING')";

static const char old_sql[] =
	"SELECT 1 FROM attempts WHERE started_at < $1 LIMIT 1";

/* $1: what began before is old. The newest of a pipeline stays: `status` and
 * `runs` show it however long ago it was. */
static const char prune_batches_sql[] =
	"DELETE FROM batches WHERE attempt_id IN (\n"
	"  SELECT attempt_id FROM attempts AS a WHERE a.started_at < $1\n"
	"    AND EXISTS (SELECT 1 FROM attempts AS n\n"
	"                WHERE n.pipeline = a.pipeline\n"
	"                  AND n.seq > a.seq))";

static const char prune_attempts_sql[] =
	"DELETE FROM attempts WHERE started_at < $1\n"
	"  AND EXISTS (SELECT 1 FROM attempts AS n\n"
	"              WHERE n.pipeline = attempts.pipeline\n"
	"                AND n.seq > attempts.seq)";

static const char prune_runs_sql[] =
	"DELETE FROM runs WHERE created_at < $1 AND NOT EXISTS (\n"
	"  SELECT 1 FROM attempts AS a WHERE a.run_id = runs.run_id)";

/* The filter behind "WHERE 1 = 1", newest first. */
static int runs_query(struct sql_store *s, const char *select,
		      const char *shape, const char *order,
		      const struct run_filter *f, sql_row row, void *ctx,
		      struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	char limit[FIELD_TEXT_SIZE];
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
	params[n++] = field_number(limit, f->limit);
	strbuf_addf(&sql, "\nORDER BY %s LIMIT $%d", order, n);
	rc = s->session->run(s, sql.data, params, n, shape, row, ctx, err);
	strbuf_release(&sql);
	return rc;
}

static int runs_note_attempt(void *ctx, const char *const *values,
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

int sql_store_list_attempts(struct store *base, const struct run_filter *filter,
			    struct attempt_list *out, struct error *err)
{
	return runs_query((struct sql_store *)base, attempts_sql, ATTEMPT_SHAPE,
			  filter->pipeline ? "seq DESC"
					   : "started_at DESC, attempt_id DESC",
			  filter, runs_note_attempt, out, err);
}

static const char prune_chunks_sql[] =
	"DELETE FROM chunks WHERE queued_at < $1 AND NOT EXISTS (\n"
	"  SELECT 1 FROM chunks AS o\n"
	"  WHERE o.backfill_id = chunks.backfill_id\n"
	"    AND (o.state <> 'done' OR o.ended_at >= $1))";

static int64_t runs_number(const char *text)
{
	return text ? strtoll(text, NULL, 10) : 0;
}

static int runs_note_run(void *ctx, const char *const *values,
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
		.logic_version = runs_number(values[3]),
		.window_from = xstrdup(values[4]),
		.window_to = xstrdup(values[5]),
		.state = xstrdup(values[6]),
		.created_at = runs_number(values[7]),
		.updated_at = runs_number(values[8]),
	};
	return 0;
}

int sql_store_list_runs(struct store *base, const struct run_filter *filter,
			struct run_list *out, struct error *err)
{
	return runs_query((struct sql_store *)base, runs_sql, "tttt??ttt",
			  "created_at DESC, run_id DESC", filter, runs_note_run,
			  out, err);
}

static int runs_note_batch(void *ctx, const char *const *values,
			   struct error *err)
{
	struct batch_list *list = ctx;

	(void)err;
	list->items = xgrow(list->items, &list->capacity, list->n + 1,
			    sizeof(*list->items));
	list->items[list->n++] = (struct batch_record){
		.attempt_id = xstrdup(values[0]),
		.number = runs_number(values[1]),
		.batch_id = xstrdup(values[2]),
		.pipeline = xstrdup(values[3]),
		.window_from = xstrdup(values[4]),
		.watermark = xstrdup(values[5]),
		.rows = runs_number(values[6]),
		.inserted = runs_number(values[7]),
		.updated = runs_number(values[8]),
		.unchanged = runs_number(values[9]),
		.deleted = runs_number(values[10]),
		.read_us = runs_number(values[11]),
		.load_us = runs_number(values[12]),
		.at = runs_number(values[13]),
		.error_code = xstrdup(values[14]),
		.error_message = xstrdup(values[15]),
		.dead_lettered = runs_number(values[16]),
	};
	return 0;
}

int sql_store_list_batches(struct store *base, const char *run_id,
			   struct batch_list *out, struct error *err)
{
	struct sql_store *s = (struct sql_store *)base;

	return s->session->run(s, batches_sql, &run_id, 1, "tttt??tttttttt??t",
			       runs_note_batch, out, err);
}

static int runs_close(struct sql_store *s, const struct attempt *a, bool gone,
		      struct error *err)
{
	char now[FIELD_TEXT_SIZE];
	char *message = xstrfmt(
		"process %" PRId64 " on %s %s", a->pid, a->host,
		gone ? "ended without a word: killed"
		     : "lost its lease without a word: it was paused, cut off "
		       "from the state store, or killed");
	const char *attempt[] = { field_number(now, clock_now_us()),
				  gone ? "killed" : "lost", message,
				  a->attempt_id };
	const char *run[] = { now, a->run_id };
	int rc = s->session->run(s, close_attempt_sql, attempt, 4, NULL, NULL,
				 NULL, err);

	if (!rc)
		rc = s->session->run(s, close_run_sql, run, 2, NULL, NULL, NULL,
				     err);
	free(message);
	return rc;
}

struct running {
	struct attempt_list attempts;
	bool *gone;
	size_t capacity;
};

static int runs_note_running(void *ctx, const char *const *values,
			     struct error *err)
{
	struct running *r = ctx;
	struct attempt_list *list = &r->attempts;
	struct attempt *a;

	(void)err;
	list->items = xgrow(list->items, &list->capacity, list->n + 1,
			    sizeof(*list->items));
	r->gone = xgrow(r->gone, &r->capacity, list->n + 1, sizeof(*r->gone));
	a = &list->items[list->n];
	attempt_init(a);
	a->attempt_id = xstrdup(values[0]);
	a->run_id = xstrdup(values[1]);
	a->host = xstrdup(values[2]);
	a->pid = runs_number(values[3]);
	r->gone[list->n++] = process_mark_is_gone(a->pid, values[4]);
	return 0;
}

int sql_store_close_attempts(struct store *base, const char *pipeline,
			     struct error *err)
{
	struct sql_store *s = (struct sql_store *)base;
	struct running running = { { NULL, 0, 0 }, NULL, 0 };
	int rc = s->session->run(s, running_sql, &pipeline, 1, "ttttt",
				 runs_note_running, &running, err);

	if (!rc && running.attempts.n) {
		rc = s->session->begin(s, err);
		for (size_t i = 0; !rc && i < running.attempts.n; i++)
			rc = runs_close(s, &running.attempts.items[i],
					running.gone[i], err);
		rc = sql_store_end(s, rc, err);
	}
	attempt_list_release(&running.attempts);
	free(running.gone);
	return rc;
}

static int runs_count(void *ctx, const char *const *values, struct error *err)
{
	(void)values;
	(void)err;
	++*(int *)ctx;
	return 0;
}

int sql_store_prune(struct store *base, int64_t keep_us, struct error *err)
{
	struct sql_store *s = (struct sql_store *)base;
	char before[FIELD_TEXT_SIZE];
	const char *params[] = { field_number(before,
					      clock_now_us() - keep_us) };
	const char *steps[] = { prune_batches_sql, prune_attempts_sql,
				prune_runs_sql, prune_chunks_sql };
	int old = 0;
	int rc = s->session->run(s, old_sql, params, 1, "t", runs_count, &old,
				 err);

	if (rc || !old)
		return rc;
	rc = s->session->begin(s, err);
	for (size_t i = 0; !rc && i < ARRAY_SIZE(steps); i++)
		rc = s->session->run(s, steps[i], params, 1, NULL, NULL, NULL,
				     err);
	return sql_store_end(s, rc, err);
}
