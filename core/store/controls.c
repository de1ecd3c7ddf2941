#include "core/store/controls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/retry.h"
#include "core/store/session.h"

static const char list_sql[] =
	"SELECT pipeline, paused_at, paused_by, reason, asked_at, asked_by\n"
	"FROM controls WHERE paused_at > 0 OR asked_at > 0 ORDER BY pipeline";

static const char pause_sql[] =
	"INSERT INTO controls\n"
	"  (pipeline, paused_at, paused_by, reason, asked_at, asked_by)\n"
	"VALUES ($1, @, $2, $3, 0, '')\n"
	"ON CONFLICT (pipeline) DO UPDATE SET\n"
	"  paused_at = CASE WHEN controls.paused_at > 0\n"
	"              THEN controls.paused_at ELSE excluded.paused_at END,\n"
	"  paused_by = excluded.paused_by, reason = excluded.reason";

static const char resume_sql[] =
	"UPDATE controls SET paused_at = 0, paused_by = '', reason = ''\n"
	"WHERE pipeline = $1";

static const char ask_sql[] =
	"INSERT INTO controls\n"
	"  (pipeline, paused_at, paused_by, reason, asked_at, asked_by)\n"
	"VALUES ($1, 0, '', '', @, $2)\n"
	"ON CONFLICT (pipeline) DO UPDATE SET\n"
	"  asked_at = excluded.asked_at, asked_by = excluded.asked_by";

static const char begun_sql[] =
	"UPDATE controls SET asked_at = 0, asked_by = ''\n"
	"WHERE pipeline = $1 AND asked_at <= $2";

static const char note_sql[] =
	"INSERT INTO control_events (event_id, at, pipeline, who, what,\n"
	"                            detail)\n"
	"VALUES ($1, @, $2, $3, $4, $5)";

static const char events_sql[] =
	"SELECT at, who, what, detail FROM control_events\n"
	"WHERE pipeline = $1 ORDER BY at DESC, event_id DESC\n"
	"LIMIT CAST($2 AS bigint)";

void control_list_release(struct control_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->items[i].pipeline);
		free(list->items[i].paused_by);
		free(list->items[i].reason);
		free(list->items[i].asked_by);
	}
	free(list->items);
	memset(list, 0, sizeof(*list));
}

static int controls_note(void *ctx, const char *const *values,
			 struct error *err)
{
	struct control_list *list = ctx;

	(void)err;
	list->items = xgrow(list->items, &list->capacity, list->n + 1,
			    sizeof(*list->items));
	list->items[list->n++] =
		(struct control){ .pipeline = xstrdup(values[0]),
				  .paused_at = store_number_of(values[1]),
				  .paused_by = xstrdup(values[2]),
				  .reason = xstrdup(values[3]),
				  .asked_at = store_number_of(values[4]),
				  .asked_by = xstrdup(values[5]) };
	return 0;
}

int store_controls_list(struct store *s, struct control_list *out,
			struct error *err)
{
	return store_run(s, list_sql, NULL, 0, "tttttt", controls_note, out,
			 err);
}

bool control_list_pauses(const struct control_list *list, const char *pipeline)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->items[i].pipeline, pipeline))
			return list->items[i].paused_at > 0;
	return false;
}

int store_control_note(struct store *s, const char *pipeline, const char *who,
		       const char *what, const char *detail, struct error *err)
{
	char id[33];
	const char *params[] = { id, pipeline, who, what, detail };

	snprintf(id, sizeof(id), "%016" PRIx64 "%016" PRIx64,
		 (uint64_t)clock_now_us(), retry_random());
	return store_exec(s, note_sql, params, ARRAY_SIZE(params), err);
}

struct control_events {
	void (*each)(void *ctx, const struct control_event *e);
	void *ctx;
};

static int controls_note_event(void *ctx, const char *const *values,
			       struct error *err)
{
	const struct control_events *to = ctx;
	const struct control_event event = { store_number_of(values[0]),
					     values[1], values[2], values[3] };

	(void)err;
	to->each(to->ctx, &event);
	return 0;
}

int store_control_events(struct store *s, const char *pipeline, int64_t limit,
			 void (*each)(void *ctx, const struct control_event *e),
			 void *ctx, struct error *err)
{
	char most[STORE_NUMBER_SIZE];
	const char *params[] = { pipeline, store_number(most, limit) };
	struct control_events to = { each, ctx };

	return store_run(s, events_sql, params, ARRAY_SIZE(params), "tttt",
			 controls_note_event, &to, err);
}

/* The wish, and the note about it. */
static int control_do(struct store *s, const char *sql,
		      const char *const *params, int n, const char *who,
		      const char *what, const char *detail, struct error *err)
{
	int rc = s->ops->begin(s, STORE_USUAL, err);

	if (rc)
		return rc;
	rc = store_exec(s, sql, params, n, err);
	if (!rc)
		rc = store_control_note(s, params[0], who, what, detail, err);
	return store_end(s, rc, err);
}

int store_control_pause(struct store *s, const char *pipeline, const char *who,
			const char *reason, struct error *err)
{
	const char *params[] = { pipeline, who, reason };

	return control_do(s, pause_sql, params, ARRAY_SIZE(params), who,
			  "pause", reason, err);
}

int store_control_resume(struct store *s, const char *pipeline, const char *who,
			 struct error *err)
{
	return control_do(s, resume_sql, &pipeline, 1, who, "resume", "", err);
}

int store_control_ask(struct store *s, const char *pipeline, const char *who,
		      struct error *err)
{
	const char *params[] = { pipeline, who };

	return control_do(s, ask_sql, params, ARRAY_SIZE(params), who, "run",
			  "", err);
}

int store_control_begun(struct store *s, const char *pipeline, int64_t asked_at,
			struct error *err)
{
	char at[STORE_NUMBER_SIZE];
	const char *params[] = { pipeline, store_number(at, asked_at) };

	return store_exec(s, begun_sql, params, ARRAY_SIZE(params), err);
}
