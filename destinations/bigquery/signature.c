#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "destinations/bigquery/internal.h"

static bool signature_same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static bool signature_same(const struct existing *a, const struct existing *b)
{
	if (a->has_data != b->has_data || a->n_columns != b->n_columns ||
	    !signature_same_text(a->identity, b->identity))
		return false;
	for (size_t i = 0; i < a->n_columns; i++) {
		const struct existing_column *x = &a->columns[i];
		const struct existing_column *y = &b->columns[i];

		if (strcmp(x->name, y->name) != 0 ||
		    strcmp(x->type, y->type) != 0 ||
		    x->not_null != y->not_null ||
		    !signature_same_text(x->initial, y->initial))
			return false;
	}
	return true;
}

/* BigQuery puts a new column behind all others. So a column that was dropped
 * and made again stands behind later ones, and holds NULL. */
static bool signature_reordered(const struct existing *before,
				const struct existing *now)
{
	long last = -1;

	for (size_t i = 0; i < before->n_columns; i++) {
		long at = existing_find(now, before->columns[i].name);

		if (at < 0)
			continue;
		if (at < last)
			return true;
		last = at;
	}
	return false;
}

static bool signature_made_anew(const struct existing *before,
				const struct existing *now)
{
	return now->has_data &&
	       !signature_same_text(before->identity, now->identity);
}

/* Rows that were delivered may have lost values, and their marks do not tell:
 * all are read again. A table without rows is left to prepare, which refuses
 * it. */
static int signature_start_over(struct bigquery_destination *d, bool anew,
				struct error *err)
{
	const char *pipeline = d->target->pipeline;
	struct existing now;
	int rc;

	memset(&now, 0, sizeof(now));
	rc = bigquery_mark_look(&now, d, &d->place, pipeline, err);
	if (!rc)
		rc = writer_check_fence(&d->target->writer, pipeline,
					now.mark.fence, err);
	if (!rc && now.known && now.mark.watermark) {
		now.has_data = true;
		existing_start_over(&now);
		now.created = now.created && !anew;
		rc = bigquery_mark_put(d, &d->place, pipeline, &now, err);
		if (!rc)
			target_say_again(d->target,
					 anew ? "was made anew"
					      : "has a column made anew");
	}
	existing_release(&now);
	return rc;
}

static int signature_found(struct bigquery_destination *d,
			   const struct existing *now, struct error *err)
{
	bool anew = signature_made_anew(&d->prepared, now);
	bool emptied = d->there && !now->rows;
	struct error failed = ERROR_INIT;
	int rc = 0;

	if (!d->target->refresh && !emptied &&
	    (anew || signature_reordered(&d->prepared, now)))
		rc = signature_start_over(d, anew, &failed);
	if (!rc)
		return bigquery_signature_refuse(d->target, err);
	error_clear(err);
	return error_set(err, failed.code, "%s", failed.message);
}

int bigquery_signature_explain(struct bigquery_destination *d, int rc,
			       struct error *err)
{
	bool told = d->altered;
	bool may = rc == -ERROR_SCHEMA || rc == -ERROR_DATA;
	struct error ignored = ERROR_INIT;
	struct existing now;

	d->altered = false;
	if (d->target->preview || !(told || (may && !d->target->refresh)))
		return rc;
	memset(&now, 0, sizeof(now));
	if (!bigquery_existing_data(&now, d, &d->place, &ignored) &&
	    (told || !signature_same(&d->prepared, &now)))
		rc = signature_found(d, &now, err);
	existing_release(&now);
	return rc;
}

/* INFORMATION_SCHEMA shows the present moment, a transaction's reads its begin.
 * If the catalog is the same at the end as before, it has not changed in
 * between, as no time of creation goes back. */
static void signature_select(struct strbuf *sql,
			     const struct bigquery_destination *d)
{
	const char *project = bigquery_project(d->client);
	const char *dataset = d->place.dataset;

	strbuf_addf(sql,
		    "SELECT CONCAT(CAST(MIN(UNIX_MICROS(t.creation_time)) AS "
		    "STRING), ' ', STRING_AGG(CONCAT(c.column_name, ' ', "
		    "c.data_type, ' ', c.is_nullable, ' ', "
		    "COALESCE(c.collation_name, ''), ' ', "
		    "COALESCE(c.column_default, '')), ', ' ORDER BY "
		    "c.ordinal_position)) FROM "
		    "`%s`.`%s`.INFORMATION_SCHEMA.TABLES t JOIN "
		    "`%s`.`%s`.INFORMATION_SCHEMA.COLUMNS c ON c.table_name = "
		    "t.table_name WHERE t.table_name = '%s'",
		    project, dataset, project, dataset, d->place.data);
}

void bigquery_signature_assert(struct strbuf *sql,
			       const struct bigquery_destination *d,
			       const char *more)
{
	if (!d->signature)
		return;
	strbuf_addstr(sql, "ASSERT (");
	signature_select(sql, d);
	strbuf_addf(sql, ") = @signature%s AS 'tidemark: altered';\n", more);
}

static int signature_read(struct bigquery_destination *d, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	struct bigquery_query query = { .sql = NULL };
	struct bigquery_rows *rows = NULL;
	struct error failed = ERROR_INIT;
	const char *text = NULL;
	int rc;

	signature_select(&sql, d);
	query.sql = sql.data;
	rc = bigquery_run(d->client, &query, 1, &rows, NULL, err);
	if (!rc && bigquery_rows_next(rows, &failed))
		text = bigquery_rows_cell(rows, 0, NULL);
	if (!rc && failed.code)
		rc = error_set(err, failed.code, "%s", failed.message);
	if (!rc)
		d->signature = xstrdup(text ? text : "");
	bigquery_rows_free(rows);
	strbuf_release(&sql);
	return rc;
}

int bigquery_signature_hold(struct bigquery_destination *d, struct error *err)
{
	struct existing now;
	int rc = 0;

	if (d->target->preview || d->signature)
		return 0;
	if (!d->bare && d->prepared.has_data)
		rc = signature_read(d, err);
	memset(&now, 0, sizeof(now));
	if (!rc)
		rc = bigquery_existing_data(&now, d, &d->place, err);
	if (!rc && !signature_same(&d->prepared, &now)) {
		rc = signature_found(d, &now, err);
		free(d->signature);
		d->signature = NULL;
	}
	existing_release(&now);
	return rc;
}

/* The run goes by the columns that the DDL has left. Every column of the source
 * has its place there. */
int bigquery_signature_renew(struct bigquery_destination *d, struct error *err)
{
	const struct schema *s = d->target->schema;
	struct existing now;
	int rc;

	memset(&now, 0, sizeof(now));
	rc = bigquery_existing_data(&now, d, &d->place, err);
	for (size_t i = 0; !rc && i < s->n_columns; i++) {
		long at = existing_find(&now, s->columns[i].name);
		char grown[BIGQUERY_TYPE_SIZE];
		enum fit fit =
			at < 0 ? FIT_NARROW
			       : bigquery_type_fit(&d->types[i],
						   now.columns[at].type, grown);

		if (fit != FIT_EXACT && fit != FIT_WIDER)
			rc = bigquery_signature_refuse(d->target, err);
	}
	existing_release(&d->prepared);
	d->prepared = now;
	return rc;
}
