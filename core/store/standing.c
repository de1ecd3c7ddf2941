#include "core/store/standing.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/store/session.h"

#define STANDING_COLUMNS                                                       \
	"a.attempt_id, a.run_id, a.state, a.outcome, a.started_at,\n"          \
	"  a.ended_at, a.heartbeat_at, a.error_code, a.error_message, "        \
	"a.paused, "                                                           \
	"a.aside"

/* Rows by their keys, or a window of the past, say nothing. */
#define WINDOW_ONLY "a.aside = 0"
#define HAS_WORKED                                                             \
	"(a.outcome = 'caught_up'\n"                                           \
	"  OR (a.outcome = 'stopped' AND a.batches > 0)) AND " WINDOW_ONLY
#define HAS_FAILED "a.outcome = 'failed' AND " WINDOW_ONLY

#define NEWEST_SEQ(such)                                                       \
	"coalesce((SELECT a.seq FROM attempts AS a\n"                          \
	"  WHERE a.pipeline = $1 AND " such "\n"                               \
	"  ORDER BY a.seq DESC LIMIT 1), -1)"

#define ONE(role, such, order)                                                 \
	"SELECT * FROM (SELECT " role " AS role, " STANDING_COLUMNS "\n"       \
	"FROM attempts AS a WHERE a.pipeline = $1 AND " such "\n"              \
	"ORDER BY a.seq" order " LIMIT 1) AS of_" role "\n"

static const char
	standing_sql[] = ONE("0", "1 = 1", "") "UNION ALL " ONE("1", "1 = 1", " DESC") "UNION ALL " ONE(
		"2", "a.outcome = 'caught_up' AND " WINDOW_ONLY,
		" DESC") "UNION ALL " ONE("3",
					  HAS_WORKED " AND a.seq > " NEWEST_SEQ(
						  HAS_FAILED),
					  "") "UNION ALL " ONE("4",
							       HAS_FAILED
							       " AND a.seq "
							       "> " NEWEST_SEQ(
								       HAS_WORKED),
							       "") "UNION "
								   "ALL " ONE(
									   "5",
									   HAS_FAILED
									   " A"
									   "ND"
									   " a"
									   ".s"
									   "eq"
									   " >"
									   " " NEWEST_SEQ(
										   HAS_WORKED),
									   " D"
									   "ES"
									   "C");

static int standing_note(void *ctx, const char *const *values,
			 struct error *err)
{
	struct standing *out = ctx;
	int64_t role = store_number_of(values[0]);

	(void)err;
	if (role < 0 || role >= STANDING_ROLES)
		return 0;
	out->of[role] = (struct standing_attempt){
		.known = true,
		.attempt_id = xstrdup(values[1]),
		.run_id = xstrdup(values[2]),
		.state = xstrdup(values[3]),
		.outcome = xstrdup(values[4]),
		.started_at = store_number_of(values[5]),
		.ended_at = store_number_of(values[6]),
		.heartbeat_at = store_number_of(values[7]),
		.error_code = xstrdup(values[8]),
		.error_message = xstrdup(values[9]),
		.paused = xstrdup(values[10]),
		.aside = store_number_of(values[11]) != 0,
	};
	return 0;
}

int store_standing_get(struct store *s, const char *pipeline,
		       struct standing *out, struct error *err)
{
	memset(out, 0, sizeof(*out));
	return store_run(s, standing_sql, &pipeline, 1, "tttttttt???t",
			 standing_note, out, err);
}

void standing_release(struct standing *s)
{
	for (size_t i = 0; i < STANDING_ROLES; i++) {
		struct standing_attempt *a = &s->of[i];

		free(a->attempt_id);
		free(a->run_id);
		free(a->state);
		free(a->outcome);
		free(a->error_code);
		free(a->error_message);
		free(a->paused);
	}
	memset(s, 0, sizeof(*s));
}
