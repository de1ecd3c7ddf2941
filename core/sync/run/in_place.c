#include "core/sync/run/in_place.h"

#include <string.h>

#include "core/data/table_name.h"
#include "core/plugin/naming.h"
#include "core/plugin/registry.h"

/* Only of a server is it known which one it is. */
static bool in_place_may_be(const struct pipeline_settings *p)
{
	struct table_name from = { 0 }, to = { 0 };
	bool may = !*p->source->url.path &&
		   !strcmp(p->source->url.engine, p->destination->url.engine) &&
		   !table_name_parse(&from, p->source_table, NULL) &&
		   !table_name_parse(&to, p->destination_table, NULL) &&
		   !strcmp(from.name, to.name);

	table_name_release(&from);
	table_name_release(&to);
	return may;
}

/* A name may be written in several ways; the rest tells tables apart. */
static bool in_place_same(const json_t *a, const json_t *b)
{
	json_t *x = json_copy((json_t *)a), *y = json_copy((json_t *)b);
	bool known = json_object_get(x, "system_identifier") ||
		     json_object_get(x, "server");
	bool same;

	json_object_del(x, "table");
	json_object_del(y, "table");
	same = known && json_equal(x, y);
	json_decref(x);
	json_decref(y);
	return same;
}

static int in_place_ask(struct connector *c, const struct pipeline_settings *p,
			json_t **identity, struct error *err)
{
	const struct source_spec spec = { .table = p->destination_table,
					  .columns = &p->columns,
					  .key = &p->key };
	struct watermark_spec mark;
	struct schema schema;
	int rc;

	schema_init(&schema);
	settings_watermark_spec(p, &mark);
	rc = source_describe(c, &spec, &mark, &schema, err);
	if (!rc)
		rc = c->ops->identity(c, &spec, identity, err);
	schema_release(&schema);
	return rc;
}

static int in_place_refuse(const struct pipeline_settings *p, struct error *err)
{
	if (p->strategy != STRATEGY_TIMESTAMP)
		return error_set(err, ERROR_CONFIG,
				 "source and destination of %s are the same "
				 "table: only by a timestamp that each change "
				 "moves can mode update tell that a row was "
				 "changed since it was read",
				 p->name);
	if (p->nulls == NULLS_INCLUDE)
		return error_set(err, ERROR_CONFIG,
				 "source and destination of %s are the same "
				 "table: of a row without %s nothing says "
				 "whether it was changed since it was read; "
				 "set watermark.nulls to skip, or fill it",
				 p->name, p->mark_column);
	return 0;
}

int in_place_find(const struct pipeline_settings *p, const json_t *identity,
		  bool *out, struct error *err)
{
	struct connector *c = NULL;
	json_t *other = NULL;
	int rc = 0;

	*out = p->in_place;
	if (!*out && in_place_may_be(p)) {
		rc = registry_open_connector(p->destination, &c, err);
		if (!rc)
			rc = in_place_ask(c, p, &other, err);
		*out = !rc && in_place_same(identity, other);
	}
	if (c)
		c->ops->close(c);
	json_decref(other);
	if (rc && !error_may_pass(err->code)) {
		error_clear(err);
		rc = 0;
	}
	return rc || !*out ? rc : in_place_refuse(p, err);
}
