#include "core/data/watermark.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/nearest.h"
#include "core/base/strbuf.h"

static const char *const watermark_members[] = {
	"strategy", "column", "value",	  "key",  "pending",
	"columns",  "shape",  "identity", "mode", "open",
};

void watermark_init(struct watermark *w)
{
	memset(w, 0, sizeof(*w));
}

void watermark_release(struct watermark *w)
{
	if (!w)
		return;
	free(w->column);
	free(w->value);
	strlist_release(&w->key);
	json_decref(w->pending);
	json_decref(w->columns);
	json_decref(w->shape);
	json_decref(w->identity);
	watermark_init(w);
}

void watermark_copy(struct watermark *dst, const struct watermark *src)
{
	watermark_init(dst);
	dst->strategy = src->strategy;
	dst->update = src->update;
	dst->keyless = src->keyless;
	dst->open = src->open;
	dst->column = xstrdup(src->column);
	dst->value = xstrdup(src->value);
	strlist_copy(&dst->key, &src->key);
	/* A deep copy: one thread reads a batch's mark while the connector goes
	 * on changing its own in another thread. */
	dst->pending = json_deep_copy(src->pending);
	dst->columns = json_deep_copy(src->columns);
	dst->shape = json_deep_copy(src->shape);
	dst->identity = json_deep_copy(src->identity);
}

static bool watermark_text_equal(const char *a, const char *b)
{
	if (!a || !b)
		return a == b;
	return !strcmp(a, b);
}

static bool watermark_part_equal(const json_t *a, const json_t *b)
{
	if (!a || !b)
		return a == b;
	return json_equal(a, b);
}

static bool watermark_key_equal(const struct strlist *a,
				const struct strlist *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		if (strcmp(a->items[i], b->items[i]) != 0)
			return false;
	}
	return true;
}

bool watermark_equal(const struct watermark *a, const struct watermark *b)
{
	return a->strategy == b->strategy && a->update == b->update &&
	       a->keyless == b->keyless && a->open == b->open &&
	       watermark_text_equal(a->column, b->column) &&
	       watermark_text_equal(a->value, b->value) &&
	       watermark_key_equal(&a->key, &b->key) &&
	       watermark_part_equal(a->pending, b->pending) &&
	       watermark_part_equal(a->columns, b->columns) &&
	       watermark_part_equal(a->shape, b->shape) &&
	       watermark_part_equal(a->identity, b->identity);
}

/* NULL if a part is not UTF-8. Without a key, rows at the value itself are read
 * again, and nothing is lost. An approximate key would lose rows. */
