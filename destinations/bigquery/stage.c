#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/base/retry.h"
#include "destinations/bigquery/encode.h"
#include "destinations/bigquery/internal.h"

/* The next run, or BigQuery, takes away the stage of a killed run. */
#define STAGE_LIVES_US (INT64_C(24) * 3600 * US_PER_SECOND)
#define STAGE_PIECE    ((size_t)256 << 10)

static json_t *stage_fields(const struct bigquery_destination *d)
{
	json_t *fields = json_array();

	for (size_t i = 0; i < d->target->schema->n_columns; i++) {
		char *name = xstrfmt("c%zu", i);

		json_array_append_new(fields,
				      bigquery_type_field(&d->types[i], name));
		free(name);
	}
	json_array_append_new(fields, json_pack("{s:s, s:s}", "name", "r",
						"type", "INTEGER"));
	return fields;
}

/* A dry run's is not swept by a run. */
void bigquery_stage_name(struct bigquery_destination *d)
{
	char *whose = xstrfmt("%s%s", d->target->pipeline,
			      d->target->preview ? ", dry run" : "");
	char *prefix = name_stage(whose);

	free(d->stage);
	free(d->quoted_stage);
	d->stage = xstrfmt("%s_%08" PRIx32, prefix, (uint32_t)retry_random());
	d->quoted_stage = bigquery_place_quote(d, d->place.dataset, d->stage);
	d->has_stage = false;
	free(prefix);
	free(whose);
}

int bigquery_stage_make(struct bigquery_destination *d, struct error *err)
{
	json_t *fields;
	int rc;

	if (d->has_stage)
		return 0;
	fields = stage_fields(d);
	rc = bigquery_make_stage(d->client, d->place.dataset, d->stage, fields,
				 clock_now_us() + STAGE_LIVES_US, err);
	json_decref(fields);
	if (rc)
		return rc;
	d->has_stage = true;
	return failpoint("stage_created", err);
}

static int stage_write(struct bigquery_destination *d, struct bigquery_load *l,
		       const struct batch *b, bool keys_only, struct error *err)
{
	struct strbuf text = STRBUF_INIT;
	int rc = 0;

	for (size_t row = 0; !rc && row < b->n_rows; row++) {
		rc = bigquery_encode_row(&text, b, row, d->types, keys_only,
					 d->target->table, err);
		if (!rc && text.len >= STAGE_PIECE) {
			rc = bigquery_load_write(l, text.data, text.len, err);
			strbuf_reset(&text);
		}
	}
	if (!rc && text.len)
		rc = bigquery_load_write(l, text.data, text.len, err);
	strbuf_release(&text);
	return rc;
}

/* The service names columns of the stage. */
static void stage_blame(struct bigquery_destination *d, struct error *err)
{
	for (size_t i = 0; i < d->target->schema->n_columns; i++) {
		char *field = xstrfmt("c%zu", i);
		const char *at = strstr(err->message, field);
		size_t n = strlen(field);
		bool whole = at &&
			     (at == err->message || strchr(" .\"'", at[-1])) &&
			     strchr(" .,:;\"'", at[n]);

		free(field);
		if (whole) {
			error_prefix(err, "column %s",
				     d->target->schema->columns[i].name);
			return;
		}
	}
}

int bigquery_stage_load(struct bigquery_destination *d, const struct batch *b,
			bool keys_only, struct error *err)
{
	struct bigquery_load *l = NULL;
	char *id = NULL;
	int64_t rows = -1;
	int rc = bigquery_stage_make(d, err);

	if (rc)
		return rc;
	id = xstrfmt("%s_%" PRId64, d->stage, ++d->n_loads);
	rc = bigquery_load_begin(&l, d->client, id, d->place.dataset, d->stage,
				 err);
	if (!rc)
		rc = stage_write(d, l, b, keys_only, err);
	if (!rc) {
		rc = bigquery_load_finish(l, &rows, err);
		if (rc == -ERROR_DATA)
			stage_blame(d, err);
	}
	if (!rc && rows >= 0 && rows != (int64_t)b->n_rows)
		rc = error_set(err, ERROR_BUG,
			       "table %s: %zu rows were sent, and BigQuery "
			       "took %" PRId64,
			       d->target->table, b->n_rows, rows);
	bigquery_load_free(l);
	free(id);
	if (rc) {
		error_prefix(err, "table %s", d->target->table);
		return rc;
	}
	return failpoint("stage_full", err);
}

static bool stage_is_own(const struct bigquery_destination *d,
			 const struct bigquery_place *p, const char *name)
{
	return (d->stage && !strcmp(name, d->stage)) ||
	       (d->target && d->target->refresh && !strcmp(name, p->anew));
}

int bigquery_stage_sweep(struct bigquery_destination *d,
			 const struct bigquery_place *p, const char *pipeline,
			 bool *swept, struct error *err)
{
	struct strlist tables = STRLIST_INIT;
	char *prefix = name_stage(pipeline);
	int rc = bigquery_list_tables(d->client, p->dataset, &tables, err);

	*swept = false;
	for (size_t i = 0; !rc && i + 1 < tables.n; i += 2) {
		const char *name = tables.items[i];

		if (strncmp(name, prefix, strlen(prefix)) != 0 ||
		    stage_is_own(d, p, name))
			continue;
		*swept = *swept || !strcmp(name, p->anew);
		rc = bigquery_drop_table(d->client, p->dataset, name, err);
		if (!rc)
			rc = failpoint("stage_dropped", err);
	}
	strlist_release(&tables);
	free(prefix);
	return rc;
}

/* A run that is stopped cannot, nor one whose requests get no answer: the next
 * one does it. */
void bigquery_stage_drop(struct bigquery_destination *d)
{
	struct error ignored = ERROR_INIT;
	bool reached = d->client && !bigquery_is_unreached(d->client);

	if (reached && d->has_stage)
		bigquery_drop_table(d->client, d->place.dataset, d->stage,
				    &ignored);
	d->has_stage = false;
	if (reached && d->copy)
		bigquery_drop_table(d->client, d->place.dataset, d->copy,
				    &ignored);
}
