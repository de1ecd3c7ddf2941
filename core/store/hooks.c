#include "core/store/hooks.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/secret.h"
#include "core/store/session.h"

/* A number is owed once, and kept below 0 when it is paid. So a payer that
 * slept while others paid and owed anew does not meet its number again. */
static const char owed_sql[] =
	"SELECT CASE WHEN owed > 0 THEN owed ELSE 0 END\n"
	"FROM hooks WHERE pipeline = $1";

static const char owe_sql[] =
	"INSERT INTO hooks (pipeline, owed) VALUES ($1, 1)\n"
	"ON CONFLICT (pipeline) DO UPDATE SET owed = abs(hooks.owed) + 1";

static const char pay_sql[] =
	"INSERT INTO hooks (pipeline, owed) VALUES ($1, 0)\n"
	"ON CONFLICT (pipeline) DO UPDATE SET owed = -hooks.owed\n"
	"WHERE hooks.owed > 0 AND hooks.owed = CAST($2 AS bigint)";

static const char save_sql[] =
	"INSERT INTO hook_runs (attempt_id, hook, number, started_at,\n"
	"                       ended_at, error_message)\n"
	"VALUES ($1, $2, CAST($3 AS bigint), CAST($4 AS bigint),\n"
	"        CAST($5 AS bigint), $6)\n"
	"ON CONFLICT (attempt_id, hook, number) DO UPDATE SET\n"
	"  started_at = excluded.started_at, ended_at = excluded.ended_at,\n"
	"  error_message = excluded.error_message";

static const char list_sql[] =
	"SELECT h.attempt_id, h.hook, h.number, h.started_at, h.ended_at,\n"
	"  h.error_message\n"
	"FROM hook_runs AS h\n"
	"JOIN attempts AS a ON a.attempt_id = h.attempt_id\n"
	"WHERE a.run_id = $1\n"
	"ORDER BY h.started_at, h.attempt_id, h.hook DESC, h.number";

void hook_list_release(struct hook_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->items[i].attempt_id);
		free(list->items[i].hook);
		free(list->items[i].error_message);
	}
	free(list->items);
	memset(list, 0, sizeof(*list));
}

static int hooks_note_owed(void *ctx, const char *const *values,
			   struct error *err)
{
	int64_t *out = ctx;

	(void)err;
	*out = store_number_of(values[0]);
	return 0;
}

int store_hooks_owed(struct store *s, const char *pipeline, int64_t *out,
		     struct error *err)
{
	*out = -1;
	return store_run(s, owed_sql, &pipeline, 1, "t", hooks_note_owed, out,
			 err);
}

int store_hooks_owe(struct store *s, const char *pipeline, struct error *err)
{
	return store_exec(s, owe_sql, &pipeline, 1, err);
}

int store_hooks_pay(struct store *s, const char *pipeline, int64_t seen,
		    struct error *err)
{
	char number[STORE_NUMBER_SIZE];
	const char *params[] = { pipeline, store_number(number, seen) };

	return store_exec(s, pay_sql, params, ARRAY_SIZE(params), err);
}

int store_hook_save(struct store *s, const struct hook_record *record,
		    struct error *err)
{
	char texts[3][STORE_NUMBER_SIZE];
	char *message = xstrdup(record->error_message);
	const char *params[] = { record->attempt_id,
				 record->hook,
				 store_number(texts[0], record->number),
				 store_number(texts[1], record->started_at),
				 store_number(texts[2], record->ended_at),
				 message };
	int rc;

	if (message)
		secret_scrub(message);
	rc = store_exec(s, save_sql, params, ARRAY_SIZE(params), err);
	free(message);
	return rc;
}

static int hooks_note(void *ctx, const char *const *values, struct error *err)
{
	struct hook_list *list = ctx;

	(void)err;
	list->items = xgrow(list->items, &list->capacity, list->n + 1,
			    sizeof(*list->items));
	list->items[list->n++] = (struct hook_record){
		.attempt_id = xstrdup(values[0]),
		.hook = xstrdup(values[1]),
		.number = store_number_of(values[2]),
		.started_at = store_number_of(values[3]),
		.ended_at = store_number_of(values[4]),
		.error_message = xstrdup(values[5]),
	};
	return 0;
}

int store_hooks_list(struct store *s, const char *run_id, struct hook_list *out,
		     struct error *err)
{
	return store_run(s, list_sql, &run_id, 1, "ttttt?", hooks_note, out,
			 err);
}
