#include "core/store/notices.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/store/session.h"

static const char list_sql[] =
	"SELECT target, topic, state, changed_at,\n"
	"  CASE WHEN claim_until > @ THEN 1 ELSE 0 END, tries,\n"
	"  CASE WHEN claim <> '' THEN 1 ELSE 0 END\n"
	"FROM notices WHERE pipeline = $1";

static const char claim_sql[] =
	"INSERT INTO notices (target, pipeline, topic, state, claim,\n"
	"                     changed_at, claim_until, tries)\n"
	"VALUES ($1, $2, $3, $4, $5, @, @ + CAST($6 AS bigint), 0)\n"
	"ON CONFLICT (target, pipeline, topic) DO UPDATE SET\n"
	"  claim = excluded.claim, claim_until = excluded.claim_until\n"
	"WHERE notices.state = excluded.state AND notices.claim_until <= @\n"
	"  AND notices.changed_at = CAST($7 AS bigint)\n"
	"RETURNING target";

static const char told_sql[] =
	"UPDATE notices SET state = $1, changed_at = @, claim = '',\n"
	"  claim_until = 0, tries = 0\n"
	"WHERE target = $2 AND pipeline = $3 AND topic = $4 AND claim = $5";

static const char put_off_sql[] =
	"UPDATE notices SET tries = CAST($1 AS bigint), claim = '',\n"
	"  claim_until = @ + CAST($2 AS bigint)\n"
	"WHERE target = $3 AND pipeline = $4 AND topic = $5 AND claim = $6";

void notice_list_release(struct notice_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->items[i].target);
		free(list->items[i].topic);
		free(list->items[i].state);
	}
	free(list->items);
	memset(list, 0, sizeof(*list));
}

static int notices_note(void *ctx, const char *const *values, struct error *err)
{
	struct notice_list *list = ctx;

	(void)err;
	list->items = xgrow(list->items, &list->capacity, list->n + 1,
			    sizeof(*list->items));
	list->items[list->n++] =
		(struct notice){ .target = xstrdup(values[0]),
				 .topic = xstrdup(values[1]),
				 .state = xstrdup(values[2]),
				 .changed_at = store_number_of(values[3]),
				 .held = store_number_of(values[4]) != 0,
				 .tries = store_number_of(values[5]),
				 .claimed = store_number_of(values[6]) != 0 };
	return 0;
}

int store_notices_list(struct store *s, const char *pipeline,
		       struct notice_list *out, struct error *err)
{
	return store_run(s, list_sql, &pipeline, 1, "ttttttt", notices_note,
			 out, err);
}

int store_notice_claim(struct store *s, const struct notice_key *key,
		       const char *state, int64_t changed_at, const char *claim,
		       int64_t hold_us, bool *mine, struct error *err)
{
	char hold[STORE_NUMBER_SIZE], at[STORE_NUMBER_SIZE];
	const char *params[] = { key->target,
				 key->pipeline,
				 key->topic,
				 state,
				 claim,
				 store_number(hold, hold_us),
				 store_number(at, changed_at) };

	int rc = s->ops->begin(s, STORE_DURABLE, err);

	*mine = false;
	if (rc)
		return rc;
	rc = store_run(s, claim_sql, params, ARRAY_SIZE(params), "t",
		       store_note_any, mine, err);
	return store_end(s, rc, err);
}

int store_notice_told(struct store *s, const struct notice_key *key,
		      const char *claim, const char *state, struct error *err)
{
	const char *params[] = { state, key->target, key->pipeline, key->topic,
				 claim };
	int rc = s->ops->begin(s, STORE_DURABLE, err);

	if (rc)
		return rc;
	rc = store_exec(s, told_sql, params, ARRAY_SIZE(params), err);
	return store_end(s, rc, err);
}

int store_notice_put_off(struct store *s, const struct notice_key *key,
			 const char *claim, int64_t tries, int64_t rest_us,
			 struct error *err)
{
	char number[STORE_NUMBER_SIZE], rest[STORE_NUMBER_SIZE];
	const char *params[] = { store_number(number, tries),
				 store_number(rest, rest_us),
				 key->target,
				 key->pipeline,
				 key->topic,
				 claim };

	return store_exec(s, put_off_sql, params, ARRAY_SIZE(params), err);
}
