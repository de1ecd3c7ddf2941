#include "stores/common/sql_store.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/process.h"
#include "core/base/secret.h"
#include "stores/common/attempt_fields.h"

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

static const char save_attempt_sql[] =
	"INSERT INTO attempts (" ATTEMPT_COLUMNS ", process_start, seq)\n"
	"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,\n"
	"        $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25,\n"
	"        $26, $27, $28, (SELECT coalesce(max(a.seq), 0) + 1\n"
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
	"  progress = excluded.progress";

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

/* Whoever wakes up past its lease does not put it back. */
static const char save_watermark_sql[] =
	"INSERT INTO watermarks (pipeline, watermark, updated_at)\n"
	"SELECT CAST($1 AS text), $2, CAST($3 AS bigint)\n"
	"WHERE NOT EXISTS (SELECT 1 FROM attempts AS a\n"
	"                  WHERE a.pipeline = $1\n"
	"                    AND a.seq > (SELECT seq FROM attempts\n"
	"                                 WHERE attempt_id = $4))\n"
	"ON CONFLICT (pipeline) DO UPDATE SET\n"
	"  watermark = excluded.watermark, updated_at = excluded.updated_at";

static const char get_watermark_sql[] =
	"SELECT watermark FROM watermarks WHERE pipeline = $1";

static const char create_migrations_sql[] =
	"CREATE TABLE IF NOT EXISTS " STORE_MIGRATIONS_TABLE " (\n"
	"  number bigint PRIMARY KEY, name text NOT NULL,\n"
	"  checksum text NOT NULL, applied_at bigint NOT NULL)";

static const char list_migrations_sql[] =
	"SELECT number, name, checksum FROM " STORE_MIGRATIONS_TABLE "\n"
	"ORDER BY number";

static const char save_migration_sql[] =
	"INSERT INTO " STORE_MIGRATIONS_TABLE
	"  (number, name, checksum, applied_at)\n"
	"VALUES ($1, $2, $3, $4)";

struct migration_state {
	const struct sql_store *store;
	int version; /* last one applied */
	bool has_table;
	char *foreign; /* a table that is not ours, or NULL */
};

static int sql_store_note_table(void *ctx, const char *const *values,
				struct error *err)
{
	struct migration_state *m = ctx;

	(void)err;
	if (strcmp(values[0], STORE_MIGRATIONS_TABLE) == 0)
		m->has_table = true;
	else if (!m->foreign)
		m->foreign = xstrdup(values[0]);
	return 0;
}

static int sql_store_note_migration(void *ctx, const char *const *values,
				    struct error *err)
{
	struct migration_state *m = ctx;
	int number = (int)strtol(values[0], NULL, 10);
	int rc = migrations_check_applied(m->store->known, m->version, number,
					  values[1], values[2], m->store->where,
					  err);

	m->version = number;
	return rc;
}

/* Which migrations has this database seen, and may we go on? */
static int sql_store_look(struct sql_store *s, int *version, struct error *err)
{
	struct migration_state m = { .store = s };
	int rc = s->session->run(s, s->session->tables_sql, NULL, 0, "t",
				 sql_store_note_table, &m, err);

	if (!rc && !m.has_table && m.foreign)
		rc = error_set(err, ERROR_CONFIG,
			       "%s is not a Tidemark state store: it has a "
			       "table %s, but no " STORE_MIGRATIONS_TABLE
			       ". Choose another place under `state`",
			       s->where, m.foreign);
	if (!rc && m.has_table)
		rc = s->session->run(s, list_migrations_sql, NULL, 0, "ttt",
				     sql_store_note_migration, &m, err);
	free(m.foreign);
	*version = m.version;
	return rc;
}

int sql_store_damaged(int rc, const char *cure, struct error *err)
{
	if (rc != -ERROR_SCHEMA || !err)
		return rc;
	err->code = ERROR_ACCESS;
	return error_hint(err,
			  "a table of the state store was dropped or changed, "
			  "%s. A new one is made; no mark is lost: the next "
			  "run goes on from the one at the destination",
			  cure);
}

int sql_store_version(struct store *base, int *version, struct error *err)
{
	return sql_store_look((struct sql_store *)base, version, err);
}

static int sql_store_apply_locked(struct sql_store *s, int *version,
				  bool *applied, struct error *err)
{
	const struct migration *m;
	char number[FIELD_TEXT_SIZE], now[FIELD_TEXT_SIZE];
	const char *params[] = { number, NULL, NULL, now };
	int rc = sql_store_look(s, version, err);

	if (rc || *version >= s->known->n)
		return rc;
	m = &s->known->items[*version];
	field_number(number, m->number);
	field_number(now, clock_now_us());
	params[1] = m->name;
	params[2] = m->checksum;
	rc = s->session->script(s, create_migrations_sql, err);
	if (!rc)
		rc = s->session->script(s, m->sql, err);
	if (!rc)
		rc = s->session->run(s, save_migration_sql, params, 4, NULL,
				     NULL, NULL, err);
	*version = m->number;
	*applied = true;
	return rc ? error_prefix(err, "migration %d (%s)", m->number, m->name)
		  : 0;
}

/* The next migration, unless another process has just applied it. */
static int sql_store_apply_next(struct sql_store *s, int *applied, int *version,
				struct error *err)
{
	bool done = false;
	int rc = s->session->begin_migration(s, err);

