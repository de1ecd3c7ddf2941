#include "core/store/series.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/store/session.h"

static const char attempts_sql[] =
	"SELECT started_at, ended_at, outcome FROM attempts\n"
	"WHERE pipeline = $1 AND (started_at >= $2 OR seq = (\n"
	"  SELECT max(o.seq) FROM attempts AS o WHERE o.pipeline = $1\n"
	"    AND o.started_at < $2 AND o.outcome = 'caught_up'))\n"
	"ORDER BY seq";

static const char batches_sql[] =
	"SELECT b.loaded_at, b.rows_read, b.load_us\n"
	"FROM attempts AS a JOIN batches AS b ON b.attempt_id = a.attempt_id\n"
	"WHERE a.pipeline = $1 AND b.loaded_at >= $2\n"
	"  AND b.error_code IS NULL\n"
	"ORDER BY b.loaded_at DESC LIMIT $3";

static int series_note_attempt(void *ctx, const char *const *values,
			       struct error *err)
{
	struct series *out = ctx;

	(void)err;
	out->attempts = xgrow(out->attempts, &out->attempts_room,
			      out->n_attempts + 1, sizeof(*out->attempts));
	out->attempts[out->n_attempts++] = (struct series_attempt){
		.started_at = store_number_of(values[0]),
		.ended_at = store_number_of(values[1]),
		.caught_up = !strcmp(values[2], "caught_up"),
		.failed = !strcmp(values[2], "failed"),
	};
	return 0;
}

static int series_note_batch(void *ctx, const char *const *values,
			     struct error *err)
{
	struct series *out = ctx;

	(void)err;
	out->batches = xgrow(out->batches, &out->batches_room,
			     out->n_batches + 1, sizeof(*out->batches));
	out->batches[out->n_batches++] =
		(struct series_batch){ .at = store_number_of(values[0]),
				       .rows = store_number_of(values[1]),
				       .load_us = store_number_of(values[2]) };
	return 0;
}

static void series_reverse(struct series *s)
{
	for (size_t i = 0; i < s->n_batches / 2; i++) {
		struct series_batch *other = &s->batches[s->n_batches - 1 - i];
		struct series_batch kept = s->batches[i];

		s->batches[i] = *other;
		*other = kept;
	}
}

int store_series_read(struct store *s, const char *pipeline, int64_t since_us,
		      struct series *out, struct error *err)
{
	char since[STORE_NUMBER_SIZE], most[STORE_NUMBER_SIZE];
	const char *params[] = { pipeline, store_number(since, since_us),
				 store_number(most, SERIES_MOST) };
	int rc = store_run(s, attempts_sql, params, 2, "ttt",
			   series_note_attempt, out, err);

	if (!rc)
		rc = store_run(s, batches_sql, params, 3, "ttt",
			       series_note_batch, out, err);
	series_reverse(out);
	return rc;
}

void series_release(struct series *s)
{
	free(s->attempts);
	free(s->batches);
	memset(s, 0, sizeof(*s));
}
