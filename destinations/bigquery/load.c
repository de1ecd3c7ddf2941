#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/data/value.h"
#include "destinations/bigquery/internal.h"

static void load_values(struct bigquery_values *v,
			const struct bigquery_destination *d,
			const struct checkpoint *next, size_t n_rows,
			int64_t now_us)
{
	bigquery_values_text(v, "pipeline", d->target->pipeline);
	bigquery_values_text(v, "watermark", next->watermark);
	bigquery_values_text(v, "batch", next->batch_id ? next->batch_id : "");
	bigquery_values_text(v, "seen",
			     d->seen.batch_id ? d->seen.batch_id : "");
	bigquery_values_text(v, "stands",
			     d->seen.watermark ? d->seen.watermark : "");
	bigquery_values_text(v, "refresh", d->refresh_id);
	bigquery_values_text(v, "delivered", next->delivered);
	bigquery_values_number(v, "fence", next->fence);
	bigquery_values_number(v, "rows_total", next->rows_total);
	bigquery_values_number(v, "delivered_rows",
			       next->rows_total - d->seen.rows_total);
	bigquery_values_number(v, "seq", d->seen.rows_total);
	bigquery_values_number(v, "rows", (int64_t)n_rows);
	bigquery_values_number(v, "now", now_us);
	bigquery_values_number(v, "there", d->there);
	bigquery_values_text(v, "signature", d->signature);
}

/* Columns that the table wants filled. */
static int load_refuse_nulls(const struct bigquery_destination *d,
			     const struct batch *b, struct error *err)
{
	for (size_t i = 0; i < b->schema->n_columns; i++) {
		const struct vector *v = &b->vectors[i];
		struct strbuf key = STRBUF_INIT;
		size_t row = 0;
		int rc;

		if (!v->n_nulls || !d->not_null[i] ||
		    schema_is_key(b->schema, i))
			continue;
		while (!vector_is_null(v, row))
			row++;
		value_print_key(&key, b, row);
		rc = error_set(err, ERROR_DATA,
			       "table %s, row %s: column %s: NULL, which the "
			       "table does not allow",
			       d->target->table, key.data,
			       b->schema->columns[i].name);
		strbuf_release(&key);
		return rc;
	}
	return 0;
}

static int load_send(struct bigquery_destination *d, struct strbuf *sql,
		     const struct checkpoint *next, size_t n_rows,
		     struct bigquery_numbers *out, struct error *err)
{
	struct bigquery_values v = { .n = 0 };
	int64_t now_us = clock_now_us();
	int rc;

	load_values(&v, d, next, n_rows, now_us);
	if (d->bare)
		rc = bigquery_bare_load(d, &v, n_rows, next->delivered != NULL,
					out, err);
	else if (d->target->preview)
		rc = bigquery_execute(d, sql->data, &v, out, err);
	else
		rc = bigquery_transact(d, sql->data, &v, next, out, err);
	if (!rc && !d->target->preview)
		d->seen_us = now_us;
	bigquery_values_release(&v);
	strbuf_release(sql);
	return rc;
}

static int load_only_mark(struct bigquery_destination *d,
			  const struct checkpoint *next, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	struct bigquery_numbers ignored;

	bigquery_sql_begin(&sql, d, false);
	strbuf_addstr(&sql, "COMMIT TRANSACTION");
	return load_send(d, &sql, next, 0, &ignored, err);
}

int bigquery_load_batch(struct bigquery_destination *d, const struct batch *b,
			const struct checkpoint *next,
			struct load_counts *counts, struct error *err)
{
	struct bigquery_numbers n = { { 0 } };
	struct strbuf sql = STRBUF_INIT;
	int rc;

	memset(counts, 0, sizeof(*counts));
	if (!b->n_rows)
		return d->target->refresh || d->target->preview
			       ? 0
			       : load_only_mark(d, next, err);
	rc = load_refuse_nulls(d, b, err);
	if (!rc)
		rc = bigquery_stage_load(d, b, false, err);
	if (!rc && d->pull)
		rc = bigquery_execute(d, d->pull, NULL, NULL, err);
	if (!rc && !d->target->refresh)
		rc = bigquery_signature_hold(d, err);
	if (!rc)
		rc = failpoint("before_merge", err);
	if (rc)
		return bigquery_mark_why(d, rc, err);
	bigquery_sql_begin(&sql, d, true);
	bigquery_sql_load(&sql, d, next->delivered != NULL);
	rc = load_send(d, &sql, next, b->n_rows, &n, err);
	if (rc)
		rc = bigquery_signature_explain(d, rc, err);
	if (rc == -ERROR_DATA)
		error_prefix(err, "table %s", d->target->table);
	if (rc)
		return bigquery_mark_why(d, rc, err);
	d->there += n.values[0];
	counts->inserted = n.values[0];
	counts->updated = n.values[1];
	counts->missing = n.values[2];
	counts->unchanged =
		(int64_t)b->n_rows - counts->inserted - counts->updated;
	return counts_check(counts, b->n_rows, d->target->table, err);
}

int bigquery_remove_rows(struct bigquery_destination *d,
			 const struct batch *keys,
			 const struct checkpoint *next, int64_t *removed,
			 struct error *err)
{
	struct bigquery_numbers n = { { 0 } };
	struct strbuf sql = STRBUF_INIT;
	int rc;

	if (d->bare)
		return error_set(err, ERROR_CONFIG,
				 "table %s: rows are not removed where there "
				 "are no transactions",
				 d->target->table);
	if (!keys->n_rows)
		return load_only_mark(d, next, err);
	rc = bigquery_stage_load(d, keys, true, err);
	if (!rc)
		rc = bigquery_signature_hold(d, err);
	if (rc)
		return bigquery_mark_why(d, rc, err);
	bigquery_sql_begin(&sql, d, true);
	bigquery_sql_remove(&sql, d);
	rc = load_send(d, &sql, next, keys->n_rows, &n, err);
	if (rc)
		rc = bigquery_signature_explain(d, rc, err);
	*removed = n.values[0];
	if (d->soft_delete == SOFT_DELETE_NONE)
		d->there -= *removed < d->there ? *removed : d->there;
	return rc ? bigquery_mark_why(d, rc, err) : 0;
}
