#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "destinations/bigquery/internal.h"

int bigquery_mark_create_table(struct bigquery_destination *d,
			       const struct bigquery_place *p,
			       struct error *err)
{
	char *sql = xstrfmt(
		"CREATE TABLE IF NOT EXISTS %s (pipeline STRING NOT NULL, "
		"watermark STRING, batch_id STRING, fence INT64, rows_total "
		"INT64, updated_at TIMESTAMP, created_target BOOL, target "
		"STRING, target_rows INT64)",
		p->quoted_mark);
	int rc = bigquery_execute(d, sql, NULL, NULL, err);

	free(sql);
	return rc;
}

static void mark_values(struct bigquery_values *v, const char *pipeline,
			const struct checkpoint *mark)
{
	bigquery_values_text(v, "pipeline", pipeline);
	bigquery_values_text(v, "watermark", mark->watermark);
	bigquery_values_text(v, "batch", mark->batch_id ? mark->batch_id : "");
	bigquery_values_number(v, "fence", mark->fence);
	bigquery_values_number(v, "rows_total", mark->rows_total);
}

int bigquery_mark_put(struct bigquery_destination *d,
		      const struct bigquery_place *p, const char *pipeline,
		      struct existing *e, struct error *err)
{
	struct bigquery_values v = { .n = 0 };
	char *sql = xstrfmt(
		"BEGIN TRANSACTION;\n"
		"MERGE %s t USING (SELECT @pipeline AS pipeline) s ON "
		"t.pipeline = s.pipeline WHEN MATCHED AND t.fence <= @fence "
		"THEN UPDATE SET watermark = @watermark, batch_id = @batch, "
		"fence = @fence, rows_total = @rows_total, updated_at = "
		"TIMESTAMP_MICROS(@now), created_target = %s, target = "
		"@target, "
		"target_rows = @delivered_rows WHEN NOT MATCHED THEN INSERT "
		"(pipeline, watermark, batch_id, fence, rows_total, "
		"updated_at, created_target, target, target_rows) VALUES "
		"(@pipeline, @watermark, @batch, @fence, @rows_total, "
		"TIMESTAMP_MICROS(@now), %s, @target, @delivered_rows);\n"
		"ASSERT @@row_count = 1 AS 'tidemark: overtaken';\n"
		"COMMIT TRANSACTION",
		p->quoted_mark, e->created ? "TRUE" : "FALSE",
		e->created ? "TRUE" : "FALSE");
	int rc;

	mark_values(&v, pipeline, &e->mark);
	bigquery_values_text(&v, "target", p->name);
	bigquery_values_number(&v, "delivered_rows", e->delivered);
	e->written_us = clock_now_us();
	bigquery_values_number(&v, "now", e->written_us);
	rc = d->bare ? bigquery_bare_mark_put(d, p, e->created, &v, err)
		     : bigquery_execute(d, sql, &v, NULL, err);
	bigquery_values_release(&v);
	free(sql);
	return rc;
}

/* Is the row not this handle's any more? */
static int mark_check(const struct bigquery_destination *d,
		      const struct existing *now, struct error *err)
{
	struct checkpoint seen = d->seen;
	const char *there = now->mark.batch_id;
	int rc = writer_check_fence(&d->target->writer, d->target->pipeline,
				    now->mark.fence, err);

	if (d->refresh_id)
		seen.batch_id = d->refresh_id;
	if (rc || (there && !strcmp(there, seen.batch_id ? seen.batch_id : "")))
		return rc;
	return writer_overtaken(d->target->pipeline, NAME_WATERMARK_TABLE,
				"nothing was written", &seen, &now->mark, err);
}

int bigquery_mark_why(struct bigquery_destination *d, int rc, struct error *err)
{
	struct existing now;
	struct error why = ERROR_INIT;

	if (!refresh_may_be_overtaken(rc) || d->target->preview)
		return rc;
	memset(&now, 0, sizeof(now));
	if (!bigquery_mark_look(&now, d, &d->place, d->target->pipeline,
				&why) &&
	    mark_check(d, &now, &why) && err) {
		*err = why;
		rc = -(int)why.code;
	}
	existing_release(&now);
	return rc;
}

int bigquery_mark_follow(struct bigquery_destination *d, int rc,
			 struct error *err)
{
	struct existing now;
	struct error ignored = ERROR_INIT;
	bool raised;

	if (rc != -ERROR_STATE || d->target->refresh || d->target->preview)
		return rc;
	memset(&now, 0, sizeof(now));
	raised = !bigquery_mark_look(&now, d, &d->place, d->target->pipeline,
				     &ignored) &&
		 !mark_check(d, &now, &ignored) && now.mark.watermark &&
		 (!d->seen.watermark ||
		  strcmp(now.mark.watermark, d->seen.watermark) != 0);
	if (raised) {
		free(d->seen.watermark);
		d->seen.watermark = xstrdup(now.mark.watermark);
		error_clear(err);
		rc = error_set(err, ERROR_CONFLICT,
			       "table %s: rows past the mark were delivered "
			       "beside this batch, which is loaded once more",
			       d->target->table);
	}
	existing_release(&now);
	return rc;
}

