#include <inttypes.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "destinations/bigquery/internal.h"

/* Count the pipeline's rows that meet `more`. */
int bigquery_bare_marks(struct bigquery_destination *d,
			const struct bigquery_place *p, const char *more,
			const struct bigquery_values *v, int64_t *out,
			struct error *err)
{
	struct bigquery_numbers n;
	struct strbuf sql = STRBUF_INIT;
	int rc;

	strbuf_addf(&sql,
		    "SELECT COUNT(*) FROM %s WHERE pipeline = @pipeline AND %s",
		    p->quoted_mark, more);
	rc = bigquery_execute(d, sql.data, v, &n, err);
	if (!rc)
		*out = n.values[0];
	strbuf_release(&sql);
	return rc;
}

/* Nothing tells how many rows an UPDATE has changed. */
int bigquery_bare_move(struct bigquery_destination *d,
		       const struct bigquery_values *v, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int64_t moved = 0;
	int rc;

	strbuf_addf(&sql,
		    "UPDATE %s SET watermark = @watermark, batch_id = @batch, "
		    "fence = @fence, rows_total = @rows_total, updated_at = "
		    "TIMESTAMP_MICROS(@now), target_rows = target_rows + "
		    "@delivered_rows WHERE pipeline = @pipeline AND batch_id = "
		    "@seen AND fence <= @fence",
		    d->place.quoted_mark);
	rc = bigquery_execute(d, sql.data, v, NULL, err);
	strbuf_release(&sql);
	if (!rc)
		rc = bigquery_bare_marks(
			d, &d->place,
			"batch_id = @batch AND fence = @fence AND "
			"updated_at = TIMESTAMP_MICROS(@now)",
			v, &moved, err);
	if (!rc && moved != 1)
		rc = writer_overtaken(d->target->pipeline, NAME_WATERMARK_TABLE,
				      "the rows of this batch had been written",
				      NULL, NULL, err);
	return rc;
}

int bigquery_bare_raise(struct bigquery_destination *d,
			const struct bigquery_place *p, bool there,
			const struct bigquery_values *v, struct error *err)
{
	char *sql = xstrfmt(
		there ? "UPDATE %s SET watermark = @watermark WHERE pipeline = "
			"@pipeline AND COALESCE(watermark, '') = @stands"
		      : "INSERT INTO %s (pipeline, watermark, batch_id, fence, "
			"rows_total, updated_at, created_target, target, "
			"target_rows) VALUES (@pipeline, @watermark, '', 0, 0, "
			"TIMESTAMP_MICROS(@now), FALSE, @target, 0)",
		p->quoted_mark);
	int64_t raised = 0;
	int rc = bigquery_execute(d, sql, v, NULL, err);

	free(sql);
	if (!rc)
		rc = bigquery_bare_marks(d, p, "watermark = @watermark", v,
					 &raised, err);
	if (!rc && raised != 1)
		rc = bigquery_overtaken(v->texts[0], err);
	return rc;
}

int bigquery_bare_mark_put(struct bigquery_destination *d,
			   const struct bigquery_place *p, bool created,
			   const struct bigquery_values *v, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int64_t newer = 0;
	int rc = bigquery_bare_marks(d, p, "fence > @fence", v, &newer, err);

	if (!rc && newer)
		rc = bigquery_overtaken(v->texts[0], err);
	strbuf_addf(&sql, "DELETE FROM %s WHERE pipeline = @pipeline",
		    p->quoted_mark);
	if (!rc)
		rc = bigquery_execute(d, sql.data, v, NULL, err);
	strbuf_reset(&sql);
	strbuf_addf(&sql,
		    "INSERT INTO %s (pipeline, watermark, batch_id, fence, "
		    "rows_total, updated_at, created_target, target, "
		    "target_rows) VALUES (@pipeline, @watermark, @batch, "
		    "@fence, @rows_total, TIMESTAMP_MICROS(@now), %s, @target, "
		    "@delivered_rows)",
		    p->quoted_mark, created ? "TRUE" : "FALSE");
	if (!rc)
		rc = bigquery_execute(d, sql.data, v, NULL, err);
	strbuf_release(&sql);
	return rc;
}
