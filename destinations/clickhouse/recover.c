#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "destinations/clickhouse/internal.h"

char *clickhouse_target_leftovers_sql(const struct place *place)
{
	struct strbuf sql = STRBUF_INIT;

	strbuf_addstr(&sql, "SELECT name FROM system.tables WHERE database = ");
	clickhouse_quote_text(&sql, place->database);
	strbuf_addstr(&sql, " AND startsWith(name, ");
	clickhouse_quote_text(&sql, place->stages);
	strbuf_addstr(&sql, ") AND name NOT IN (");
	clickhouse_quote_text(&sql, place->stage);
	strbuf_addstr(&sql, ", ");
	clickhouse_quote_text(&sql, place->input);
	strbuf_addch(&sql, ')');
	return strbuf_detach(&sql);
}

/* Drop the traces of a run that was killed: a stage, batches on their way.
 * Behind this nothing of it comes any more: see internal.h. */
static int recover_drop_leftovers(struct clickhouse_target *d,
				  struct error *err)
{
	struct clickhouse_rows rows;
	struct strbuf sql = STRBUF_INIT;
	char *list = clickhouse_target_leftovers_sql(&d->place);
	int rc = clickhouse_query(d->db, list, "t", &rows, err);

	free(list);
	for (size_t i = 0; !rc && i < rows.n_rows; i++) {
		strbuf_reset(&sql);
		strbuf_addstr(&sql, "DROP TABLE IF EXISTS ");
		clickhouse_quote_name(&sql, d->place.database);
		strbuf_addch(&sql, '.');
		clickhouse_quote_name(&sql, clickhouse_cell(&rows, i, 0));
		strbuf_addstr(&sql, " SYNC");
		rc = clickhouse_exec(d->db, sql.data, err);
		if (!rc)
			rc = failpoint("stage_dropped", err);
	}
	clickhouse_rows_release(&rows);
	strbuf_release(&sql);
	return rc;
}

/* The order of a raw table is that of its numbers. They go on where they were,
 * even if the pipeline's row is gone, and whatever a predecessor wrote last. */
static int recover_numbered(struct clickhouse_target *d, struct error *err)
{
	const char *pipeline = d->target->pipeline;
	struct mark_row next;
	int64_t most = 0;
	char *sql =
		xstrfmt("SELECT max(" NAME_RAW_SEQ ") FROM %s", d->place.rows);
	int rc = clickhouse_target_mark_ask(d, &d->place, pipeline, sql,
					    &d->seen, &most, err);

	free(sql);
	if (rc || !d->seen.found || d->seen.rows_total >= most)
		return rc;
	rc = writer_check_fence(&d->target->writer, pipeline, d->seen.fence,
				err);
	if (rc)
		return rc;
	clickhouse_target_mark_row_copy(&next, &d->seen);
	next.rows_total = most;
	return clickhouse_target_mark_move(d, pipeline, &next, err);
}

/* A refresh holds on to what prepare wrote: the row may be another's by now. */
int clickhouse_target_resume(struct mark_keeper *k, struct checkpoint *out,
			     struct error *err)
{
	struct clickhouse_target *d = (struct clickhouse_target *)k;
	int rc = recover_drop_leftovers(d, err);

	if (!rc && d->target->refresh)
		rc = clickhouse_target_mark_lock(d, err);
	else if (!rc && d->place.append)
		rc = recover_numbered(d, err);
	else if (!rc)
		rc = clickhouse_target_mark_read(
			d, &d->place, d->target->pipeline, &d->seen, err);
	clickhouse_forget_ahead(d->db);
	if (!rc)
		rc = writer_check_fence(&d->target->writer, d->target->pipeline,
					d->seen.fence, err);
	if (!rc)
		clickhouse_target_mark_row_checkpoint(&d->seen, out);
	return rc;
}