static json_t *watermark_key_json(const struct strlist *key)
{
	json_t *list = json_array();

	for (size_t i = 0; i < key->n; i++) {
		if (json_array_append_new(list, json_string(key->items[i]))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

json_t *watermark_to_json(const struct watermark *w)
{
	json_t *json = json_object();

	json_object_set_new(json, "strategy",
			    json_string(strategy_name(w->strategy)));
	if (w->column)
		json_object_set_new(json, "column", json_string(w->column));
	if (w->value)
		json_object_set_new(json, "value", json_string(w->value));
	if (w->value && w->key.n)
		json_object_set_new(json, "key", watermark_key_json(&w->key));
	if (w->pending)
		json_object_set_new(json, "pending",
				    json_deep_copy(w->pending));
	if (w->columns)
		json_object_set_new(json, "columns",
				    json_deep_copy(w->columns));
	if (w->shape)
		json_object_set_new(json, "shape", json_deep_copy(w->shape));
	if (w->identity)
		json_object_set_new(json, "identity",
				    json_deep_copy(w->identity));
	if (w->update)
		json_object_set_new(json, "mode", json_string("update"));
	if (w->keyless)
		json_object_set_new(json, "open", json_integer(w->open));
	return json;
}

char *watermark_to_text(const struct watermark *w)
{
	json_t *json = watermark_to_json(w);
	char *dumped = json_dumps(json, JSON_COMPACT);
	char *text = xstrdup(dumped);

	free(dumped);
	json_decref(json);
	return text;
}

/* Text of a string, or of an integer as people write one; NULL otherwise. */
static char *watermark_scalar_text(const json_t *json)
{
	if (json_is_string(json) && json_string_length(json) > 0)
		return xstrdup(json_string_value(json));
	if (json_is_integer(json))
		return xstrfmt("%" JSON_INTEGER_FORMAT,
			       json_integer_value(json));
	return NULL;
}

static int watermark_read_text(char **out, const json_t *json,
			       const char *member, struct error *err)
{
	const json_t *found = json_object_get(json, member);

	if (!found || json_is_null(found))
		return 0;
	*out = watermark_scalar_text(found);
	if (!*out)
		return error_set(err, ERROR_DATA,
				 "watermark: \"%s\" must be a text that is "
				 "not empty",
				 member);
	return 0;
}

static int watermark_read_key(struct strlist *out, const json_t *json,
			      struct error *err)
{
	const json_t *list = json_object_get(json, "key");

	if (!list || json_is_null(list))
		return 0;
	if (!json_is_array(list))
		return error_set(err, ERROR_DATA,
				 "watermark: \"key\" must be a list of texts");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *part = json_array_get(list, i);
		char *text = json_is_string(part)
				     ? xstrdup(json_string_value(part))
				     : watermark_scalar_text(part);
		if (!text)
			return error_set(err, ERROR_DATA,
					 "watermark: part %zu of \"key\" must "
					 "be a text",
					 i + 1);
		strlist_add(out, text);
		free(text);
	}
	return 0;
}

static int watermark_read_part(json_t **out, const json_t *json,
			       const char *member, struct error *err)
{
	const json_t *found = json_object_get(json, member);

	if (!found || json_is_null(found))
		return 0;
	if (!json_is_object(found))
		return error_set(err, ERROR_DATA,
				 "watermark: \"%s\" must be an object", member);
	*out = json_deep_copy(found);
	return 0;
}

static int watermark_refuse_member(const char *member, struct error *err)
{
	const char *near = nearest_name(member, watermark_members,
					ARRAY_SIZE(watermark_members));
	int rc = error_set(err, ERROR_DATA,
			   "watermark: unknown member \"%s\"; allowed are "
			   "strategy, column, value, key, pending, "
			   "columns, shape, identity, mode, open",
			   member);

	if (near)
		error_hint(err, "(did you mean \"%s\"?)", near);
	return rc;
}

static int watermark_check_members(const json_t *json, struct error *err)
{
	const char *member;
	json_t *value;

	json_object_foreach((json_t *)json, member, value)
	{
		bool known = false;

		for (size_t i = 0; i < ARRAY_SIZE(watermark_members); i++)
			known |= !strcmp(member, watermark_members[i]);
		if (!known)
			return watermark_refuse_member(member, err);
	}
	return 0;
}

static int watermark_read_strategy(enum strategy *out, const json_t *json,
				   struct error *err)
{
	const char *text = json_string_value(json_object_get(json, "strategy"));

	if (text && strategy_parse(text, out))
		return 0;
	return error_set(err, ERROR_DATA,
			 "watermark: \"strategy\" must be timestamp, xmin or "
			 "sequence%s%s%s",
			 text ? ", not \"" : "", text ? text : "",
			 text ? "\"" : "");
}

/* Only mode update says something about the rows at the target, so it alone is
 * kept. */
static int watermark_read_mode(bool *update, const json_t *json,
			       struct error *err)
{
	const json_t *found = json_object_get(json, "mode");
	const char *text = json_string_value(found);

	*update = text && !strcmp(text, "update");
	if (*update || !found || json_is_null(found))
		return 0;
	return error_set(err, ERROR_DATA,
			 "watermark: \"mode\" is \"update\" or left out");
}

static int watermark_read_open(struct watermark *out, const json_t *json,
			       struct error *err)
{
	const json_t *found = json_object_get(json, "open");

	if (!found || json_is_null(found))
		return 0;
	out->keyless = true;
	out->open = json_integer_value(found);
	if (json_is_integer(found) && out->open >= 0)
		return 0;
	return error_set(err, ERROR_DATA,
			 "watermark: \"open\" must be a number of rows");
}

/* 1 to 20 digits that are no more than 2^64 - 1. */
static bool watermark_is_xid(const char *text)
{
	static const char largest[] = "18446744073709551615";
	size_t n = strspn(text, "0123456789");

	if (n == 0 || text[n] || n > strlen(largest))
		return false;
	return n < strlen(largest) || strcmp(text, largest) <= 0;
}

/* Check the parts that the strategy needs. */
static int watermark_validate(const struct watermark *w, struct error *err)
{
	const char *name = strategy_name(w->strategy);

	if (!strategy_has_column(w->strategy) && w->column)
		return error_set(err, ERROR_DATA,
				 "watermark: strategy %s has no \"column\"",
				 name);
	if (w->strategy == STRATEGY_NONE && w->value)
		return error_set(err, ERROR_DATA,
				 "watermark: strategy none has no \"value\"");
	if (strategy_has_column(w->strategy) && !w->column)
		return error_set(err, ERROR_DATA,
				 "watermark: strategy %s needs \"column\"",
				 name);
	if (w->strategy == STRATEGY_XMIN && w->value &&
	    !watermark_is_xid(w->value))
		return error_set(err, ERROR_DATA,
				 "watermark: \"value\" of strategy xmin must "
				 "be a transaction id in decimal, not \"%s\"",
				 w->value);
	if (w->key.n && !w->value)
		return error_set(err, ERROR_DATA,
				 "watermark: \"key\" without \"value\"");
	return 0;
}

int watermark_from_json(struct watermark *out, const json_t *json,
			struct error *err)
{
	struct watermark w;
	int rc;

	watermark_init(&w);
	if (!json_is_object(json))
		return error_set(err, ERROR_DATA,
				 "watermark: expected a JSON object");
	rc = watermark_check_members(json, err);
	if (!rc)
		rc = watermark_read_strategy(&w.strategy, json, err);
	if (!rc)
		rc = watermark_read_text(&w.column, json, "column", err);
	if (!rc)
		rc = watermark_read_text(&w.value, json, "value", err);
	if (!rc)
		rc = watermark_read_key(&w.key, json, err);
	if (!rc)
		rc = watermark_read_part(&w.pending, json, "pending", err);
	if (!rc)
		rc = watermark_read_part(&w.columns, json, "columns", err);
	if (!rc)
		rc = watermark_read_part(&w.shape, json, "shape", err);
	if (!rc)
		rc = watermark_read_part(&w.identity, json, "identity", err);
	if (!rc)
		rc = watermark_read_mode(&w.update, json, err);
	if (!rc)
		rc = watermark_read_open(&w, json, err);
	if (!rc)
		rc = watermark_validate(&w, err);
	if (rc)
		watermark_release(&w);
	else
		*out = w;
	return rc;
}

int watermark_from_text(struct watermark *out, const char *text,
			struct error *err)
{
	json_error_t where;
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &where);
	int rc;

	if (!json)
		return error_set(err, ERROR_DATA,
				 "watermark: not JSON: %s (line %d, column %d)",
				 where.text, where.line, where.column);
	rc = watermark_from_json(out, json, err);
	json_decref(json);
	return rc;
}
