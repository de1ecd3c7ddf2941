#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/process.h"
#include "core/base/secret.h"
#include "core/store/attempt_fields.h"
#include "core/store/history.h"
#include "core/store/pipelines.h"
#include "core/store/session.h"

/* A run's state is that of its newest attempt. */
static const char save_run_sql[] =
	"INSERT INTO runs (run_id, pipeline, tenant, logic_version,\n"
	"                  window_from, window_to, state, created_at,\n"
	"                  updated_at)\n"
	"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)\n"
	"ON CONFLICT (run_id) DO UPDATE SET\n"
	"  window_to = coalesce(excluded.window_to, runs.window_to),\n"
	"  updated_at = excluded.updated_at, state = excluded.state\n"
	"WHERE NOT EXISTS (SELECT 1 FROM attempts AS a\n"
	"                  WHERE a.run_id = excluded.run_id\n"
	"                    AND a.seq > (SELECT seq FROM attempts\n"
	"                                 WHERE attempt_id = $10))";

/* One that another has closed as lost does not run again, whatever it has not
 * noticed yet. Its own end is the last word. */
static const char save_attempt_sql[] =
	"INSERT INTO attempts (" ATTEMPT_COLUMNS ", process_start, seq)\n"
	"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,\n"
	"        $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25,\n"
	"        $26, $27, $28, $29, (SELECT coalesce(max(a.seq), 0) + 1\n"
	"              FROM attempts AS a WHERE a.pipeline = $3))\n"
	"ON CONFLICT (attempt_id) DO UPDATE SET\n"
	"  state = excluded.state, outcome = excluded.outcome,\n"
	"  ended_at = excluded.ended_at,\n"
	"  heartbeat_at = excluded.heartbeat_at,\n"
	"  batches = excluded.batches, rows_read = excluded.rows_read,\n"
	"  rows_inserted = excluded.rows_inserted,\n"
	"  rows_updated = excluded.rows_updated,\n"
	"  rows_unchanged = excluded.rows_unchanged,\n"
	"  rows_deleted = excluded.rows_deleted,\n"
	"  rows_dead_lettered = excluded.rows_dead_lettered,\n"
	"  watermark_before = excluded.watermark_before,\n"
	"  watermark_after = excluded.watermark_after,\n"
	"  guarantee = excluded.guarantee,\n"
	"  guarantee_reason = excluded.guarantee_reason,\n"
	"  error_code = excluded.error_code,\n"
	"  error_message = excluded.error_message, paused = excluded.paused,\n"
	"  progress = excluded.progress\n"
	"WHERE attempts.state = 'RUNNING' OR excluded.state <> 'RUNNING'";

/* A batch saved twice (a commit whose answer was lost) is one batch. */
static const char save_batch_sql[] =
	"INSERT INTO batches (attempt_id, number, batch_id, pipeline,\n"
	"                     watermark, rows_read, rows_inserted,\n"
	"                     rows_updated, rows_unchanged, rows_deleted,\n"
	"                     read_us, load_us, loaded_at, window_from,\n"
	"                     error_code, error_message,\n"
	"                     rows_dead_lettered)\n"
	"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,\n"
	"        $14, $15, $16, $17)\n"
	"ON CONFLICT (attempt_id, number) DO UPDATE SET\n"
	"  batch_id = excluded.batch_id, watermark = excluded.watermark,\n"
	"  rows_read = excluded.rows_read,\n"
	"  rows_inserted = excluded.rows_inserted,\n"
	"  rows_updated = excluded.rows_updated,\n"
	"  rows_unchanged = excluded.rows_unchanged,\n"
	"  rows_deleted = excluded.rows_deleted,\n"
	"  read_us = excluded.read_us, load_us = excluded.load_us,\n"
	"  loaded_at = excluded.loaded_at,\n"
	"  window_from = excluded.window_from,\n"
	"  error_code = excluded.error_code,\n"
	"  error_message = excluded.error_message,\n"
	"  rows_dead_lettered = excluded.rows_dead_lettered";

static int history_put_run(struct store *s, const struct attempt *a,
			   struct error *err)
{
	char version[STORE_NUMBER_SIZE], created[STORE_NUMBER_SIZE],
		now[STORE_NUMBER_SIZE];
	const char *params[] = {
		a->run_id,
		a->pipeline,
		a->tenant ? a->tenant : "",
		store_number(version, a->logic_version),
		a->watermark_before,
		a->watermark_after,
		a->state,
		store_number(created, a->started_at),
		store_number(now, clock_now_us()),
		a->attempt_id,
	};

