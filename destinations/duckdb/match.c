#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/data/table_name.h"
#include "core/data/value.h"
#include "destinations/duckdb/load.h"

int duckdb_target_load_exec(const struct load *l, struct strbuf *sql,
			    int64_t *rows, struct error *err)
{
	int rc = duck_change(l->d->db, sql->data, NULL, 0, rows, err);

	strbuf_release(sql);
	return rc;
}

int duckdb_target_load_refuse_row(const struct load *l, size_t row,
				  const char *what, struct error *err)
{
	struct strbuf key = STRBUF_INIT;
	int rc;

	value_print_key(&key, l->b, row);
	rc = error_set(err, ERROR_DATA, "table %s, row %s: %s",
		       l->d->target->table, key.data, what);
	strbuf_release(&key);
	return rc;
}

int duckdb_target_load_stage(const struct load *l, const char *table,
			     struct duckdb_target_field first,
			     const size_t *columns, size_t n_columns,
			     const uint32_t *rows, size_t n_rows,
			     struct error *err)
{
	struct duckdb_target_field *fields =
		xcalloc(n_columns + 1, sizeof(*fields));
	struct duckdb_target_fill fill = {
		.catalog = "temp",
		.schema = "main",
		.table = table,
		.fields = fields,
		.n_fields = n_columns + 1,
		.d = l->d,
		.batch = l->b,
		.rows = rows,
		.n_rows = n_rows,
		.matched = l->d->matched,
	};
	int rc;

	fields[0] = first;
	for (size_t i = 0; i < n_columns; i++) {
		size_t column = columns ? columns[i] : i;

		fields[i + 1].name = l->s->columns[column].name;
		fields[i + 1].from = FIELD_COLUMN;
		fields[i + 1].column = column;
	}
	rc = duckdb_target_fill_table(l->d->db, &fill, err);
	free(fields);
	return rc;
}

int duckdb_target_match_stage_keys(const struct load *l, const uint32_t *rows,
				   size_t n_rows, struct error *err)
{
	const struct duckdb_target_field row = { STAGE_ROW, FIELD_ROW, 0 };
	struct strbuf sql = STRBUF_INIT;
	int rc;

	strbuf_addstr(&sql, "CREATE OR REPLACE TEMP TABLE " STAGE_KEYS
			    " AS SELECT 0::BIGINT AS " STAGE_ROW ", ");
	duckdb_target_sql_keys(&sql, l->s);
	strbuf_addf(&sql, " FROM %s LIMIT 0", l->d->into);
	rc = duckdb_target_load_exec(l, &sql, NULL, err);
	if (!rc)
		rc = failpoint("stage_created", err);
	if (!rc)
		rc = duckdb_target_load_stage(l, STAGE_KEYS, row, l->s->key,
					      l->s->n_key, rows, n_rows, err);
	return rc;
}

static int match_refuse_repeat(const struct load *l, size_t row,
			       struct error *err)
{
	char *advice = target_repeat_advice(l->d->target);
	char *what =
		xstrfmt("the table holds this key more than once; %s", advice);
	int rc = duckdb_target_load_refuse_row(l, row, what, err);

	free(what);
	free(advice);
	return rc;
}

int duckdb_target_match_note(const struct load *l, const char *sql,
			     bool has_value, int64_t value, struct error *err)
{
	struct duck_result *r = NULL;
	int64_t *matched = l->d->matched;
	int rc = duck_query(l->d->db, &r, sql, NULL, 0, err);

	while (!rc && duck_next(r)) {
		int64_t row = duck_i64(r, 0);

		if (has_value && matched[row] >= 0)
			rc = match_refuse_repeat(l, (size_t)row, err);
		if (matched[row] != MATCHED_REPEAT)
			matched[row] = has_value ? duck_i64(r, 1) : value;
	}
	duck_result_free(r);
	return rc;
}

/* DuckDB's own equality decides which keys are the same. */
static int match_find_repeats(const struct load *l, size_t n_staged,
			      struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	struct duck_result *r = NULL;
	int64_t distinct = 0;
	int rc;

	strbuf_addstr(&sql, "SELECT count(*) FROM (SELECT DISTINCT ");
	duckdb_target_sql_keys(&sql, l->s);
	strbuf_addstr(&sql, " FROM " STAGE_KEYS ")");
	rc = duck_query(l->d->db, &r, sql.data, NULL, 0, err);
	if (!rc && duck_next(r))
		distinct = duck_i64(r, 0);
	duck_result_free(r);
	if (!rc && distinct != (int64_t)n_staged) {
		strbuf_reset(&sql);
		strbuf_addstr(&sql, "SELECT " STAGE_ROW " FROM " STAGE_KEYS
				    " QUALIFY row_number() OVER (PARTITION "
				    "BY ");
		duckdb_target_sql_keys(&sql, l->s);
		strbuf_addstr(&sql, " ORDER BY " STAGE_ROW " DESC) > 1");
		rc = duckdb_target_match_note(l, sql.data, false,
					      MATCHED_REPEAT, err);
	}
	strbuf_release(&sql);
	return rc;
}

