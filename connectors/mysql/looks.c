#include "connectors/mysql/looks.h"

#include <string.h>

#define LOOKED	"looked"
#define SEEN	"seen"
#define GUESSED "guessed"

static int64_t looks_min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void mysql_source_looks_read(struct mysql_source_looks *looks,
			     const json_t *pending)
{
	const json_t *point = json_object_get(pending, LOOKED);
	const json_t *seen = json_object_get(pending, SEEN);

	memset(looks, 0, sizeof(*looks));
	looks->any = json_is_integer(point);
	looks->point_us = json_integer_value(point);
	looks->seen = looks->any && seen ? json_deep_copy(seen) : json_object();
	looks->guessed = json_is_true(json_object_get(pending, GUESSED));
}

json_t *mysql_source_looks_json(const struct mysql_source_looks *looks)
{
	json_t *out;

	if (!looks->any)
		return NULL;
	out = json_pack("{s:I}", LOOKED, (json_int_t)looks->point_us);
	if (json_object_size(looks->seen))
		json_object_set(out, SEEN, looks->seen);
	if (looks->guessed)
		json_object_set_new(out, GUESSED, json_true());
	return out;
}

void mysql_source_looks_store(json_t *looked, struct watermark *mark)
{
	if (!mark->pending)
		mark->pending = json_object();
	json_object_del(mark->pending, SEEN);
	json_object_del(mark->pending, GUESSED);
	json_object_update(mark->pending, looked);
}

void mysql_source_looks_release(struct mysql_source_looks *looks)
{
	json_decref(looks->seen);
	memset(looks, 0, sizeof(*looks));
}

/* Only a transaction that has written matters: later writes have a later
 * NOW(). */
void mysql_source_looks_add(struct mysql_source_looks *looks,
			    const struct mysql_source_activity *a,
			    int64_t margin_us)
{
	json_t *seen = json_object(), *since;
	bool guessed = false;
	const char *name;

	json_object_foreach(a->writers, name, since)
	{
		const json_t *before = json_object_get(looks->seen, name);
		int64_t us = json_integer_value(since) - margin_us;
		if (before) {
			us = json_integer_value(before);
			guessed |= looks->guessed;
		} else if (looks->any) {
			us = looks_min(us, looks->point_us);
		} else {
			guessed = true;
		}
		json_object_set_new(seen, name, json_integer(us));
	}
	json_decref(looks->seen);
	looks->seen = seen;
	looks->guessed = guessed;
	looks->point_us = looks_min(a->now_us, a->statements_us) - margin_us;
	looks->any = true;
}

int64_t mysql_source_looks_settled(const struct mysql_source_looks *looks,
				   const struct mysql_source_activity *a,
				   int64_t margin_us, bool *held)
{
	int64_t us = looks_min(looks->point_us, a->oldest_us - margin_us);
	int64_t bound = INT64_MAX;
	const char *name;
	json_t *before;

	json_object_foreach(looks->seen, name, before) bound =
		looks_min(bound, json_integer_value(before));
	*held = bound < us || looks->guessed;
	return looks_min(us, bound);
}
