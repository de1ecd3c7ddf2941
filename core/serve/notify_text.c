#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/json_text.h"
#include "core/base/log.h"
#include "core/base/secret.h"
#include "core/serve/notify_parts.h"

/* So many attempts of a run are looked through for its counts. */
#define NOTICE_LOOK_BACK 50

static const char *const notice_topics[NOTICE_TOPICS] = { "health", "letters" };

static const char *const notice_states[NOTICE_STATES] = {
	[NOTICE_OK] = "ok",	      [NOTICE_LATE] = "late",
	[NOTICE_FAILING] = "failing", [NOTICE_DIFFERENT] = "different",
	[NOTICE_NONE] = "none",	      [NOTICE_SOME] = "some",
};

const char *notice_topic_name(enum notify_topic topic)
{
	return notice_topics[topic];
}

const char *notice_state_name(enum notify_state state)
{
	return notice_states[state];
}

enum notify_state notice_state_of(const char *name)
{
	size_t i = 0;

	while (i < NOTICE_STATES && strcmp(name, notice_states[i]) != 0)
		i++;
	return (enum notify_state)i;
}

static bool notice_is_different(const struct health *h)
{
	return h->error_code &&
	       !strcmp(h->error_code, error_code_name(ERROR_DIFFERENT));
}

/* A pause hides whether a pipeline fails, so it changes nothing. Nor does a try
 * that is to come again. */
static enum notify_state notice_judge_health(const struct notify_settings *to,
					     const struct health *h)
{
	switch (h->state) {
	case HEALTH_FAILING:
		return to->wants[NOTIFY_DIFFERENCES] && notice_is_different(h)
			       ? NOTICE_DIFFERENT
			       : NOTICE_FAILING;
	case HEALTH_LATE:
		return NOTICE_LATE;
	case HEALTH_WAITING:
		return strcmp(h->waiting.reason, "retry") != 0 ? NOTICE_OK
							       : NOTICE_STATES;
	case HEALTH_OK:
		return NOTICE_OK;
	default:
		return NOTICE_STATES;
	}
}

enum notify_state notice_judge(const struct notify_settings *to,
			       enum notify_topic topic,
			       const struct status_result *status)
{
	if (topic == NOTICE_HEALTH)
		return notice_judge_health(to, &status->health);
	if (status->letters < 0)
		return NOTICE_STATES;
	return status->letters ? NOTICE_SOME : NOTICE_NONE;
}

enum notify_event notice_event(enum notify_state from, enum notify_state to)
{
	(void)from;
	switch (to) {
	case NOTICE_OK:
		return NOTIFY_RECOVERED;
	case NOTICE_LATE:
		return NOTIFY_LATE;
	case NOTICE_FAILING:
		return NOTIFY_FAILED;
	case NOTICE_DIFFERENT:
		return NOTIFY_DIFFERENCES;
	case NOTICE_SOME:
		return NOTIFY_LETTERS;
	default:
		return NOTIFY_EVENTS;
	}
}

const struct attempt *notice_counted(struct store *store,
				     const struct status_result *s,
				     struct attempt_list *list)
{
	const struct health *h = &s->health;
	const struct run_filter filter = { .run_id = h->run_id,
					   .limit = NOTICE_LOOK_BACK };
	struct error ignored = ERROR_INIT;

	if (!h->attempt_id || !s->last.attempt_id ||
	    !strcmp(h->attempt_id, s->last.attempt_id))
		return &s->last;
	if (store_attempts_list(store, &filter, list, &ignored))
		log_debug("%s", ignored.message);
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(h->attempt_id, list->items[i].attempt_id))
			return &list->items[i];
	return &s->last;
}

static json_t *notice_counts(const struct attempt *a, int64_t letters)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "batches",
			 (json_int_t)a->batches, "rows_read",
			 (json_int_t)a->rows_read, "rows_inserted",
			 (json_int_t)a->rows_inserted, "rows_updated",
			 (json_int_t)a->rows_updated, "rows_unchanged",
			 (json_int_t)a->rows_unchanged, "rows_deleted",
			 (json_int_t)a->rows_deleted, "rows_dead_lettered",
			 (json_int_t)a->rows_dead_lettered, "dead_letters",
			 (json_int_t)(letters > 0 ? letters : 0));
}

static char *notice_message(enum notify_event event,
			    const struct status_result *s, bool values)
{
	const struct health *h = &s->health;
	const char *name = settings_call(s->pipeline);

	switch (event) {
	case NOTIFY_RECOVERED:
		return xstrdup("it works again");
	case NOTIFY_LATE:
		return xstrfmt("it has not caught up for longer than %.0f s: "
			       "tidemark status %s",
			       (double)h->late_us / (double)US_PER_SECOND,
			       name);
	case NOTIFY_LETTERS:
		return xstrfmt("%" PRId64 " %s refused and kept aside: "
			       "tidemark dead-letters list %s",
			       s->letters,
			       s->letters == 1 ? "row was" : "rows were", name);
	default:
		break;
	}
	if (values)
		return xstrfmt("the message may hold contents of rows: "
			       "tidemark status %s",
			       name);
	return xstrdup(h->error_message ? h->error_message : "");
}

char *notice_text(enum notify_event event, const struct status_result *s,
		  const struct attempt *counted, bool values)
{
	const struct health *h = &s->health;
	char *message = notice_message(event, s, values), *text;
	bool failed = event == NOTIFY_FAILED || event == NOTIFY_DIFFERENCES;
	int64_t since = event == NOTIFY_LETTERS ? s->asked_us : h->since;
	json_t *json = json_pack(
		"{s:s, s:s, s:o, s:s?, s:s?, s:s?, s:s, s:o}", "event",
		notify_event_name(event), "pipeline", s->pipeline->name,
		"since", json_text_time(since), "run_id", h->run_id,
		"attempt_id", h->attempt_id, "code",
		failed ? h->error_code : NULL, "message", message, "counts",
		notice_counts(counted, s->letters));

	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	free(message);
	if (!text)
		text = xstrdup("{}");
	secret_scrub(text);
	return text;
}
