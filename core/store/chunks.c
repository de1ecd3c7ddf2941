#include "core/store/chunks.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/secret.h"
#include "core/base/strbuf.h"
#include "core/store/session.h"

void chunk_release(struct chunk *c)
{
	free(c->chunk_id);
	free(c->backfill_id);
	free(c->pipeline);
	free(c->config);
	free(c->column);
	free(c->window_from);
	free(c->window_to);
	free(c->range_from);
	free(c->range_to);
	free(c->state);
	free(c->holder);
	free(c->checksum);
	free(c->error_code);
	free(c->error_message);
	free(c->paused);
	memset(c, 0, sizeof(*c));
}

void chunk_list_release(struct chunk_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		chunk_release(&list->items[i]);
	free(list->items);
	memset(list, 0, sizeof(*list));
}

#define CHUNK_COLUMNS                                                          \
	"chunk_id, backfill_id, pipeline, config, column_name,\n"              \
	"  window_from, window_to, number, range_from, range_to, nulls,\n"     \
	"  row_count, state, attempts, holder, checksum, error_code,\n"        \
	"  error_message, queued_at, started_at, ended_at"
/* The shape of these columns, and of the reason why a chunk is paused. */
#define CHUNK_SHAPE "ttttt??t??ttttt???ttt?"

/* A worker that was killed, or has lost its lease, has no hold any more. @ is
 * the store's now. */
#define CHUNK_PAUSED                                                           \
	"CASE WHEN state = 'running' AND EXISTS (SELECT 1 FROM leases AS l\n"  \
	"  WHERE l.name = chunk_id AND l.holder = chunks.holder\n"             \
	"    AND l.until > @) THEN paused END"

static const char add_sql[] =
	"INSERT INTO chunks (" CHUNK_COLUMNS ")\n"
	"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,\n"
	"        $14, $15, $16, $17, $18, $19, $20, $21)\n"
	"ON CONFLICT (chunk_id) DO NOTHING";

static const char list_sql[] = "SELECT " CHUNK_COLUMNS ",\n  " CHUNK_PAUSED "\n"
			       "FROM chunks WHERE 1 = 1";

/* The first that waits; then those that may have lost their worker. While a
 * lease lasts, only the holder's own machine can tell that the holder is gone.
 * $3 is what the processes of ours have in common. */
#define CHUNK_QUEUED_SQL                                                       \
	"SELECT " CHUNK_COLUMNS ", NULL AS paused FROM chunks\n"               \
	"WHERE pipeline = $1 AND config = $2 AND state = 'queued'\n"           \
	"ORDER BY queued_at, backfill_id, number"
static const char queued_sql[] = CHUNK_QUEUED_SQL " LIMIT 1";
/* A machine may go between the two steps of giving back, the chunk and its
 * lease: others pass by what it leaves. */
static const char queued_more_sql[] = CHUNK_QUEUED_SQL " LIMIT 100";
#define CHUNK_RUNNING_HERE                                                     \
	"pipeline = $1 AND config = $2 AND state = 'running'\n"                \
	"  AND NOT EXISTS (SELECT 1 FROM leases AS l\n"                        \
	"    WHERE l.name = chunk_id AND l.until > @ AND substr(l.process,\n"  \
	"      1, length(CAST($3 AS text))) <> $3)"
static const char running_sql[] =
	"SELECT " CHUNK_COLUMNS ", NULL AS paused FROM chunks\n"
	"WHERE " CHUNK_RUNNING_HERE "\n"
	"ORDER BY queued_at, backfill_id, number";

static const char named_sql[] =
	"SELECT " CHUNK_COLUMNS ", NULL AS paused FROM chunks\n"
	"WHERE chunk_id = $1 AND state <> 'done'";

/* Is there anything to be claimed, or to be tidied up? Without a lock, and
 * without a look at the chunks that are done: nearly always there is not. */