/* No index kept a hand from putting a key there twice. */
static int match_leave_one(const struct load *l, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;

	if (!l->d->target->overwrite || l->d->target->mode == LOAD_APPEND)
		return 0;
	strbuf_addf(&sql,
		    "DELETE FROM %s WHERE rowid IN (SELECT t.rowid FROM %s t "
		    "SEMI JOIN " STAGE_KEYS " s ON ",
		    l->d->into, l->d->into);
	duckdb_target_sql_key_join(&sql, l->s);
	strbuf_addstr(&sql, " QUALIFY row_number() OVER (PARTITION BY ");
	duckdb_target_sql_keys(&sql, l->s);
	strbuf_addstr(&sql, " ORDER BY t.rowid) > 1)");
	return duckdb_target_load_exec(l, &sql, NULL, err);
}

/* Find the rows of the batch that are in the target already, and their
 * places. */
static int match_find_rows(const struct load *l, struct error *err)
{
	bool append = l->d->target->mode == LOAD_APPEND;
	struct strbuf sql = STRBUF_INIT;
	int rc;

	strbuf_addf(&sql,
		    "SELECT %s s." STAGE_ROW "%s FROM %s t JOIN " STAGE_KEYS
		    " s ON ",
		    append ? "DISTINCT" : "", append ? "" : ", t.rowid",
		    l->d->into);
	duckdb_target_sql_key_join(&sql, l->s);
	rc = duckdb_target_match_note(l, sql.data, !append, 0, err);
	strbuf_release(&sql);
	return rc;
}

size_t duckdb_target_match_list(const struct load *l, bool is_new)
{
	size_t n = 0;

	for (size_t i = 0; i < l->b->n_rows; i++) {
		int64_t m = l->d->matched[i];

		if (is_new ? m == MATCHED_NONE : m >= 0)
			l->d->rows[n++] = (uint32_t)i;
	}
	return n;
}

/* Look up only rows whose keys may be in the target, or twice in the batch. In
 * a table that is just being filled, these are hardly any. */
static int match_look_up(struct load *l, struct error *err)
{
	struct duckdb_target_destination *d = l->d;
	size_t n = l->b->n_rows, n_maybe;
	bool known =
		duckdb_target_known_batch(d->known, l->b, d->rows, &n_maybe);
	int rc;

	if (known && !n_maybe)
		return failpoint("stage_created", err);
	if (!known)
		n_maybe = n;
	rc = duckdb_target_match_stage_keys(l, known ? d->rows : NULL, n_maybe,
					    err);
	if (!rc)
		rc = match_find_repeats(l, n_maybe, err);
	if (!rc && d->pull)
		rc = duck_exec(d->db, d->pull, err);
	if (!rc)
		rc = match_leave_one(l, err);
	return rc ? rc : match_find_rows(l, err);
}

int duckdb_target_match_classify(struct load *l, struct error *err)
{
	struct duckdb_target_destination *d = l->d;
	size_t n = l->b->n_rows;
	int rc;

	d->matched =
		xgrow(d->matched, &d->matched_capacity, n, sizeof(*d->matched));
	d->rows = xgrow(d->rows, &d->rows_capacity, n, sizeof(*d->rows));
	for (size_t i = 0; i < n; i++)
		d->matched[i] = MATCHED_NONE;
	/* Without a key nothing tells rows apart: all of them are new. */
	rc = l->s->n_key ? match_look_up(l, err)
			 : failpoint("stage_created", err);
	l->n_matched = duckdb_target_match_list(l, false);
	for (size_t i = 0; i < n; i++)
		l->n_repeats += d->matched[i] == MATCHED_REPEAT;
	return rc;
}

static void match_mark(const struct duckdb_target_destination *d,
		       struct strbuf *sql)
{
	char now[CLOCK_TEXT_SIZE];

	clock_format_utc(clock_now_us(), now);
	strbuf_addf(sql, "UPDATE %s AS t SET ", d->into);
	sql_quote_name(sql, d->target->soft_delete, '"');
	if (d->mark.soft_delete == SOFT_DELETE_FLAG)
		strbuf_addstr(sql, " = true");
	else
		strbuf_addf(sql, " = CAST('%s' AS %s)", now, d->soft_type);
	strbuf_addstr(sql, " FROM " STAGE_KEYS " s");
}

int duckdb_target_remove_rows(struct sql_mark *m, const struct batch *keys,
			      int64_t *removed, struct error *err)
{
	struct duckdb_target_destination *d =
		(struct duckdb_target_destination *)m;
	struct load_counts none;
	const struct load l = {
		.d = d, .b = keys, .s = d->target->schema, .counts = &none
	};
	struct strbuf sql = STRBUF_INIT;
	int rc = duckdb_target_match_stage_keys(&l, NULL, keys->n_rows, err);

	if (rc)
		return rc;
	if (d->mark.soft_delete == SOFT_DELETE_NONE)
		strbuf_addf(&sql, "DELETE FROM %s AS t USING " STAGE_KEYS " s",
			    d->into);
	else
		match_mark(d, &sql);
	strbuf_addstr(&sql, " WHERE ");
	duckdb_target_sql_key_join(&sql, l.s);
	if (d->mark.soft_delete != SOFT_DELETE_NONE) {
		strbuf_addstr(&sql, " AND t.");
		sql_quote_name(&sql, d->target->soft_delete, '"');
		strbuf_addstr(&sql, soft_delete_is_not(d->mark.soft_delete));
	}
	rc = duckdb_target_load_exec(&l, &sql, removed, err);
	if (rc) {
		error_prefix(err, "table %s", d->target->table);
		return rc;
	}
	return failpoint("after_delete", err);
}
