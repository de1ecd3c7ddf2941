#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "destinations/bigquery/internal.h"

static void sql_different_column(struct strbuf *sql,
				 const struct bigquery_destination *d,
				 size_t column)
{
	const char *name = d->target->schema->columns[column].name;
	char *t = xstrfmt("_tidemark_t.`%s`", name),
	     *s = xstrfmt("_tidemark_s.`%s`", name);

	bigquery_type_comparable(sql, &d->types[column], t);
	strbuf_addstr(sql, " IS DISTINCT FROM ");
	bigquery_type_comparable(sql, &d->types[column], s);
	free(t);
	free(s);
}

/* (a column of s differs from t's): keys are equal already. */
static void sql_different(struct strbuf *sql,
			  const struct bigquery_destination *d, bool but_mark)
{
	const struct schema *s = d->target->schema;
	const char *between = "";

	strbuf_addch(sql, '(');
	for (size_t i = 0; i < schema_compared(s); i++) {
		if (schema_is_key(s, i) || (but_mark && (long)i == s->mark))
			continue;
		strbuf_addstr(sql, between);
		sql_different_column(sql, d, i);
		between = " OR ";
	}
	strbuf_addstr(sql, *between ? ")" : "FALSE)");
}

/* A row that comes again loses its mark. */
static void sql_changed(struct strbuf *sql,
			const struct bigquery_destination *d)
{
	strbuf_addch(sql, '(');
	sql_different(sql, d, d->target->mode == LOAD_UPDATE);
	if (d->soft_delete != SOFT_DELETE_NONE)
		strbuf_addf(sql, " OR _tidemark_t.`%s`%s",
			    d->target->soft_delete,
			    soft_delete_is(d->soft_delete));
	strbuf_addch(sql, ')');
}

static void sql_set(struct strbuf *sql, const struct bigquery_destination *d)
{
	const struct schema *s = d->target->schema;
	const char *between = " SET ";

	for (size_t i = 0; i < s->n_columns; i++) {
		if (!target_writes(d->target, i))
			continue;
		strbuf_addf(sql, "%s`%s` = _tidemark_s.`%s`", between,
			    s->columns[i].name, s->columns[i].name);
		between = ", ";
	}
	if (d->soft_delete != SOFT_DELETE_NONE)
		strbuf_addf(sql, "%s`%s`%s", between, d->target->soft_delete,
			    soft_delete_clears(d->soft_delete));
}

static bool sql_sets_some(const struct bigquery_destination *d)
{
	return target_writes_some(d->target) ||
	       d->soft_delete != SOFT_DELETE_NONE;
}

static void sql_merge_upsert(struct strbuf *sql,
			     const struct bigquery_destination *d,
			     const char *into, bool delivered)
{
	const struct schema *s = d->target->schema;

	strbuf_addf(sql, "MERGE %s _tidemark_t USING ", into);
	bigquery_sql_staged(sql, d);
	strbuf_addstr(sql, " _tidemark_s ON ");
	bigquery_sql_key_join(sql, s);
	if (sql_sets_some(d)) {
		strbuf_addstr(sql, " WHEN MATCHED AND ");
		sql_changed(sql, d);
		bigquery_sql_newer(sql, d, delivered);
		strbuf_addstr(sql, " THEN UPDATE");
		sql_set(sql, d);
	}
	strbuf_addstr(sql, " WHEN NOT MATCHED THEN INSERT (");
	bigquery_sql_columns(sql, s, "");
	strbuf_addstr(sql, ") VALUES (");
	bigquery_sql_columns(sql, s, "_tidemark_s.");
	strbuf_addch(sql, ')');
}

void bigquery_sql_changed(struct strbuf *sql, const char *what,
			  const struct bigquery_destination *d,
			  const char *into, bool delivered)
{
	strbuf_addf(sql, "%s FROM %s _tidemark_t WHERE EXISTS (SELECT 1 FROM ",
		    what, into);
	bigquery_sql_staged(sql, d);
	strbuf_addstr(sql, " _tidemark_s WHERE ");
	bigquery_sql_key_join(sql, d->target->schema);
	strbuf_addstr(sql, " AND ");
	sql_changed(sql, d);
	bigquery_sql_newer(sql, d, delivered);
	strbuf_addch(sql, ')');
}

