#include <stdlib.h>
#include <string.h>

#include "clients/bigquery_reply.h"
#include "core/base/alloc.h"
#include "destinations/bigquery/internal.h"

/* The text of a type; a STRUCT has its members, which the service nests 15 deep
 * at most. */
static char *existing_type_of(const json_t *field)
{
	const char *precision = bigquery_reply_text(field, "precision");
	const char *scale = bigquery_reply_text(field, "scale");
	const char *length = bigquery_reply_text(field, "maxLength");
	const json_t *members = json_object_get(field, "fields");
	struct strbuf sb = STRBUF_INIT;

	strbuf_addstr(&sb, bigquery_reply_type(field));
	for (size_t i = 0; i < json_array_size(members); i++) {
		const json_t *member = json_array_get(members, i);
		char *inner = existing_type_of(member);

		strbuf_addf(&sb, "%s`%s` %s", i ? ", " : "<",
			    bigquery_reply_text(member, "name"), inner);
		free(inner);
	}
	strbuf_addstr(&sb, json_array_size(members) ? ">" : "");
	if (*precision)
		strbuf_addf(&sb, "(%s,%s)", precision, *scale ? scale : "0");
	else if (*length)
		strbuf_addf(&sb, "(%s)", length);
	if (!strcmp(bigquery_reply_text(field, "mode"), "REPEATED")) {
		char *array = xstrfmt("ARRAY<%s>", sb.data);

		strbuf_release(&sb);
		return array;
	}
	return strbuf_detach(&sb);
}

static void existing_columns(struct existing *e, const json_t *table)
{
	const json_t *fields =
		json_object_get(json_object_get(table, "schema"), "fields");
	size_t n = json_array_size(fields);

	e->columns = xcalloc(n + 1, sizeof(*e->columns));
	for (size_t i = 0; i < n; i++) {
		const json_t *field = json_array_get(fields, i);
		struct existing_column *c = &e->columns[e->n_columns++];

		c->name = xstrdup(bigquery_reply_text(field, "name"));
		c->type = existing_type_of(field);
		c->not_null =
			!strcmp(bigquery_reply_text(field, "mode"), "REQUIRED");
		c->initial = xstrdup(
			bigquery_reply_text(field, "defaultValueExpression"));
		c->has_default = *c->initial != '\0';
	}
}

static bool existing_is_table(const json_t *table)
{
	return !strcmp(bigquery_reply_text(table, "type"), "TABLE");
}

static void existing_take_data(struct existing *e,
			       const struct bigquery_destination *d,
			       const json_t *table)
{
	e->has_data = existing_is_table(table);
	e->data_is_view = !e->has_data;
	/* An emulator may tell another time whenever it is asked. */
	if (!d->bare)
		e->identity =
			xstrdup(bigquery_reply_text(table, "creationTime"));
	e->rows = strtoll(bigquery_reply_text(table, "numRows"), NULL, 10);
	existing_columns(e, table);
}

int bigquery_existing_data(struct existing *e, struct bigquery_destination *d,
			   const struct bigquery_place *p, struct error *err)
{
	json_t *table = NULL;
	int rc =
		bigquery_get_table(d->client, p->dataset, p->data, &table, err);

	if (!rc && table)
		existing_take_data(e, d, table);
	json_decref(table);
	return rc;
}

static int existing_look_all(struct existing *e, struct bigquery_destination *d,
			     const struct bigquery_place *p, struct error *err)
{
	bool apart = strcmp(p->data, p->name) != 0;
	json_t *table = NULL;
	int rc =
		bigquery_get_table(d->client, p->dataset, p->name, &table, err);

	if (!rc && table) {
		e->name_is_table = existing_is_table(table);
		e->name_is_view = !e->name_is_table;
		e->view = xstrdup(bigquery_reply_text(
			json_object_get(table, "view"), "query"));
	}
	if (!rc && table && !apart)
		existing_take_data(e, d, table);
	json_decref(table);
	return rc || !apart ? rc : bigquery_existing_data(e, d, p, err);
}

int bigquery_existing_look(struct existing *e, struct bigquery_destination *d,
			   const struct bigquery_place *p, const char *pipeline,
			   struct error *err)
{
	int rc;

	memset(e, 0, sizeof(*e));
	checkpoint_init(&e->mark);
	rc = existing_look_all(e, d, p, err);
	return rc ? rc : bigquery_mark_look(e, d, p, pipeline, err);
}
