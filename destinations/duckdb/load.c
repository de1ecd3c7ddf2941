#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "destinations/duckdb/load.h"

/* Keys, and columns that the table wants filled. */
static int load_refuse_nulls(const struct load *l, struct error *err)
{
	for (size_t i = 0; i < l->s->n_columns; i++) {
		const struct vector *v = &l->b->vectors[i];
		bool key = schema_is_key(l->s, i);
		size_t row = 0;

		if (!v->n_nulls || (!key && !l->d->not_null[i]))
			continue;
		while (!vector_is_null(v, row))
			row++;
		duckdb_target_load_refuse_row(
			l, row,
			key ? "the key is NULL"
			    : "NULL, which the table does not allow",
			err);
		error_prefix(err, "column %s", l->s->columns[i].name);
		return -ERROR_DATA;
	}
	return 0;
}

/* Rows that the target does not have go straight into it. */
static int load_append_new(struct load *l, struct error *err)
{
	struct duckdb_target_destination *d = l->d;
	size_t n = l->s->n_columns;
	struct duckdb_target_field *fields = xcalloc(n + 3, sizeof(*fields));
	bool raw = d->target->mode == LOAD_APPEND;
	struct duckdb_target_fill fill = {
		.catalog = d->place.catalog,
		.schema = d->place.schema,
		.table = d->into_name,
		.fields = fields,
		.n_fields = raw ? n + 3 : n,
		.d = d,
		.batch = l->b,
		.rows = d->rows,
		.n_rows = duckdb_target_match_list(l, true),
		.batch_id = l->next->batch_id ? l->next->batch_id : "",
		.seq = d->mark.seen.rows_total + d->mark.refreshed + 1,
		.loaded_at = clock_now_us(),
	};
	int rc;

	if (fill.n_rows == l->b->n_rows)
		fill.rows = NULL;
	for (size_t i = 0; i < n; i++)
		fields[i] = (struct duckdb_target_field){ l->s->columns[i].name,
							  FIELD_COLUMN, i };
	fields[n] =
		(struct duckdb_target_field){ NAME_RAW_BATCH, FIELD_BATCH, 0 };
	fields[n + 1] =
		(struct duckdb_target_field){ NAME_RAW_SEQ, FIELD_SEQ, 0 };
	fields[n + 2] = (struct duckdb_target_field){ NAME_RAW_LOADED,
						      FIELD_LOADED, 0 };
	rc = duckdb_target_fill_table(d->db, &fill, err);
	l->n_new += fill.n_rows;
	free(fields);
	return rc;
}

/* Rows whose key is there already, for the target to be compared with. */
static int load_stage_matched(const struct load *l, struct error *err)
{
	const struct duckdb_target_field first = {
		STAGE_MATCHED,
		l->d->target->mode == LOAD_APPEND ? FIELD_ROW : FIELD_MATCHED, 0
	};
	struct strbuf sql = STRBUF_INIT;
	int rc;

	strbuf_addstr(&sql, "CREATE OR REPLACE TEMP TABLE " STAGE_ROWS
			    " AS SELECT 0::BIGINT AS " STAGE_MATCHED ", ");
	duckdb_target_sql_columns(&sql, l->s, NULL);
	strbuf_addf(&sql, " FROM %s LIMIT 0", l->d->into);
	rc = duckdb_target_load_exec(l, &sql, NULL, err);
	if (!rc)
		rc = duckdb_target_load_stage(
			l, STAGE_ROWS, first, NULL, l->s->n_columns, l->d->rows,
			duckdb_target_match_list(l, false), err);
	return rc;
}

static int load_update(const struct load *l, int64_t *changed,
		       struct error *err)
{
	struct strbuf sql = STRBUF_INIT;

	duckdb_target_sql_update(&sql, l->d, l->next->delivered);
	return sql.len ? duckdb_target_load_exec(l, &sql, changed, err) : 0;
}

static int load_find_changed(const struct load *l, int64_t *changed,
			     struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc = duck_exec(l->d->db,
			   "CREATE OR REPLACE TEMP TABLE " STAGE_CHANGED
			   " (" STAGE_MATCHED " BIGINT)",
			   err);

	if (rc)
		return rc;
	duckdb_target_sql_changed(&sql, l->d, l->next->delivered);
	return duckdb_target_load_exec(l, &sql, changed, err);
}

/* DuckDB rewrites every block that an UPDATE touches at the next checkpoint;
 * a delete leaves a mark, and new rows go to the end. */