void bigquery_sql_insert_missing(struct strbuf *sql,
				 const struct bigquery_destination *d,
				 const char *into)
{
	const struct schema *s = d->target->schema;

	strbuf_addf(sql, "INSERT INTO %s (", into);
	bigquery_sql_columns(sql, s, "");
	strbuf_addstr(sql, ") SELECT ");
	bigquery_sql_columns(sql, s, "_tidemark_s.");
	strbuf_addstr(sql, " FROM ");
	bigquery_sql_staged(sql, d);
	strbuf_addf(sql,
		    " _tidemark_s WHERE NOT EXISTS (SELECT 1 FROM %s "
		    "_tidemark_t WHERE ",
		    into);
	bigquery_sql_key_join(sql, s);
	strbuf_addch(sql, ')');
}

/* A pipeline appends in the order it reads, so a key's newest row is its last.
 * One like it is not appended again. Numbered from `base` on. */
static void sql_append(struct strbuf *sql, const struct bigquery_destination *d,
		       const char *into, const char *base)
{
	const struct schema *s = d->target->schema;

	strbuf_addf(sql, "INSERT INTO %s (", into);
	bigquery_sql_columns(sql, s, "");
	strbuf_addstr(sql, ", " NAME_RAW_BATCH ", " NAME_RAW_SEQ
			   ", " NAME_RAW_LOADED ") SELECT ");
	bigquery_sql_columns(sql, s, "_tidemark_s.");
	strbuf_addf(sql,
		    ", @batch, %s + _tidemark_s._tidemark_row, "
		    "CURRENT_TIMESTAMP() FROM ",
		    base);
	bigquery_sql_staged(sql, d);
	strbuf_addf(
		sql,
		" _tidemark_s LEFT JOIN (SELECT * FROM %s WHERE TRUE QUALIFY "
		"ROW_NUMBER() OVER (PARTITION BY ",
		into);
	bigquery_sql_partition(sql, s);
	strbuf_addstr(sql,
		      " ORDER BY " NAME_RAW_SEQ " DESC) = 1) _tidemark_t ON ");
	bigquery_sql_key_join(sql, s);
	strbuf_addstr(sql, " WHERE _tidemark_t." NAME_RAW_SEQ " IS NULL OR ");
	sql_different(sql, d, false);
}

static void sql_update(struct strbuf *sql, const struct bigquery_destination *d,
		       const char *into, bool delivered)
{
	strbuf_addf(sql, "UPDATE %s _tidemark_t", into);
	sql_set(sql, d);
	strbuf_addstr(sql, " FROM ");
	bigquery_sql_staged(sql, d);
	strbuf_addstr(sql, " _tidemark_s WHERE ");
	bigquery_sql_key_join(sql, d->target->schema);
	strbuf_addstr(sql, " AND ");
	sql_changed(sql, d);
	bigquery_sql_newer(sql, d, delivered);
}

void bigquery_sql_merge(struct strbuf *sql,
			const struct bigquery_destination *d, const char *into,
			bool delivered)
{
	switch (d->target->mode) {
	case LOAD_APPEND:
		sql_append(sql, d, into, "@seq");
		break;
	case LOAD_UPDATE:
		sql_update(sql, d, into, delivered);
		break;
	case LOAD_DELETE_INSERT:
		bigquery_sql_changed(sql, "DELETE", d, into, delivered);
		break;
	default:
		sql_merge_upsert(sql, d, into, delivered);
	}
}

/* Behind whatever another has numbered meanwhile: the chunk of a backfill, a
 * pipeline that appends to the same table. */
static void sql_number(struct strbuf *sql, const struct bigquery_destination *d)
{
	const char *mark = d->place.quoted_mark;

	if (d->target->mode != LOAD_APPEND)
		return;
	if (d->target->preview || d->target->refresh)
		strbuf_addstr(sql, "SET tidemark_base = @seq;\n");
	else
		strbuf_addf(sql,
			    "SET tidemark_base = (SELECT GREATEST(@seq, "
			    "MAX(m.rows_total)) FROM %s m JOIN %s w ON "
			    "m.target = w.target WHERE w.pipeline = "
			    "@pipeline);\n",
			    mark, mark);
}