static const char any_sql[] =
	"SELECT 1 FROM chunks\n"
	"WHERE pipeline = $1 AND config = $2 AND state = 'queued'\n"
	"UNION ALL SELECT 1 FROM chunks\n"
	"WHERE " CHUNK_RUNNING_HERE "\n"
	"UNION ALL SELECT 1 FROM leases JOIN chunks ON chunk_id = name\n"
	"WHERE until = 0 AND pipeline = $1 AND state = 'done' LIMIT 1";

static const char left_sql[] =
	"SELECT 1 FROM chunks WHERE pipeline = $1 AND config = $2\n"
	"  AND state IN ('queued', 'running') LIMIT 1";

static const char claim_sql[] =
	"UPDATE chunks SET state = 'running', holder = $1,\n"
	"  attempts = attempts + 1, started_at = $2, ended_at = 0,\n"
	"  paused = NULL\n"
	"WHERE chunk_id = $3";

static const char save_sql[] =
	"UPDATE chunks SET state = $1, row_count = $2, attempts = $3,\n"
	"  checksum = $4, error_code = $5, error_message = $6,\n"
	"  started_at = $7, ended_at = $8, paused = $9\n"
	"WHERE chunk_id = $10 AND holder = $11 RETURNING chunk_id";

/* Nobody asks for the lease of a finished chunk again. */
static const char leases_sql[] =
	"DELETE FROM leases WHERE until = 0 AND name IN (\n"
	"  SELECT chunk_id FROM chunks WHERE pipeline = $1\n"
	"    AND state = 'done')";
static const char forget_leases_sql[] =
	"DELETE FROM leases WHERE name IN (\n"
	"  SELECT chunk_id FROM chunks WHERE pipeline = $1\n"
	"    AND backfill_id = $2)";
static const char forget_sql[] =
	"DELETE FROM chunks WHERE pipeline = $1 AND backfill_id = $2";

static int chunk_note(void *ctx, const char *const *values, struct error *err)
{
	struct chunk_list *list = ctx;

	(void)err;
	list->items = xgrow(list->items, &list->capacity, list->n + 1,
			    sizeof(*list->items));
	list->items[list->n++] = (struct chunk){
		.chunk_id = xstrdup(values[0]),
		.backfill_id = xstrdup(values[1]),
		.pipeline = xstrdup(values[2]),
		.config = xstrdup(values[3]),
		.column = xstrdup(values[4]),
		.window_from = xstrdup(values[5]),
		.window_to = xstrdup(values[6]),
		.number = store_number_of(values[7]),
		.range_from = xstrdup(values[8]),
		.range_to = xstrdup(values[9]),
		.nulls = store_number_of(values[10]) != 0,
		.rows = store_number_of(values[11]),
		.state = xstrdup(values[12]),
		.attempts = store_number_of(values[13]),
		.holder = xstrdup(values[14]),
		.checksum = xstrdup(values[15]),
		.error_code = xstrdup(values[16]),
		.error_message = xstrdup(values[17]),
		.queued_at = store_number_of(values[18]),
		.started_at = store_number_of(values[19]),
		.ended_at = store_number_of(values[20]),
		.paused = xstrdup(values[21]),
	};
	return 0;
}

static int chunk_add(struct store *s, const struct chunk *c, struct error *err)
{
	char n[7][STORE_NUMBER_SIZE];
	const char *params[] = {
		c->chunk_id,
		c->backfill_id,
		c->pipeline,
		c->config,
		c->column,
		c->window_from,
		c->window_to,
		store_number(n[0], c->number),
		c->range_from,
		c->range_to,
		c->nulls ? "1" : "0",
		store_number(n[1], c->rows),
		c->state,
		store_number(n[2], c->attempts),
		c->holder,
		c->checksum,
		c->error_code,
		c->error_message,
		store_number(n[3], c->queued_at),
		store_number(n[4], c->started_at),
		store_number(n[5], c->ended_at),
	};

	return store_exec(s, add_sql, params, ARRAY_SIZE(params), err);
}

