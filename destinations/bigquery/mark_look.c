#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "destinations/bigquery/internal.h"

static void mark_take(struct existing *e, struct bigquery_rows *rows,
		      const struct bigquery_place *p)
{
	const char *cells[7];
	bool append = strcmp(p->name, p->data) != 0;
	int64_t numbers[7];

	for (size_t i = 0; i < 7; i++) {
		cells[i] = bigquery_rows_cell(rows, i, NULL);
		numbers[i] = cells[i] ? strtoll(cells[i], NULL, 10) : 0;
	}
	e->has_mark = true;
	e->mark.found = true;
	e->mark.batch_id = xstrdup(cells[1] ? cells[1] : "");
	e->mark.fence = numbers[2];
	/* Pipelines that append to one table share its numbers, which
	 * rows_total is the highest of. */
	e->mark.rows_total = numbers[append ? 6 : 3];
	e->known = cells[4] && !strcmp(cells[4], p->name);
	if (!e->known)
		return;
	e->mark.watermark = xstrdup(cells[0]);
	e->delivered = numbers[5];
}

static void mark_take_row(struct existing *e, struct bigquery_rows *rows,
			  const struct bigquery_place *p, const char *pipeline)
{
	const char *created = bigquery_rows_cell(rows, 7, NULL);
	const char *written = bigquery_rows_cell(rows, 8, NULL);
	const char *name = bigquery_rows_cell(rows, 9, NULL);

	if (name && strcmp(name, pipeline) != 0) {
		strlist_add(&e->mark.others, name);
		strlist_add(&e->mark.others, bigquery_rows_cell(rows, 0, NULL));
		return;
	}
	mark_take(e, rows, p);
	e->written_us = written ? strtoll(written, NULL, 10) : 0;
	e->created = e->known && created && !strcmp(created, "true");
}

int bigquery_mark_look(struct existing *e, struct bigquery_destination *d,
		       const struct bigquery_place *p, const char *pipeline,
		       struct error *err)
{
	char *sql = xstrfmt(
		"SELECT watermark, batch_id, fence, rows_total, target, "
		"target_rows, (SELECT MAX(m.rows_total) FROM %s m WHERE "
		"m.target = w.target), created_target, "
		"UNIX_MICROS(updated_at), pipeline FROM %s w WHERE "
		"pipeline = @pipeline OR (target = @target AND watermark IS "
		"NOT NULL) ORDER BY pipeline",
		p->quoted_mark, p->quoted_mark);
	const struct bigquery_parameter values[] = {
		{ .name = "pipeline", .type = "STRING", .value = pipeline },
		{ .name = "target", .type = "STRING", .value = p->name },
	};
	const struct bigquery_query query = { .sql = sql,
					      .parameters = values,
					      .n_parameters = 2 };
	struct bigquery_rows *rows = NULL;
	struct error failed = ERROR_INIT;
	int rc = bigquery_run(d->client, &query, 1000, &rows, NULL, &failed);

	/* No table of marks. */
	e->has_mark_table = !rc;
	if (rc == -ERROR_SCHEMA && strstr(failed.message, NAME_WATERMARK_TABLE))
		rc = 0;
	else if (rc)
		rc = error_set(err, failed.code, "%s", failed.message);
	error_clear(&failed);
	while (!rc && rows && bigquery_rows_next(rows, &failed))
		mark_take_row(e, rows, p, pipeline);
	if (!rc && failed.code)
		rc = error_set(err, failed.code, "%s", failed.message);
	bigquery_rows_free(rows);
	free(sql);
	return rc;
}