	if (!rc)
		rc = sql_store_apply_locked(s, version, &done, err);
	if (!rc)
		rc = s->session->commit(s, err);
	if (rc)
		s->session->rollback(s);
	else if (done)
		(*applied)++;
	return rc;
}

int sql_store_migrate(struct store *base, int *applied, int *version,
		      struct error *err)
{
	struct sql_store *s = (struct sql_store *)base;
	int rc;

	*applied = 0;
	/* Without the lock: nearly always there is nothing to do. */
	rc = sql_store_look(s, version, err);
	while (!rc && *version < s->known->n)
		rc = sql_store_apply_next(s, applied, version, err);
	return rc;
}

static int sql_store_put_run(struct sql_store *s, const struct attempt *a,
			     struct error *err)
{
	char version[FIELD_TEXT_SIZE], created[FIELD_TEXT_SIZE],
		now[FIELD_TEXT_SIZE];
	const char *params[] = {
		a->run_id,
		a->pipeline,
		a->tenant ? a->tenant : "",
		field_number(version, a->logic_version),
		a->watermark_before,
		a->watermark_after,
		a->state,
		field_number(created, a->started_at),
		field_number(now, clock_now_us()),
		a->attempt_id,
	};

	return s->session->run(s, save_run_sql, params, ARRAY_SIZE(params),
			       NULL, NULL, NULL, err);
}

static int sql_store_put_attempt(struct sql_store *s, const struct attempt *a,
				 struct error *err)
{
	const char *params[ATTEMPT_FIELDS + 1];
	struct field_texts texts;
	char *start = a->pid == getpid() ? process_mark() : xstrdup("");
	int rc = sql_store_put_run(s, a, err);

	attempt_to_texts(a, &texts);
	memcpy(params, texts.values, sizeof(texts.values));
	params[ATTEMPT_FIELDS] = start;
	if (!rc)
		rc = s->session->run(s, save_attempt_sql, params,
				     ATTEMPT_FIELDS + 1, NULL, NULL, NULL, err);
	field_texts_release(&texts);
	free(start);
	return rc;
}

int sql_store_end(struct sql_store *s, int rc, struct error *err)
{
	if (!rc)
		rc = s->session->commit(s, err);
	if (rc)
		s->session->rollback(s);
	return rc;
}

int sql_store_save_attempt(struct store *base, const struct attempt *a,
			   struct error *err)
{
	struct sql_store *s = (struct sql_store *)base;
	int rc = s->session->begin(s, err);

	if (rc)
		return rc;
	return sql_store_end(s, sql_store_put_attempt(s, a, err), err);
}

static int sql_store_put_batch(struct sql_store *s,
			       const struct batch_record *b, struct error *err)
{
	char *message = xstrdup(b->error_message);
	char n[10][FIELD_TEXT_SIZE];
	const char *params[] = {
		b->attempt_id,
		field_number(n[0], b->number),
		b->batch_id,
		b->pipeline,
		b->watermark,
		field_number(n[1], b->rows),
		field_number(n[2], b->inserted),
		field_number(n[3], b->updated),
		field_number(n[4], b->unchanged),
		field_number(n[5], b->deleted),
		field_number(n[6], b->read_us),
		field_number(n[7], b->load_us),
		field_number(n[8], b->at),
		b->window_from,
		b->error_code,
		message,
		field_number(n[9], b->dead_lettered),
	};
	int rc;

	if (message)
		secret_scrub(message);
	rc = s->session->run(s, save_batch_sql, params, ARRAY_SIZE(params),
			     NULL, NULL, NULL, err);
	free(message);
	return rc;
}

static int sql_store_put_watermark(struct sql_store *s, const char *pipeline,
				   const char *attempt_id,
				   const char *watermark, struct error *err)
{
	char now[FIELD_TEXT_SIZE];
	const char *params[] = { pipeline, watermark,
				 field_number(now, clock_now_us()),
				 attempt_id };

	return s->session->run(s, save_watermark_sql, params,
			       ARRAY_SIZE(params), NULL, NULL, NULL, err);
}

int sql_store_save_batch(struct store *base, const struct batch_record *b,
			 const struct attempt *a, const char *mark,
			 struct error *err)
{
	struct sql_store *s = (struct sql_store *)base;
	int rc = s->session->begin(s, err);

	if (rc)
		return rc;
	rc = sql_store_put_attempt(s, a, err);
	if (!rc)
		rc = sql_store_put_batch(s, b, err);
	if (!rc && mark)
		rc = sql_store_put_watermark(s, b->pipeline, b->attempt_id,
					     mark, err);
	return sql_store_end(s, rc, err);
}

static int sql_store_note_watermark(void *ctx, const char *const *values,
				    struct error *err)
{
	char **out = ctx;

	(void)err;
	*out = xstrdup(values[0]);
	return 0;
}

int sql_store_get_watermark(struct store *base, const char *pipeline,
			    char **out, struct error *err)
{
	struct sql_store *s = (struct sql_store *)base;
	const char *params[] = { pipeline };

	*out = NULL;
	return s->session->run(s, get_watermark_sql, params, 1, "?",
			       sql_store_note_watermark, out, err);
}

int sql_store_set_watermark(struct store *base, const char *pipeline,
			    const char *attempt_id, const char *watermark,
			    struct error *err)
{
	return sql_store_put_watermark((struct sql_store *)base, pipeline,
				       attempt_id, watermark, err);
}
