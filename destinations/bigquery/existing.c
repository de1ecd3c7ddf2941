#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "destinations/bigquery/internal.h"

static const char *existing_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

/* The API's old names of types -> those of SQL. */
static const struct {
	const char *api, *sql;
} existing_types[] = {
	{ "INTEGER", "INT64" },
	{ "FLOAT", "FLOAT64" },
	{ "BOOLEAN", "BOOL" },
	{ "RECORD", "STRUCT" },
};

static char *existing_type(const json_t *field)
{
	const char *type = existing_text(field, "type");
	const char *precision = existing_text(field, "precision");
	const char *scale = existing_text(field, "scale");
	const char *length = existing_text(field, "maxLength");
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(existing_types); i++)
		if (!strcmp(type, existing_types[i].api))
			type = existing_types[i].sql;
	strbuf_addstr(&sb, type);
	if (*precision)
		strbuf_addf(&sb, "(%s,%s)", precision, *scale ? scale : "0");
	else if (*length)
		strbuf_addf(&sb, "(%s)", length);
	if (!strcmp(existing_text(field, "mode"), "REPEATED")) {
		char *array = xstrfmt("ARRAY<%s>", sb.data);

		strbuf_release(&sb);
		return array;
	}
	return strbuf_detach(&sb);
}

static void existing_columns(struct bigquery_existing *e, const json_t *table)
{
	const json_t *fields =
		json_object_get(json_object_get(table, "schema"), "fields");
	size_t n = json_array_size(fields);

	e->columns = xcalloc(n + 1, sizeof(*e->columns));
	for (size_t i = 0; i < n; i++) {
		const json_t *field = json_array_get(fields, i);
		struct bigquery_existing_column *c =
			&e->columns[e->n_columns++];

		c->name = xstrdup(existing_text(field, "name"));
		c->type = existing_type(field);
		c->not_null = !strcmp(existing_text(field, "mode"), "REQUIRED");
		c->has_default =
			*existing_text(field, "defaultValueExpression") != '\0';
	}
}

static bool existing_is_table(const json_t *table)
{
	return !strcmp(existing_text(table, "type"), "TABLE");
}

static void existing_take_data(struct bigquery_existing *e, const json_t *table)
{
	e->has_data = existing_is_table(table);
	e->data_is_view = !e->has_data;
	e->rows = strtoll(existing_text(table, "numRows"), NULL, 10);
	existing_columns(e, table);
}

static int existing_look_data(struct bigquery_existing *e,
			      struct bigquery_destination *d,
			      const struct bigquery_place *p, struct error *err)
{
	json_t *table = NULL;
	int rc =
		bigquery_get_table(d->client, p->dataset, p->name, &table, err);

	if (!rc && table) {
		e->name_is_table = existing_is_table(table);
		e->name_is_view = !e->name_is_table;
		e->view = xstrdup(
			existing_text(json_object_get(table, "view"), "query"));
	}
	if (!rc && strcmp(p->data, p->name) != 0) {
		json_decref(table);
		rc = bigquery_get_table(d->client, p->dataset, p->data, &table,
					err);
	}
	if (!rc && table)
		existing_take_data(e, table);
	json_decref(table);
	return rc;
}

int bigquery_existing_look(struct bigquery_existing *e,
			   struct bigquery_destination *d,
			   const struct bigquery_place *p, const char *pipeline,
			   struct error *err)
{
	int rc;

	memset(e, 0, sizeof(*e));
	checkpoint_init(&e->mark);
	rc = existing_look_data(e, d, p, err);
	return rc ? rc : bigquery_mark_look(e, d, p, pipeline, err);
}

void bigquery_existing_release(struct bigquery_existing *e)
{
	for (size_t i = 0; i < e->n_columns; i++) {
		free(e->columns[i].name);
		free(e->columns[i].type);
	}
	free(e->columns);
	free(e->view);
	checkpoint_release(&e->mark);
	memset(e, 0, sizeof(*e));
}

/* BigQuery's names of columns are case-blind. */
long bigquery_existing_find(const struct bigquery_existing *e, const char *name)
{
	for (size_t i = 0; i < e->n_columns; i++)
		if (!strcasecmp(e->columns[i].name, name))
			return (long)i;
	return -1;
}
