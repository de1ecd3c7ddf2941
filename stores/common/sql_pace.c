#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "stores/common/attempt_fields.h"
#include "stores/common/sql_store.h"

static const char get_pace_sql[] =
	"SELECT settings, changed_at FROM paces WHERE pipeline = $1";

static const char save_pace_sql[] =
	"INSERT INTO paces (pipeline, settings, changed_at)\n"
	"VALUES ($1, $2, $3)\n"
	"ON CONFLICT (pipeline) DO UPDATE SET\n"
	"  settings = excluded.settings, changed_at = excluded.changed_at";

static const char delete_pace_sql[] = "DELETE FROM paces WHERE pipeline = $1";

static int sql_pace_note(void *ctx, const char *const *values,
			 struct error *err)
{
	struct pace_record *out = ctx;

	(void)err;
	out->settings = xstrdup(values[0]);
	out->changed_at = strtoll(values[1], NULL, 10);
	return 0;
}

int sql_store_get_pace(struct store *base, const char *pipeline,
		       struct pace_record *out, struct error *err)
{
	struct sql_store *s = (struct sql_store *)base;
	const char *params[] = { pipeline };

	*out = (struct pace_record){ NULL, 0 };
	return s->session->run(s, get_pace_sql, params, 1, "tt", sql_pace_note,
			       out, err);
}

int sql_store_set_pace(struct store *base, const char *pipeline,
		       const char *settings, struct error *err)
{
	struct sql_store *s = (struct sql_store *)base;
	char now[FIELD_TEXT_SIZE];
	const char *params[] = { pipeline, settings,
				 field_number(now, clock_now_us()) };

	return s->session->run(s, settings ? save_pace_sql : delete_pace_sql,
			       params, settings ? ARRAY_SIZE(params) : 1, NULL,
			       NULL, NULL, err);
}