int store_chunks_list(struct store *s, const char *pipeline,
		      struct chunk_list *out, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc;

	strbuf_addstr(&sql, list_sql);
	if (pipeline)
		strbuf_addstr(&sql, " AND pipeline = $1");
	strbuf_addstr(&sql, "\nORDER BY pipeline, queued_at, backfill_id, "
			    "number");
	rc = store_run(s, sql.data, &pipeline, pipeline ? 1 : 0, CHUNK_SHAPE,
		       chunk_note, out, err);
	strbuf_release(&sql);
	return rc;
}

int store_chunks_left(struct store *s, const char *pipeline, const char *config,
		      bool *left, struct error *err)
{
	const char *of[] = { pipeline, config };

	*left = false;
	return store_run(s, left_sql, of, 2, "t", store_note_any, left, err);
}

/* With the lock of all who add: what is there is there until the end. */
static int chunk_judge(struct store *s, const char *pipeline,
		       const struct chunk_rule *rule, bool *add,
		       struct error *err)
{
	struct chunk_list known = { NULL, 0, 0 };
	int rc = store_chunks_list(s, pipeline, &known, err);

	if (!rc)
		rc = rule->judge(rule->ctx, &known, add, err);
	chunk_list_release(&known);
	return rc;
}

int store_chunks_add(struct store *s, const struct chunk_list *chunks,
		     const struct chunk_rule *rule, struct error *err)
{
	const char *lock = s->ops->dialect->lock_chunks_sql;
	bool add = true;
	int rc = chunks->n ? s->ops->begin(s, STORE_USUAL, err) : 0;

	if (rc || !chunks->n)
		return rc;
	if (*lock)
		rc = s->ops->script(s, lock, err);
	if (!rc)
		rc = chunk_judge(s, chunks->items[0].pipeline, rule, &add, err);
	for (size_t i = 0; !rc && add && i < chunks->n; i++)
		rc = chunk_add(s, &chunks->items[i], err);
	return store_end(s, rc, err);
}

/* The row is locked, and stays so. */
static int chunk_take(struct store *s, struct chunk *c,
		      const struct lease *wanted, int64_t lease_us, bool *taken,
		      struct error *err)
{
	struct lease of_chunk = *wanted, out, before;
	char now[STORE_NUMBER_SIZE];
	const char *params[] = { wanted->holder,
				 store_number(now, clock_now_us()),
				 c->chunk_id };
	enum lease_answer answer = LEASE_BUSY;
	int rc;

	lease_init(&out);
	lease_init(&before);
	of_chunk.name = c->chunk_id;
	rc = store_lease_take_locked(s, &of_chunk, lease_us, &answer, &out,
				     &before, err);
	*taken = !rc && answer != LEASE_BUSY;
	if (*taken)
		rc = store_exec(s, claim_sql, params, ARRAY_SIZE(params), err);
	lease_release(&out);
	lease_release(&before);
	return rc;
}

static int chunk_claim_any(struct store *s, const char *select,
			   const char *const *of, int n_of,
			   const struct lease *wanted, int64_t lease_us,
			   bool *found, struct chunk *out, struct error *err)
{
	char *sql = xstrfmt("%s%s", select, s->ops->dialect->skip_locked);
	struct chunk_list list = { NULL, 0, 0 };
	int rc = store_run(s, sql, of, n_of, CHUNK_SHAPE, chunk_note, &list,
			   err);

	for (size_t i = 0; !rc && !*found && i < list.n; i++) {
		struct chunk *c = &list.items[i];

		rc = chunk_take(s, c, wanted, lease_us, found, err);
		if (rc || !*found)
			continue;
		c->attempts++;
		c->started_at = clock_now_us();
		free(c->holder);
		free(c->state);
		c->holder = xstrdup(wanted->holder);
		c->state = xstrdup(CHUNK_RUNNING);
		*out = *c;
		memset(c, 0, sizeof(*c));
	}
	chunk_list_release(&list);
	free(sql);
	return rc;
}

