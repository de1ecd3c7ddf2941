#include "core/sync/pace/desk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/units.h"
#include "core/store/pipelines.h"

void pace_view_release(struct pace_view *v)
{
	pace_limits_release(&v->limits);
	json_decref(v->set);
	free(v->changed_by);
	memset(v, 0, sizeof(*v));
}

/* Puts what was set into `out`. */
static int desk_find(struct store *store, const struct pipeline_settings *p,
		     struct pace_view *out, struct error *err)
{
	struct pace_record found;
	int rc = store_pace_get(store, p->name, &found, err);

	if (rc)
		return rc;
	out->changed_at = found.changed_at;
	out->changed_by = xstrdup(found.changed_by ? found.changed_by : "");
	out->set = found.settings ? json_loads(found.settings, 0, NULL) : NULL;
	if (found.settings && !json_is_object(out->set))
		rc = error_set(err, ERROR_CONFIG,
			       "pace of %s: what the state store has is no "
			       "JSON object; tidemark pace %s --clear removes "
			       "it",
			       p->name, settings_call(p));
	pace_record_release(&found);
	return rc;
}

int pace_desk_look(struct store *store, const struct pipeline_settings *p,
		   struct pace_view *out, struct error *err)
{
	json_t *none = json_object();
	int rc;

	memset(out, 0, sizeof(*out));
	out->p = p;
	rc = desk_find(store, p, out, err);
	if (!rc)
		rc = settings_pace_limits(p, out->set ? out->set : none,
					  &out->limits, err);
	json_decref(none);
	if (rc)
		pace_view_release(out);
	return rc;
}

static int desk_set_word(json_t *set, const char *word, struct error *err)
{
	const char *equals = strchr(word, '=');
	char *key;

	if (!equals || equals == word)
		return error_set(err, ERROR_CONFIG,
				 "\"%.80s\" is no KEY=VALUE, such as "
				 "rows_per_second=500",
				 word);
	key = xstrndup(word, (size_t)(equals - word));
	if (json_object_set_new(set, key, json_string(equals + 1)))
		error_set(err, ERROR_CONFIG, "%.80s: no text", key);
	free(key);
	return -(int)err->code;
}

int pace_desk_change(struct store *store, const struct pipeline_settings *p,
		     bool clear, char *const *words, size_t n, const char *who,
		     struct error *err)
{
	struct pace_limits limits = { 0 };
	struct pace_view view = { .set = NULL };
	char *text = NULL;
	int rc = clear ? 0 : desk_find(store, p, &view, err);
	json_t *set = view.set ? json_incref(view.set) : json_object();

	for (size_t i = 0; !rc && i < n; i++)
		rc = desk_set_word(set, words[i], err);
	if (!rc)
		rc = settings_pace_limits(p, set, &limits, err);
	if (!rc && json_object_size(set))
		text = json_dumps(set, JSON_COMPACT);
	if (!rc)
		rc = store_pace_set(store, p->name, text, who, err);
	pace_limits_release(&limits);
	pace_view_release(&view);
	json_decref(set);
	free(text);
	return rc;
}

static void desk_each(const struct pace_view *v, const char *key,
		      const struct strbuf *value,
		      void (*each)(void *ctx, const char *key,
				   const char *value, bool set),
		      void *ctx)
{
	each(ctx, key, value->data, json_object_get(v->set, key) != NULL);
}

void pace_view_each(const struct pace_view *v,
		    void (*each)(void *ctx, const char *key, const char *value,
				 bool set),
		    void *ctx)
{
	const struct pace_limits *l = &v->limits;
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "%" PRId64, l->rows_per_second);
	desk_each(v, "rows_per_second", &sb, each, ctx);
	strbuf_reset(&sb);
	units_print_size(&sb, l->bytes_per_second);
	desk_each(v, "bytes_per_second", &sb, each, ctx);
	strbuf_reset(&sb);
	units_print_duration(&sb, l->replica_lag_us);
	desk_each(v, "replica_lag", &sb, each, ctx);
	strbuf_reset(&sb);
	strbuf_addf(&sb, "%" PRId64, l->max_active);
	desk_each(v, "max_active", &sb, each, ctx);
	strbuf_reset(&sb);
	strbuf_addstr(&sb, l->pause_file ? l->pause_file : "");
	desk_each(v, "pause_file", &sb, each, ctx);
	strbuf_release(&sb);
}

static void desk_add(void *ctx, const char *key, const char *value, bool set)
{
	json_t *object = ctx;

	(void)set;
	json_object_set_new(object, key, json_string(value));
}

json_t *pace_view_json(const struct pace_view *v)
{
	char changed[CLOCK_TEXT_SIZE];
	json_t *pace = json_object();

	pace_view_each(v, desk_add, pace);
	json_object_set_new(pace, "rows_per_second",
			    json_integer(v->limits.rows_per_second));
	json_object_set_new(pace, "bytes_per_second",
			    json_integer(v->limits.bytes_per_second));
	json_object_set_new(pace, "max_active",
			    json_integer(v->limits.max_active));
	clock_format_utc(v->changed_at, changed);
	return json_pack(
		"{s:s, s:o, s:o, s:o, s:o}", "pipeline", v->p->name, "pace",
		pace, "set", v->set ? json_incref(v->set) : json_null(),
		"changed_at", v->set ? json_string(changed) : json_null(),
		"changed_by",
		v->set && *v->changed_by ? json_string(v->changed_by)
					 : json_null());
}