	return store_exec(s, save_run_sql, params, ARRAY_SIZE(params), err);
}

static int history_put_attempt(struct store *s, const struct attempt *a,
			       struct error *err)
{
	const char *params[ATTEMPT_FIELDS + 1];
	struct field_texts texts;
	char *start = a->pid == getpid() ? process_mark() : xstrdup("");
	int rc = history_put_run(s, a, err);

	attempt_to_texts(a, &texts);
	memcpy(params, texts.values, sizeof(texts.values));
	params[ATTEMPT_FIELDS] = start;
	if (!rc)
		rc = store_exec(s, save_attempt_sql, params, ATTEMPT_FIELDS + 1,
				err);
	field_texts_release(&texts);
	free(start);
	return rc;
}

int store_attempt_save(struct store *s, const struct attempt *a,
		       struct error *err)
{
	int rc = s->ops->begin(s, STORE_USUAL, err);

	if (rc)
		return rc;
	return store_end(s, history_put_attempt(s, a, err), err);
}

static int history_put_batch(struct store *s, const struct batch_record *b,
			     struct error *err)
{
	char *message = xstrdup(b->error_message);
	char n[10][STORE_NUMBER_SIZE];
	const char *params[] = {
		b->attempt_id,
		store_number(n[0], b->number),
		b->batch_id,
		b->pipeline,
		b->watermark,
		store_number(n[1], b->rows),
		store_number(n[2], b->inserted),
		store_number(n[3], b->updated),
		store_number(n[4], b->unchanged),
		store_number(n[5], b->deleted),
		store_number(n[6], b->read_us),
		store_number(n[7], b->load_us),
		store_number(n[8], b->at),
		b->window_from,
		b->error_code,
		message,
		store_number(n[9], b->dead_lettered),
	};
	int rc;

	if (message)
		secret_scrub(message);
	rc = store_exec(s, save_batch_sql, params, ARRAY_SIZE(params), err);
	free(message);
	return rc;
}

int store_batch_save(struct store *s, const struct batch_record *b,
		     const struct attempt *a, const char *mark,
		     struct error *err)
{
	int rc = s->ops->begin(s, STORE_USUAL, err);

	if (rc)
		return rc;
	rc = history_put_attempt(s, a, err);
	if (!rc)
		rc = history_put_batch(s, b, err);
	if (!rc && mark)
		rc = store_mark_set(s, b->pipeline, b->attempt_id, mark, err);
	return store_end(s, rc, err);
}

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

/* Another try was to come, and never came. */
static const char close_retried_sql[] =
	"UPDATE attempts SET outcome = 'failed'\n"
	"WHERE pipeline = $1 AND outcome = 'retried'\n"
	"  AND seq = (SELECT max(a.seq) FROM attempts AS a\n"
	"             WHERE a.pipeline = $1)";

static const char old_sql[] =
	"SELECT 1 FROM attempts WHERE started_at < $1 LIMIT 1";

/* $1: what began before is old. The newest of a pipeline stays: `status` and
 * `runs` show it however long ago it was. So does a failure that nothing has
 * mended: it fails still. */
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
	"                AND n.seq > attempts.seq\n"
	"                AND (attempts.outcome <> 'failed' OR n.aside = 0\n"
	"                     AND n.outcome IN ('failed', 'caught_up')))";

static const char prune_runs_sql[] =
	"DELETE FROM runs WHERE created_at < $1 AND NOT EXISTS (\n"
	"  SELECT 1 FROM attempts AS a WHERE a.run_id = runs.run_id)";

static const char prune_chunks_sql[] =
	"DELETE FROM chunks WHERE queued_at < $1 AND NOT EXISTS (\n"
	"  SELECT 1 FROM chunks AS o\n"
	"  WHERE o.backfill_id = chunks.backfill_id\n"
	"    AND (o.state <> 'done' OR o.ended_at >= $1))";

static const char prune_events_sql[] =
	"DELETE FROM control_events WHERE at < $1";

static const char prune_hooks_sql[] =
	"DELETE FROM hook_runs WHERE started_at < $1 AND NOT EXISTS (\n"
	"  SELECT 1 FROM attempts AS a\n"
	"  WHERE a.attempt_id = hook_runs.attempt_id)";

