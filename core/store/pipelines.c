#include "core/store/pipelines.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/store/controls.h"
#include "core/store/session.h"

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

static const char get_pace_sql[] =
	"SELECT p.settings, p.changed_at, c.paused_at, c.paused_by, c.reason,\n"
	"  p.changed_by\n"
	"FROM (SELECT CAST($1 AS text) AS pipeline) AS q\n"
	"LEFT JOIN paces AS p ON p.pipeline = q.pipeline\n"
	"LEFT JOIN controls AS c ON c.pipeline = q.pipeline";

static const char save_pace_sql[] =
	"INSERT INTO paces (pipeline, settings, changed_at, changed_by)\n"
	"VALUES ($1, $2, $3, $4)\n"
	"ON CONFLICT (pipeline) DO UPDATE SET\n"
	"  settings = excluded.settings, changed_at = excluded.changed_at,\n"
	"  changed_by = excluded.changed_by";

static const char delete_pace_sql[] = "DELETE FROM paces WHERE pipeline = $1";

static int pipelines_note_pace(void *ctx, const char *const *values,
			       struct error *err)
{
	struct pace_record *out = ctx;

	(void)err;
	out->settings = values[0] ? xstrdup(values[0]) : NULL;
	out->changed_at = store_number_of(values[1]);
	out->changed_by = values[5] ? xstrdup(values[5]) : NULL;
	out->paused_at = store_number_of(values[2]);
	if (!out->paused_at)
		return 0;
	out->paused_by = xstrdup(values[3]);
	out->reason = xstrdup(values[4]);
	return 0;
}

void pace_record_release(struct pace_record *r)
{
	free(r->settings);
	free(r->changed_by);
	free(r->paused_by);
	free(r->reason);
	memset(r, 0, sizeof(*r));
}

int store_pace_get(struct store *s, const char *pipeline,
		   struct pace_record *out, struct error *err)
{
	const char *params[] = { pipeline };

	memset(out, 0, sizeof(*out));
	return store_run(s, get_pace_sql, params, 1, "1??????",
			 pipelines_note_pace, out, err);
}

int store_pace_set(struct store *s, const char *pipeline, const char *settings,
		   const char *who, struct error *err)
{
	char now[STORE_NUMBER_SIZE];
	const char *params[] = { pipeline, settings,
				 store_number(now, clock_now_us()), who };
	int rc = s->ops->begin(s, STORE_USUAL, err);

	if (rc)
		return rc;
	rc = store_exec(s, settings ? save_pace_sql : delete_pace_sql, params,
			settings ? ARRAY_SIZE(params) : 1, err);
	if (!rc)
		rc = store_control_note(s, pipeline, who, "pace",
					settings ? settings : "config", err);
	return store_end(s, rc, err);
}

static int pipelines_note_mark(void *ctx, const char *const *values,
			       struct error *err)
{
	char **out = ctx;

	(void)err;
	*out = xstrdup(values[0]);
	return 0;
}

int store_mark_get(struct store *s, const char *pipeline, char **out,
		   struct error *err)
{
	const char *params[] = { pipeline };

	*out = NULL;
	return store_run(s, get_watermark_sql, params, 1, "?",
			 pipelines_note_mark, out, err);
}

int store_mark_set(struct store *s, const char *pipeline,
		   const char *attempt_id, const char *watermark,
		   struct error *err)
{
	char now[STORE_NUMBER_SIZE];
	const char *params[] = { pipeline, watermark,
				 store_number(now, clock_now_us()),
				 attempt_id };

	return store_exec(s, save_watermark_sql, params, ARRAY_SIZE(params),
			  err);
}