static int chunk_claim_end(struct store *s, int rc, bool *found,
			   struct chunk *out, struct error *err)
{
	rc = store_end(s, rc, err);
	if (rc && *found) {
		chunk_release(out);
		*found = false;
	}
	return rc;
}

/* "boot-id/pid-namespace/" of process_mark(); "" if it is not known. */
static char *chunk_place(const struct lease *wanted)
{
	const char *slash = strrchr(wanted->process, '/');

	return slash ? xstrndup(wanted->process,
				(size_t)(slash + 1 - wanted->process))
		     : xstrdup("");
}

/* `of`: pipeline, config, place. */
static int chunk_claim_next(struct store *s, const char *const of[3],
			    const struct lease *wanted, int64_t lease_us,
			    bool *found, struct chunk *out, struct error *err)
{
	int rc = s->ops->begin(s, STORE_USUAL, err);

	if (rc)
		return rc;
	rc = chunk_claim_any(s, queued_sql, of, 2, wanted, lease_us, found, out,
			     err);
	if (!rc && !*found)
		rc = chunk_claim_any(s, queued_more_sql, of, 2, wanted,
				     lease_us, found, out, err);
	if (!rc && !*found)
		rc = chunk_claim_any(s, running_sql, of, 3, wanted, lease_us,
				     found, out, err);
	if (!rc && !*found)
		rc = store_exec(s, leases_sql, of, 1, err);
	return chunk_claim_end(s, rc, found, out, err);
}

int store_chunk_claim(struct store *s, const char *pipeline, const char *config,
		      const struct lease *wanted, int64_t lease_us, bool *found,
		      struct chunk *out, struct error *err)
{
	char *place = chunk_place(wanted);
	const char *of[] = { pipeline, config, place };
	bool any = false;
	int rc = store_run(s, any_sql, of, 3, "t", store_note_any, &any, err);

	*found = false;
	if (!rc && any)
		rc = chunk_claim_next(s, of, wanted, lease_us, found, out, err);
	free(place);
	return rc;
}

int store_chunk_claim_named(struct store *s, const char *chunk_id,
			    const struct lease *wanted, int64_t lease_us,
			    bool *found, struct chunk *out, struct error *err)
{
	int rc = s->ops->begin(s, STORE_USUAL, err);

	*found = false;
	if (rc)
		return rc;
	rc = chunk_claim_any(s, named_sql, &chunk_id, 1, wanted, lease_us,
			     found, out, err);
	return chunk_claim_end(s, rc, found, out, err);
}

int store_chunk_save(struct store *s, const struct chunk *c, bool *held,
		     struct error *err)
{
	char *message = xstrdup(c->error_message);
	char *paused = xstrdup(c->paused);
	char n[4][STORE_NUMBER_SIZE];
	const char *params[] = {
		c->state,
		store_number(n[0], c->rows),
		store_number(n[1], c->attempts),
		c->checksum,
		c->error_code,
		message,
		store_number(n[2], c->started_at),
		store_number(n[3], c->ended_at),
		paused,
		c->chunk_id,
		c->holder,
	};
	int rc;

	*held = false;
	if (message)
		secret_scrub(message);
	if (paused)
		secret_scrub(paused);
	rc = store_run(s, save_sql, params, ARRAY_SIZE(params), "t",
		       store_note_any, held, err);
	free(message);
	free(paused);
	return rc;
}

int store_chunks_delete(struct store *s, const char *pipeline,
			const char *backfill_id, struct error *err)
{
	const char *params[] = { pipeline, backfill_id };
	int rc = s->ops->begin(s, STORE_USUAL, err);

	if (rc)
		return rc;
	rc = store_exec(s, forget_leases_sql, params, 2, err);
	if (!rc)
		rc = store_exec(s, forget_sql, params, 2, err);
	return store_end(s, rc, err);
}
