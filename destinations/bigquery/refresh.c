#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "destinations/bigquery/internal.h"

static int refresh_view(struct bigquery_destination *d, struct error *err)
{
	char *query, *sql;
	int rc;

	if (d->target->mode != LOAD_APPEND)
		return 0;
	query = bigquery_ddl_view(d->target, &d->place);
	sql = xstrfmt("CREATE OR REPLACE VIEW %s AS %s", d->place.quoted_name,
		      query);
	rc = bigquery_execute(d, sql, NULL, NULL, err);
	free(query);
	free(sql);
	return rc;
}

static void refresh_columns(struct strbuf *sql,
			    const struct bigquery_destination *d)
{
	bigquery_sql_columns(sql, d->target->schema, "");
	if (d->target->mode == LOAD_APPEND)
		strbuf_addstr(sql, ", " NAME_RAW_BATCH ", " NAME_RAW_SEQ
				   ", " NAME_RAW_LOADED);
}

/* There is none yet: readers find it empty until the rows come. */
static int refresh_create(struct bigquery_destination *d, struct error *err)
{
	char *sql = bigquery_ddl_create(d, d->target, d->place.quoted_data,
					d->types, NULL);
	int rc = bigquery_execute(d, sql, NULL, NULL, err);

	free(sql);
	return rc;
}

/* The row becomes that of a refresh that is over. */
static void refresh_mark(struct strbuf *sql,
			 const struct bigquery_destination *d)
{
	strbuf_addf(
		sql,
		"UPDATE %s SET watermark = @watermark, batch_id = @batch, "
		"fence = @fence, rows_total = @rows_total, updated_at = "
		"TIMESTAMP_MICROS(@now), created_target = TRUE, target_rows = "
		"@built WHERE pipeline = @pipeline AND batch_id = @refresh "
		"AND fence <= @fence;\n"
		"ASSERT @@row_count = 1 AS 'tidemark: overtaken';\n"
		"ASSERT (SELECT COUNT(*) FROM %s) = @built AS 'tidemark: "
		"built';\n",
		d->place.quoted_mark, d->place.quoted_anew);
}

/* Same layout: the rows change places in one transaction with the mark. */
static void refresh_by_rows(struct strbuf *sql,
			    const struct bigquery_destination *d)
{
	strbuf_addstr(sql, "BEGIN TRANSACTION;\n");
	refresh_mark(sql, d);
	strbuf_addf(sql,
		    "DELETE FROM %s WHERE TRUE;\n"
		    "INSERT INTO %s (",
		    d->place.quoted_data, d->place.quoted_data);
	refresh_columns(sql, d);
	strbuf_addstr(sql, ") SELECT ");
	refresh_columns(sql, d);
	strbuf_addf(sql, " FROM %s;\n", d->place.quoted_anew);
	bigquery_signature_assert(sql, d, "");
	strbuf_addstr(sql, "COMMIT TRANSACTION");
}

/* Columns that only the table has are kept, and have what a new row has there.
 * No transaction of BigQuery's makes tables. First nothing is settled any
 * more, then the table changes, then the mark is its own: who dies between has
 * all rows read again. */
static void refresh_by_table(struct strbuf *sql,
			     const struct bigquery_destination *d)
{
	char *create = bigquery_ddl_create(d, d->target, d->place.quoted_data,
					   d->types, d->kept.data);
	const char *rest = strstr(create, d->place.quoted_data);

	bigquery_signature_assert(sql, d, "");
	strbuf_addf(sql,
		    "UPDATE %s SET watermark = NULL, created_target = TRUE "
		    "WHERE pipeline = @pipeline AND batch_id = @refresh AND "
		    "fence <= @fence;\n"
		    "ASSERT @@row_count = 1 AS 'tidemark: overtaken';\n"
		    "ASSERT (SELECT COUNT(*) FROM %s) = @built AS 'tidemark: "
		    "built';\n",
		    d->place.quoted_mark, d->place.quoted_anew);
	strbuf_addf(sql, "CREATE OR REPLACE TABLE %s AS SELECT ", rest);
	refresh_columns(sql, d);
	strbuf_addf(sql, "%s FROM %s;\nBEGIN TRANSACTION;\n",
		    d->kept_names.data, d->place.quoted_anew);
	refresh_mark(sql, d);
	strbuf_addstr(sql, "COMMIT TRANSACTION");
	free(create);
}

static int refresh_send(struct bigquery_destination *d,
			const struct checkpoint *next, struct error *err)
{
	struct bigquery_values v = { .n = 0 };
	struct strbuf sql = STRBUF_INIT;
	int rc;

	if (d->swap_by_rows)
		refresh_by_rows(&sql, d);
	else
		refresh_by_table(&sql, d);
	bigquery_values_text(&v, "pipeline", d->target->pipeline);
	bigquery_values_text(&v, "watermark", next->watermark);
	bigquery_values_text(&v, "batch", next->batch_id ? next->batch_id : "");
	bigquery_values_text(&v, "refresh", d->refresh_id);
	bigquery_values_text(&v, "signature", d->signature);
	bigquery_values_number(&v, "fence", next->fence);
	bigquery_values_number(&v, "rows_total", next->rows_total);
	bigquery_values_number(&v, "built", d->built);
	bigquery_values_number(&v, "now", clock_now_us());
	d->n_loads++;
	rc = bigquery_transact(d, sql.data, &v, next, NULL, err);
	bigquery_values_release(&v);
	strbuf_release(&sql);
	return rc;
}

int bigquery_refresh_swap(struct bigquery_destination *d,
			  const struct checkpoint *next, struct error *err)
{
	int rc = bigquery_signature_hold(d, err);

	if (!rc)
		rc = refresh_create(d, err);
	if (!rc)
		rc = refresh_view(d, err);
	if (!rc)
		rc = failpoint("before_merge", err);
	if (!rc)
		rc = refresh_send(d, next, err);
	if (rc)
		rc = bigquery_signature_explain(d, rc, err);
	if (rc)
		return bigquery_mark_why(d, rc, err);
	rc = bigquery_drop_table(d->client, d->place.dataset, d->place.anew,
				 err);
	return rc ? rc : failpoint("stage_dropped", err);
}