void bigquery_sql_begin(struct strbuf *sql,
			const struct bigquery_destination *d, bool staged)
{
	const char *mark = d->place.quoted_mark;

	strbuf_addstr(sql, "DECLARE tidemark_before, tidemark_after, "
			   "tidemark_changed, tidemark_missing, tidemark_base "
			   "INT64 DEFAULT 0;\nBEGIN TRANSACTION;\n");
	sql_number(sql, d);
	if (!d->target->preview && d->target->refresh)
		strbuf_addf(sql,
			    "UPDATE %s SET updated_at = TIMESTAMP_MICROS(@now) "
			    "WHERE pipeline = @pipeline AND batch_id = "
			    "@refresh;\n",
			    mark);
	else if (!d->target->preview)
		strbuf_addf(
			sql,
			"UPDATE %s SET watermark = @watermark, batch_id = "
			"@batch, fence = @fence, rows_total = %s, "
			"updated_at = TIMESTAMP_MICROS(@now), target_rows = "
			"target_rows + @delivered_rows WHERE pipeline = "
			"@pipeline AND batch_id = @seen AND fence <= "
			"@fence AND COALESCE(watermark, '') = @stands;\n",
			mark,
			d->target->mode == LOAD_APPEND
				? "tidemark_base + @delivered_rows"
				: "@rows_total");
	if (!d->target->preview)
		strbuf_addstr(sql, "ASSERT @@row_count = 1 AS 'tidemark: "
				   "overtaken';\n");
	if (staged)
		strbuf_addf(sql,
			    "ASSERT (SELECT COUNT(*) FROM %s) = @rows AS "
			    "'tidemark: rows';\n",
			    d->quoted_stage);
}

/* If several rows have one key, none is left: the staged one comes. */
static void sql_leave_one(struct strbuf *sql,
			  const struct bigquery_destination *d)
{
	const struct schema *s = d->target->schema;

	if (!d->target->overwrite || d->target->mode == LOAD_APPEND)
		return;
	strbuf_addf(sql,
		    "DELETE FROM %s _tidemark_t WHERE EXISTS (SELECT 1 FROM "
		    "(SELECT ",
		    d->into);
	bigquery_sql_keys(sql, s, "");
	strbuf_addf(sql, " FROM %s GROUP BY ", d->into);
	bigquery_sql_keys(sql, s, "");
	strbuf_addstr(sql, " HAVING COUNT(*) > 1) _tidemark_s WHERE ");
	bigquery_sql_key_join(sql, s);
	strbuf_addstr(sql, ") AND EXISTS (SELECT 1 FROM ");
	bigquery_sql_staged(sql, d);
	strbuf_addstr(sql, " _tidemark_s WHERE ");
	bigquery_sql_key_join(sql, s);
	strbuf_addstr(sql, ");\n");
}

static void sql_count(struct strbuf *sql, const struct bigquery_destination *d,
		      const char *variable)
{
	strbuf_addf(sql, "SET %s = (SELECT COUNT(*) FROM %s);\n", variable,
		    d->into);
}

void bigquery_sql_repeats(struct strbuf *sql,
			  const struct bigquery_destination *d)
{
	strbuf_addf(sql,
		    "SELECT COUNT(*) - COUNT(DISTINCT "
		    "_tidemark_s._tidemark_row) FROM %s _tidemark_t JOIN ",
		    d->into);
	bigquery_sql_staged(sql, d);
	strbuf_addstr(sql, " _tidemark_s ON ");
	bigquery_sql_key_join(sql, d->target->schema);
}

/* Changed rows would else make up for rows that stay as they are. A refresh
 * fills a table of its own. */
static void sql_refuse_repeats(struct strbuf *sql,
			       const struct bigquery_destination *d)
{
	if (d->target->refresh)
		return;
	strbuf_addstr(sql, "ASSERT (");
	bigquery_sql_repeats(sql, d);
	strbuf_addstr(sql, ") = 0 AS 'tidemark: keys';\n");
}

/* A mark may go on only where the rows below it are. */
static bool sql_may_be_emptied(const struct bigquery_destination *d)
{
	return !d->target->preview && !d->target->refresh &&
	       !d->target->overwrite;
}

/* COUNT(*) before and after costs nothing: it is metadata. */
static void sql_load_upsert(struct strbuf *sql,
			    const struct bigquery_destination *d,
			    bool delivered)
{
	sql_leave_one(sql, d);
	sql_count(sql, d, "tidemark_before");
	if (sql_may_be_emptied(d))
		strbuf_addstr(sql, "ASSERT tidemark_before > 0 OR @there = 0 "
				   "AS 'tidemark: altered';\n");
	sql_refuse_repeats(sql, d);
	bigquery_sql_merge(sql, d, d->into, delivered);
	strbuf_addstr(sql, ";\nSET tidemark_changed = @@row_count;\n");
	if (d->target->mode == LOAD_DELETE_INSERT) {
		bigquery_sql_insert_missing(sql, d, d->into);
		strbuf_addstr(sql, ";\n");
	}
	sql_count(sql, d, "tidemark_after");
	if (d->target->mode != LOAD_DELETE_INSERT)
		strbuf_addstr(sql, "SET tidemark_changed = tidemark_changed - "
				   "(tidemark_after - tidemark_before);\n");
}

