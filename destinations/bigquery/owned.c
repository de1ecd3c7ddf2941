#include <stdlib.h>
#include <string.h>

#include "clients/bigquery_reply.h"
#include "core/base/alloc.h"
#include "destinations/bigquery/internal.h"

/* As bigquery_mark_create_table makes them. */
static const struct {
	const char *name, *type;
} owned_columns[] = {
	{ "pipeline", "STRING" },     { "watermark", "STRING" },
	{ "batch_id", "STRING" },     { "fence", "INT64" },
	{ "rows_total", "INT64" },    { "updated_at", "TIMESTAMP" },
	{ "created_target", "BOOL" }, { "target", "STRING" },
	{ "target_rows", "INT64" },
};

static const json_t *owned_find(const json_t *fields, const char *name)
{
	for (size_t i = 0; i < json_array_size(fields); i++) {
		const json_t *field = json_array_get(fields, i);

		if (!strcmp(bigquery_reply_text(field, "name"), name))
			return field;
	}
	return NULL;
}

/* The table's fault: caller frees; NULL: none. */
static char *owned_fault(const json_t *table)
{
	const char *type = bigquery_reply_text(table, "type");
	const json_t *fields =
		json_object_get(json_object_get(table, "schema"), "fields");

	if (strcmp(type, "TABLE") != 0)
		return xstrfmt("is a %.40s, and no table", type);
	for (size_t i = 0; i < ARRAY_SIZE(owned_columns); i++) {
		const json_t *field = owned_find(fields, owned_columns[i].name);

		if (!field ||
		    strcmp(bigquery_reply_type(field), owned_columns[i].type))
			return xstrfmt("has no column %s of the type %s",
				       owned_columns[i].name,
				       owned_columns[i].type);
	}
	return NULL;
}

int bigquery_owned_check(struct bigquery_destination *d,
			 const struct bigquery_place *p, struct error *err)
{
	json_t *table = NULL;
	char *fault;
	int rc;

	if (d->marks_seen)
		return 0;
	rc = bigquery_get_table(d->client, p->dataset, NAME_WATERMARK_TABLE,
				&table, err);
	if (rc || !table)
		return rc;
	fault = owned_fault(table);
	if (fault)
		rc = error_set(err, ERROR_SCHEMA,
			       "table %s." NAME_WATERMARK_TABLE
			       ", where marks are kept, %s: somebody else made "
			       "it, and what it says would be taken for "
			       "Tidemark's own marks" ERROR_FIX
			       "; " NAME_MARKS_FIX,
			       p->dataset, fault);
	d->marks_seen = !fault;
	d->marks_unsafe = fault != NULL;
	free(fault);
	json_decref(table);
	return rc;
}