static int load_delete_insert(const struct load *l, int64_t *changed,
			      struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int64_t deleted = 0, inserted = 0;
	int rc = load_find_changed(l, changed, err);

	if (rc || !*changed)
		return rc;
	strbuf_addf(&sql,
		    "DELETE FROM %s WHERE rowid IN (FROM " STAGE_CHANGED ")",
		    l->d->into);
	rc = duckdb_target_load_exec(l, &sql, &deleted, err);
	if (!rc)
		rc = failpoint("after_delete", err);
	if (rc)
		return rc;
	strbuf_addf(&sql, "INSERT INTO %s (", l->d->into);
	duckdb_target_sql_columns(&sql, l->s, NULL);
	strbuf_addstr(&sql, ") SELECT ");
	duckdb_target_sql_columns(&sql, l->s, NULL);
	strbuf_addstr(&sql, " FROM " STAGE_ROWS " WHERE " STAGE_MATCHED
			    " IN (FROM " STAGE_CHANGED ")");
	rc = duckdb_target_load_exec(l, &sql, &inserted, err);
	if (!rc && (deleted != *changed || inserted != *changed))
		rc = error_set(err, ERROR_BUG,
			       "table %s: %" PRId64 " rows changed, %" PRId64
			       " deleted, %" PRId64 " inserted",
			       l->d->target->table, *changed, deleted,
			       inserted);
	return rc;
}

/* A pipeline appends in the order it reads, so a key's newest row is its last.
 * One like it is not appended again. */
static int load_append_changed(struct load *l, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc;

	duckdb_target_sql_appended(&sql, l->d);
	for (size_t i = 0; i < l->b->n_rows; i++)
		if (l->d->matched[i] == MATCHED_NONE)
			l->d->matched[i] = MATCHED_REPEAT;
	rc = duckdb_target_match_note(l, sql.data, false, MATCHED_NONE, err);
	strbuf_release(&sql);
	return rc ? rc : load_append_new(l, err);
}

static int load_merge(struct load *l, struct error *err)
{
	size_t before = l->n_new;
	int64_t changed = 0;
	int rc;

	if (!l->n_matched)
		return 0;
	if (l->d->target->mode == LOAD_APPEND) {
		rc = load_append_changed(l, err);
		changed = (int64_t)(l->n_new - before);
	} else {
		rc = l->d->in_place ? load_update(l, &changed, err)
				    : load_delete_insert(l, &changed, err);
		l->counts->updated = changed;
	}
	l->counts->unchanged = (int64_t)l->n_matched - changed;
	return rc;
}

static int load_rows(struct load *l, struct error *err)
{
	int rc = load_refuse_nulls(l, err);

	if (!rc)
		rc = duckdb_target_match_classify(l, err);
	if (!rc && l->d->target->mode == LOAD_UPDATE)
		l->counts->missing = (int64_t)duckdb_target_match_list(l, true);
	else if (!rc)
		rc = load_append_new(l, err);
	if (!rc)
		rc = failpoint("mid_load", err);
	if (!rc && l->n_matched)
		rc = load_stage_matched(l, err);
	if (!rc)
		rc = failpoint("stage_full", err);
	if (!rc)
		rc = failpoint("before_merge", err);
	if (!rc)
		rc = load_merge(l, err);
	if (!rc)
		rc = failpoint("after_merge", err);
	l->counts->inserted = (int64_t)l->n_new;
	l->counts->unchanged += (int64_t)l->n_repeats + l->counts->missing;
	return rc;
}

static int load_batch(struct sql_mark *m, const struct batch *b,
		      const struct checkpoint *next, struct load_counts *counts,
		      struct error *err)
{
	struct duckdb_target_destination *d =
		(struct duckdb_target_destination *)m;
	struct load l = { d, b, d->target->schema, next, counts, 0, 0, 0 };

	return b->n_rows ? load_rows(&l, err) : 0;
}

static int load_drop_stages(struct duckdb_target_destination *d,
			    struct error *err)
{
	return duck_exec(d->db,
			 "DROP TABLE IF EXISTS temp.main." STAGE_KEYS "; "
			 "DROP TABLE IF EXISTS temp.main." STAGE_ROWS "; "
			 "DROP TABLE IF EXISTS temp.main." STAGE_CHANGED,
			 err);
}

/* Its one writer is the one who has the file open. */
static int load_same(struct sql_mark *m, const char *table, struct error *err)
{
	(void)m;
	(void)table;
	(void)err;
	return 0;
}

static int load_ready(struct sql_mark *m, const struct batch *b, bool keys,
		      struct error *err)
{
	(void)m;
	(void)b;
	(void)keys;
	(void)err;
	return 0;
}

/* The temporary tables of the batch go with it. */
static int load_done(struct sql_mark *m, const struct batch *b, int rc,
		     struct error *err)
{
	struct duckdb_target_destination *d =
		(struct duckdb_target_destination *)m;

	if (!rc && b->n_rows)
		rc = load_drop_stages(d, err);
	return rc ? rc : failpoint("stage_dropped", err);
}

const struct sql_load_engine duckdb_target_load_engine = {
	.ready = load_ready,
	.begin = duckdb_target_mark_begin,
	.look = duckdb_target_mark_look,
	.same = load_same,
	.rows = load_batch,
	.remove = duckdb_target_remove_rows,
	.swap = duckdb_target_refresh_swap,
	.commit = duckdb_target_commit,
	.done = load_done,
	.instant = "TIMESTAMPTZ",
};