/* Where a pipeline has not run since, it is gone, or nothing is news. */
static const char prune_notices_sql[] =
	"DELETE FROM notices WHERE changed_at < $1 AND claim_until < $1\n"
	"  AND NOT EXISTS (SELECT 1 FROM attempts AS a\n"
	"                  WHERE a.pipeline = notices.pipeline\n"
	"                    AND a.started_at >= $1)";

static int history_close(struct store *s, const struct attempt *a, bool gone,
			 struct error *err)
{
	char now[STORE_NUMBER_SIZE];
	char *message = xstrfmt(
		"process %" PRId64 " on %s %s", a->pid, a->host,
		gone ? "ended without a word: killed"
		     : "lost its lease without a word: it was paused, cut off "
		       "from the state store, or killed");
	const char *attempt[] = { store_number(now, clock_now_us()),
				  gone ? "killed" : "lost", message,
				  a->attempt_id };
	const char *run[] = { now, a->run_id };
	int rc = store_exec(s, close_attempt_sql, attempt, 4, err);

	if (!rc)
		rc = store_exec(s, close_run_sql, run, 2, err);
	free(message);
	return rc;
}

struct running {
	struct attempt_list attempts;
	bool *gone;
	size_t capacity;
};

static int history_note_running(void *ctx, const char *const *values,
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
	a->pid = store_number_of(values[3]);
	r->gone[list->n++] = process_mark_is_gone(a->pid, values[4]);
	return 0;
}

int store_attempts_close(struct store *s, const char *pipeline,
			 struct error *err)
{
	struct running running = { { NULL, 0, 0 }, NULL, 0 };
	int rc = store_run(s, running_sql, &pipeline, 1, "ttttt",
			   history_note_running, &running, err);

	for (size_t i = 0; !rc && i < running.attempts.n; i++)
		rc = history_close(s, &running.attempts.items[i],
				   running.gone[i], err);
	if (!rc)
		rc = store_exec(s, close_retried_sql, &pipeline, 1, err);
	attempt_list_release(&running.attempts);
	free(running.gone);
	return rc;
}

/* One that did nothing, and its neighbours did it in the same way: the next in
 * the same five minutes. */
static const char thin_sql[] =
	"DELETE FROM attempts WHERE started_at >= $1 AND started_at < $2\n"
	"  AND outcome IN ('caught_up', 'waiting') AND batches = 0\n"
	"  AND EXISTS (SELECT 1 FROM attempts AS n\n"
	"    WHERE n.pipeline = attempts.pipeline AND n.batches = 0\n"
	"      AND n.outcome = attempts.outcome\n"
	"      AND n.started_at / 300000000 = attempts.started_at / 300000000\n"
	"      AND n.seq = (SELECT min(m.seq) FROM attempts AS m\n"
	"        WHERE m.pipeline = attempts.pipeline\n"
	"          AND m.seq > attempts.seq))\n"
	"  AND EXISTS (SELECT 1 FROM attempts AS p\n"
	"    WHERE p.pipeline = attempts.pipeline AND p.batches = 0\n"
	"      AND p.outcome = attempts.outcome\n"
	"      AND p.seq = (SELECT max(m.seq) FROM attempts AS m\n"
	"        WHERE m.pipeline = attempts.pipeline\n"
	"          AND m.seq < attempts.seq))";

int store_history_thin(struct store *s, int64_t keep_us, int64_t span_us,
		       struct error *err)
{
	int64_t end = clock_now_us() - keep_us;
	char from[STORE_NUMBER_SIZE], to[STORE_NUMBER_SIZE];
	const char *params[] = { store_number(from, end - span_us),
				 store_number(to, end) };

	return store_exec(s, thin_sql, params, ARRAY_SIZE(params), err);
}

int store_history_prune(struct store *s, int64_t keep_us, struct error *err)
{
	char before[STORE_NUMBER_SIZE];
	const char *params[] = { store_number(before,
					      clock_now_us() - keep_us) };
	const char *steps[] = { prune_batches_sql, prune_attempts_sql,
				prune_runs_sql,	   prune_chunks_sql,
				prune_events_sql,  prune_notices_sql,
				prune_hooks_sql };
	bool old = false;
	int rc = store_run(s, old_sql, params, 1, "t", store_note_any, &old,
			   err);

	if (rc || !old)
		return rc;
	rc = s->ops->begin(s, STORE_USUAL, err);
	for (size_t i = 0; !rc && i < ARRAY_SIZE(steps); i++)
		rc = store_exec(s, steps[i], params, 1, err);
	return store_end(s, rc, err);
}