static void sql_load_missing(struct strbuf *sql,
			     const struct bigquery_destination *d)
{
	strbuf_addstr(sql, "SET tidemark_missing = (SELECT COUNT(*) FROM ");
	bigquery_sql_staged(sql, d);
	strbuf_addf(sql,
		    " _tidemark_s WHERE NOT EXISTS (SELECT 1 FROM %s "
		    "_tidemark_t WHERE ",
		    d->into);
	bigquery_sql_key_join(sql, d->target->schema);
	strbuf_addstr(sql, "));\n");
}

/* The last look at the table: a statement that saw another one is undone. */
static void sql_commit(struct strbuf *sql, const struct bigquery_destination *d,
		       bool appended)
{
	struct strbuf more = STRBUF_INIT;

	if (appended && sql_may_be_emptied(d))
		strbuf_addf(&more,
			    " AND (@there = 0 OR (SELECT COUNT(*) FROM %s) > "
			    "tidemark_after)",
			    d->into);
	if (!d->target->refresh)
		bigquery_signature_assert(sql, d, more.data);
	strbuf_addstr(sql, "COMMIT TRANSACTION;\n");
	strbuf_release(&more);
}

void bigquery_sql_load(struct strbuf *sql, const struct bigquery_destination *d,
		       bool delivered)
{
	switch (d->target->mode) {
	case LOAD_APPEND:
		sql_append(sql, d, d->into, "tidemark_base");
		strbuf_addstr(sql, ";\nSET tidemark_after = @@row_count;\n");
		break;
	case LOAD_UPDATE:
		sql_refuse_repeats(sql, d);
		sql_load_missing(sql, d);
		if (sql_sets_some(d)) {
			sql_update(sql, d, d->into, delivered);
			strbuf_addstr(sql, ";\nSET tidemark_changed = "
					   "@@row_count;\n");
		}
		break;
	default:
		sql_load_upsert(sql, d, delivered);
	}
	strbuf_addstr(sql, "ASSERT tidemark_after >= tidemark_before AND "
			   "tidemark_changed >= 0 AND tidemark_changed + "
			   "tidemark_after - tidemark_before <= @rows AS "
			   "'tidemark: keys';\n");
	sql_commit(sql, d, d->target->mode == LOAD_APPEND);
	strbuf_addstr(sql, "SELECT tidemark_after - tidemark_before, "
			   "tidemark_changed, tidemark_missing");
}

/* A target that we have emptied ourselves is not taken for one that somebody
 * else has. */
static void sql_remember_emptied(struct strbuf *sql,
				 const struct bigquery_destination *d)
{
	strbuf_addf(sql,
		    "UPDATE %s SET target_rows = 0 WHERE pipeline = @pipeline "
		    "AND NOT EXISTS (SELECT 1 FROM %s);\n",
		    d->place.quoted_mark, d->into);
}

void bigquery_sql_remove(struct strbuf *sql,
			 const struct bigquery_destination *d)
{
	const char *column = d->target->soft_delete;

	if (d->soft_delete == SOFT_DELETE_NONE)
		strbuf_addf(sql, "DELETE FROM %s _tidemark_t WHERE ", d->into);
	else
		strbuf_addf(sql,
			    "UPDATE %s _tidemark_t SET `%s` = %s%s WHERE "
			    "_tidemark_t.`%s`%s AND ",
			    d->into, column,
			    d->soft_delete == SOFT_DELETE_FLAG ? "TRUE"
							       : "CURRENT_",
			    d->soft_delete == SOFT_DELETE_FLAG ? ""
			    : !strcmp(d->soft_type, "DATETIME")
				    ? "DATETIME('UTC')"
				    : "TIMESTAMP()",
			    column, soft_delete_is_not(d->soft_delete));
	strbuf_addstr(sql, "EXISTS (SELECT 1 FROM ");
	bigquery_sql_staged(sql, d);
	strbuf_addstr(sql, " _tidemark_s WHERE ");
	bigquery_sql_key_join(sql, d->target->schema);
	strbuf_addstr(sql, ");\nSET tidemark_changed = @@row_count;\n");
	if (d->soft_delete == SOFT_DELETE_NONE)
		sql_remember_emptied(sql, d);
	sql_commit(sql, d, false);
	strbuf_addstr(sql, "SELECT tidemark_changed");
}
