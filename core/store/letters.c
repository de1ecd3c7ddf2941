#include "core/store/letters.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/secret.h"
#include "core/base/strbuf.h"
#include "core/store/session.h"

static void dead_letter_release(struct dead_letter *l)
{
	free(l->id);
	free(l->pipeline);
	free(l->run_id);
	free(l->attempt_id);
	free(l->batch_id);
	free(l->key);
	free(l->key_digest);
	free(l->row);
	free(l->row_digest);
	free(l->category);
	free(l->error_code);
	free(l->server_code);
	free(l->error_message);
	free(l->checkpoint);
}

void dead_letter_list_release(struct dead_letter_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		dead_letter_release(&list->items[i]);
	free(list->items);
	memset(list, 0, sizeof(*list));
}

static const char save_sql[] =
	"INSERT INTO dead_letters (id, pipeline, run_id, attempt_id, "
	"batch_id,\n"
	"  row_key, key_digest, row_json, truncated, row_digest, category,\n"
	"  error_code, server_code, error_message, checkpoint, attempts,\n"
	"  next_try_at, created_at, updated_at)\n"
	"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,\n"
	"        $15, $16, $17, $18, $19)\n"
	"ON CONFLICT (id) DO UPDATE SET\n"
	"  run_id = excluded.run_id, attempt_id = excluded.attempt_id,\n"
	"  batch_id = excluded.batch_id, row_key = excluded.row_key,\n"
	"  row_json = excluded.row_json, truncated = excluded.truncated,\n"
	"  row_digest = excluded.row_digest, category = excluded.category,\n"
	"  error_code = excluded.error_code,\n"
	"  server_code = excluded.server_code,\n"
	"  error_message = excluded.error_message,\n"
	"  checkpoint = excluded.checkpoint,\n"
	"  attempts = dead_letters.attempts + 1,\n"
	"  next_try_at = excluded.next_try_at,\n"
	"  updated_at = excluded.updated_at";

static const char list_sql[] =
	"SELECT id, pipeline, run_id, attempt_id, batch_id, row_key,\n"
	"  key_digest, %s, truncated, row_digest, category, error_code,\n"
	"  server_code, error_message, checkpoint, attempts, next_try_at,\n"
	"  created_at, updated_at FROM dead_letters WHERE 1 = 1";

static const char count_sql[] =
	"SELECT count(*) FROM dead_letters WHERE pipeline = $1";

static const char delete_sql[] =
	"DELETE FROM dead_letters WHERE id = $1 AND attempt_id = $2";

static int letters_save(struct store *s, const struct dead_letter *l,
			struct error *err)
{
	char *message = xstrdup(l->error_message);
	char n[4][STORE_NUMBER_SIZE];
	const char *params[] = {
		l->id,
		l->pipeline,
		l->run_id,
		l->attempt_id,
		l->batch_id,
		l->key,
		l->key_digest,
		l->row,
		l->truncated ? "1" : "0",
		l->row_digest,
		l->category,
		l->error_code,
		l->server_code,
		message,
		l->checkpoint,
		store_number(n[0], l->attempts),
		l->next_try_at ? store_number(n[1], l->next_try_at) : NULL,
		store_number(n[2], l->created_at),
		store_number(n[3], l->updated_at),
	};
	int rc;

	secret_scrub(message);
	rc = store_exec(s, save_sql, params, ARRAY_SIZE(params), err);
	free(message);
	return rc;
}

int store_letters_save(struct store *s, const struct dead_letter_list *letters,
		       struct error *err)
{
	/* The mark is about to go past these rows: only the letters have them.
	 */
	int rc = s->ops->begin(s, STORE_DURABLE, err);

	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < letters->n; i++)
		rc = letters_save(s, &letters->items[i], err);
	return store_end(s, rc, err);
}

static int letters_note(void *ctx, const char *const *values, struct error *err)
{
	struct dead_letter_list *list = ctx;

	(void)err;
	list->items = xgrow(list->items, &list->capacity, list->n + 1,
			    sizeof(*list->items));
	list->items[list->n++] = (struct dead_letter){
		.id = xstrdup(values[0]),
		.pipeline = xstrdup(values[1]),
		.run_id = xstrdup(values[2]),
		.attempt_id = xstrdup(values[3]),
		.batch_id = xstrdup(values[4]),
		.key = xstrdup(values[5]),
		.key_digest = xstrdup(values[6]),
		.row = xstrdup(values[7]),
		.truncated = store_number_of(values[8]) != 0,
		.row_digest = xstrdup(values[9]),
		.category = xstrdup(values[10]),
		.error_code = xstrdup(values[11]),
		.server_code = xstrdup(values[12]),
		.error_message = xstrdup(values[13]),
		.checkpoint = xstrdup(values[14]),
		.attempts = store_number_of(values[15]),
		.next_try_at = store_number_of(values[16]),
		.created_at = store_number_of(values[17]),
		.updated_at = store_number_of(values[18]),
	};
	return 0;
}

int store_letters_list(struct store *s, const struct dead_letter_filter *filter,
		       struct dead_letter_list *out, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	char limit[STORE_NUMBER_SIZE];
	const char *params[3];
	int n = 0, rc;

	strbuf_addf(&sql, list_sql, filter->names ? "NULL" : "row_json");
	if (filter->pipeline) {
		params[n++] = filter->pipeline;
		strbuf_addf(&sql, " AND pipeline = $%d", n);
	}
	if (filter->id) {
		params[n++] = filter->id;
		strbuf_addf(&sql, " AND id = $%d", n);
	}
	strbuf_addstr(&sql, "\nORDER BY created_at DESC, id");
	if (filter->limit) {
		params[n++] = store_number(limit, filter->limit);
		strbuf_addf(&sql, " LIMIT $%d", n);
	}
	rc = store_run(s, sql.data, params, n, "ttttttt?tttttt?t?tt",
		       letters_note, out, err);
	strbuf_release(&sql);
	return rc;
}

static int letters_note_count(void *ctx, const char *const *values,
			      struct error *err)
{
	(void)err;
	*(int64_t *)ctx = store_number_of(values[0]);
	return 0;
}

int store_letters_count(struct store *s, const char *pipeline, int64_t *out,
			struct error *err)
{

	*out = 0;
	return store_run(s, count_sql, &pipeline, 1, "1t", letters_note_count,
			 out, err);
}

int store_letters_delete(struct store *s,
			 const struct dead_letter_list *letters,
			 struct error *err)
{
	int rc = s->ops->begin(s, STORE_USUAL, err);

	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < letters->n; i++) {
		const char *params[] = { letters->items[i].id,
					 letters->items[i].attempt_id };

		rc = store_exec(s, delete_sql, params, ARRAY_SIZE(params), err);
	}
	return store_end(s, rc, err);
}
