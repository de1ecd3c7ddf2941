#include "core/sync/parts/marks.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/value.h"
#include "core/data/watermark.h"
#include "core/plugin/registry.h"
#include "core/store/pipelines.h"
#include "core/store/session.h"
#include "core/sync/parts/state.h"
#include "core/sync/parts/stopper.h"

void mark_init(struct mark *m)
{
	memset(m, 0, sizeof(*m));
	m->from = "destination";
}

void mark_release(struct mark *m)
{
	free(m->watermark);
	mark_init(m);
}

void marks_target(const struct pipeline_settings *p, struct target *target)
{
	memset(target, 0, sizeof(*target));
	target->pipeline = p->name;
	target->run = settings_run(p);
	target->call = settings_call(p);
	target->table = p->destination_table;
	target->mode = p->mode;
	target->drift = p->drift;
}

int marks_get_destination(const struct pipeline_settings *p, struct mark *out,
			  struct error *err)
{
	struct destination *d = NULL;
	struct target target;
	struct checkpoint checkpoint;
	struct stopper stopper;
	int rc = registry_open_destination(p->destination, &d, err);

	if (rc)
		return rc;
	stopper_start(&stopper, NULL);
	stopper_add(&stopper, d);
	marks_target(p, &target);
	checkpoint_init(&checkpoint);
	rc = d->ops->recover(d, &target, &checkpoint, err);
	if (!rc)
		out->watermark = xstrdup(checkpoint.watermark);
	checkpoint_release(&checkpoint);
	stopper_end(&stopper);
	d->ops->close(d);
	return rc;
}

int marks_get(const struct settings *s, const struct pipeline_settings *p,
	      struct mark *out, struct error *err)
{
	struct store *store = NULL;
	int rc;

	if (!marks_get_destination(p, out, &out->unreachable))
		return 0;
	out->from = "state";
	rc = state_open(s, &store, err);
	if (rc)
		return rc;
	rc = store_mark_get(store, p->name, &out->watermark, err);
	store_close(store);
	return rc;
}

/* `watermark show --json` wraps the marks; take this pipeline's out. A plain
 * mark stays what it is. */
static const json_t *marks_unwrap(const struct pipeline_settings *p,
				  const json_t *json)
{
	const json_t *list = json_object_get(json, "pipelines");
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *name =
			json_string_value(json_object_get(item, "pipeline"));

		if (name && !strcmp(name, p->name))
			return json_object_get(item, "watermark");
	}
	return json;
}

static bool marks_is_number(const char *text, bool negative)
{
	if (negative && *text == '-')
		text++;
	return *text && strlen(text) < 20 &&
	       text[strspn(text, "0123456789")] == '\0';
}

static int marks_check_value(const struct watermark *w, struct error *err)
{
	int64_t us;
	int32_t days;
	bool good = true;

	if (!w->value)
		return 0;
	switch (w->strategy) {
	case STRATEGY_TIMESTAMP:
		good = value_parse_timestamp(w->value, &us) ||
		       value_parse_date(w->value, &days);
		break;
	case STRATEGY_XMIN:
		good = marks_is_number(w->value, false);
		break;
	case STRATEGY_SEQUENCE:
		good = marks_is_number(w->value, true);
		break;
	case STRATEGY_NONE:
		good = false;
		break;
	}
	if (good)
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "\"%s\" is no value of a %s mark; e.g. \"%s\"",
			 w->value, strategy_name(w->strategy),
			 w->strategy == STRATEGY_TIMESTAMP
				 ? "2026-01-31 12:00:00.123456+00"
				 : "12345");
}

static int marks_check(const struct pipeline_settings *p,
		       const struct watermark *w, struct error *err)
{
	const char *column = p->mark_column ? p->mark_column : "";

	if (w->strategy != p->strategy)
		return error_set(err, ERROR_CONFIG,
				 "the mark is of strategy %s, pipeline %s uses "
				 "%s",
				 strategy_name(w->strategy), p->name,
				 strategy_name(p->strategy));
	if (strcmp(w->column ? w->column : "", column) != 0)
		return error_set(err, ERROR_CONFIG,
				 "the mark is of column \"%s\", pipeline %s "
				 "uses \"%s\"",
				 w->column ? w->column : "", p->name, column);
	if (w->key.n && p->key.n && w->key.n != p->key.n)
		return error_set(err, ERROR_CONFIG,
				 "the mark has a key of %zu columns, pipeline "
				 "%s one of %zu",
				 w->key.n, p->name, p->key.n);
	return marks_check_value(w, err);
}

int marks_parse(const struct pipeline_settings *p, const char *text, char **out,
		struct error *err)
{
	json_error_t where;
	json_t *json = json_loads(text, JSON_DECODE_ANY, &where);
	const json_t *mark = marks_unwrap(p, json);
	struct watermark w;
	struct error why = ERROR_INIT;
	int rc = 0;

	if (!json)
		return error_set(err, ERROR_CONFIG,
				 "the mark is not JSON: %s (at %d)", where.text,
				 where.position);
	*out = NULL;
	watermark_init(&w);
	if (json_is_null(mark))
		goto out;
	if (watermark_from_json(&w, mark, &why))
		rc = error_set(err, ERROR_CONFIG, "%s", why.message);
	else
		rc = marks_check(p, &w, err);
	if (!rc)
		*out = watermark_to_text(&w);
out:
	watermark_release(&w);
	json_decref(json);
	return rc;
}

static bool marks_same_place(const struct watermark *w, const char *stored)
{
	struct error ignored = ERROR_INIT;
	struct watermark now;
	bool same;

	watermark_init(&now);
	same = stored && !watermark_from_text(&now, stored, &ignored) &&
	       now.keyless && now.open == w->open && now.value && w->value &&
	       !strcmp(now.value, w->value);
	watermark_release(&now);
	return same;
}

int marks_drop_open(const struct pipeline_settings *p, char **mark,
		    struct error *err)
{
	struct watermark w;
	struct mark now;
	int rc;

	watermark_init(&w);
	mark_init(&now);
	rc = *mark ? watermark_from_text(&w, *mark, err) : 0;
	if (!rc && w.keyless)
		rc = marks_get_destination(p, &now, err);
	if (!rc && w.keyless && !marks_same_place(&w, now.watermark)) {
		w.keyless = false;
		free(*mark);
		*mark = watermark_to_text(&w);
	}
	mark_release(&now);
	watermark_release(&w);
	return rc;
}

static int marks_put_destination(const struct pipeline_settings *p,
				 const char *watermark, struct error *err)
{
	struct destination *d = NULL;
	struct target target;
	int rc = registry_open_destination(p->destination, &d, err);

	if (rc)
		return rc;
	marks_target(p, &target);
	rc = d->ops->set_watermark(d, &target, watermark, err);
	d->ops->close(d);
	return rc;
}

int marks_put(const struct settings *s, const struct pipeline_settings *p,
	      const char *watermark, struct error *err)
{
	struct store *store = NULL;
	int rc = state_open(s, &store, err);

	if (!rc)
		rc = marks_put_destination(p, watermark, err);
	if (!rc)
		rc = store_mark_set(store, p->name, NULL, watermark, err);
	store_close(store);
	return rc;
}
