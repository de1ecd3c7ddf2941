#include "core/sync/report/early.h"

#include <string.h>

#include "core/data/value.h"
#include "core/sync/parts/result.h"

void early_find(const struct standing *standing, json_t **out)
{
	const struct standing_attempt *newest = &standing->of[STANDING_NEWEST];

	if (newest->known && newest->paused &&
	    !strcmp(newest->outcome, outcome_name(OUTCOME_WAITING)))
		*out = json_loads(newest->paused, 0, NULL);
}

struct health_wait early_wait(const json_t *early)
{
	const char *since = json_string_value(json_object_get(early, "since"));
	struct health_wait wait = {
		.reason = json_string_value(json_object_get(early, "by")),
		.whom = json_string_value(json_object_get(early, "reason")),
	};

	if (since && !value_parse_instant(since, &wait.since))
		wait.since = 0;
	return wait;
}