static int mark_raise_run(struct bigquery_destination *d,
			  const struct bigquery_place *p,
			  const struct bigquery_values *v, struct error *err)
{
	char *sql = xstrfmt(
		"BEGIN TRANSACTION;\n"
		"MERGE %s t USING (SELECT @pipeline AS pipeline) s ON "
		"t.pipeline = s.pipeline WHEN MATCHED AND "
		"COALESCE(t.watermark, '') = @stands THEN UPDATE SET "
		"watermark = @watermark WHEN NOT MATCHED THEN INSERT "
		"(pipeline, watermark, batch_id, fence, rows_total, "
		"updated_at, created_target, target, target_rows) VALUES "
		"(@pipeline, @watermark, '', 0, 0, TIMESTAMP_MICROS(@now), "
		"FALSE, @target, 0);\n"
		"ASSERT @@row_count = 1 AS 'tidemark: overtaken';\n"
		"COMMIT TRANSACTION",
		p->quoted_mark);
	int rc = bigquery_execute(d, sql, v, NULL, err);

	free(sql);
	return rc;
}

int bigquery_mark_raise(struct bigquery_destination *d,
			const struct bigquery_place *p, const char *pipeline,
			const struct existing *e, const char *mark,
			struct error *err)
{
	const char *stands = e->mark.watermark;
	char *raised = watermark_raise_text(stands, mark);
	struct bigquery_values v = { .n = 0 };
	int rc;

	/* A row of another table begins anew with the pipeline's next run. */
	if (!raised || (e->has_mark && !e->known)) {
		free(raised);
		return 0;
	}
	bigquery_values_text(&v, "pipeline", pipeline);
	bigquery_values_text(&v, "watermark", raised);
	bigquery_values_text(&v, "stands", stands ? stands : "");
	bigquery_values_text(&v, "target", p->name);
	bigquery_values_number(&v, "now", clock_now_us());
	rc = d->bare ? bigquery_bare_raise(d, p, e->has_mark, &v, err)
		     : mark_raise_run(d, p, &v, err);
	if (rc == -ERROR_STATE) {
		error_clear(err);
		rc = error_set(err, ERROR_CONFLICT,
			       "pipeline %s: it moved its mark while it was "
			       "told of what is delivered beside it",
			       pipeline);
	}
	bigquery_values_release(&v);
	free(raised);
	return rc;
}

/* The numbers of a raw table go on behind the highest, whoever gave it. */
static char *mark_forget_sql(const struct bigquery_destination *d,
			     const struct bigquery_place *p)
{
	const char *mark = p->quoted_mark;
	struct strbuf sql = STRBUF_INIT;

	if (d->bare)
		return xstrfmt("DELETE FROM %s WHERE pipeline = @pipeline AND "
			       "fence <= @fence",
			       mark);
	strbuf_addstr(&sql, "BEGIN TRANSACTION;\n");
	if (strcmp(p->name, p->data) != 0)
		strbuf_addf(&sql,
			    "UPDATE %s SET rows_total = GREATEST(rows_total, "
			    "(SELECT MAX(m.rows_total) FROM %s m WHERE "
			    "m.pipeline = @pipeline)) WHERE pipeline = (SELECT "
			    "MIN(o.pipeline) FROM %s o JOIN %s w ON w.target = "
			    "o.target AND o.pipeline <> w.pipeline WHERE "
			    "w.pipeline = @pipeline);\n",
			    mark, mark, mark, mark);
	strbuf_addf(&sql,
		    "DELETE FROM %s WHERE pipeline = @pipeline AND fence <= "
		    "@fence;\nCOMMIT TRANSACTION",
		    mark);
	return strbuf_detach(&sql);
}

int bigquery_mark_forget(struct bigquery_destination *d,
			 const struct bigquery_place *p,
			 const struct target *target, struct error *err)
{
	struct bigquery_values v = { .n = 0 };
	char *sql = mark_forget_sql(d, p);
	int rc;

	bigquery_values_text(&v, "pipeline", target->pipeline);
	bigquery_values_number(&v, "fence", target->writer.fence);
	rc = bigquery_execute(d, sql, &v, NULL, err);
	bigquery_values_release(&v);
	free(sql);
	return rc;
}

int bigquery_mark_release(struct bigquery_destination *d,
			  const struct bigquery_place *p, const char *pipeline,
			  const char *refresh_id, struct error *err)
{
	struct bigquery_values v = { .n = 0 };
	char *sql = xstrfmt("UPDATE %s SET batch_id = CONCAT('left-', "
			    "batch_id) WHERE pipeline = @pipeline AND "
			    "STARTS_WITH(batch_id, @refresh)",
			    p->quoted_mark);
	int rc;

	bigquery_values_text(&v, "pipeline", pipeline);
	bigquery_values_text(&v, "refresh",
			     refresh_id ? refresh_id : REFRESH_PREFIX);
	rc = bigquery_execute(d, sql, &v, NULL, err);
	bigquery_values_release(&v);
	free(sql);
	return rc;
}
