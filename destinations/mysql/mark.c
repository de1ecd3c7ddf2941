#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/data/table_name.h"
#include "destinations/mysql/ahead.h"

/* Pipelines that append to one table share its numbers, which rows_total is
 * the highest of. */
#define READ_COLUMNS                                                           \
	"SELECT w.watermark, w.batch_id, w.fence, CASE WHEN ? = '1' THEN\n"    \
	"  (SELECT MAX(t.rows_total) FROM " SQL_MARKS                          \
	" t WHERE t.target = w.target)\n"                                      \
	"  ELSE w.rows_total END"

const struct mark_statement mysql_target_read_mark = {
	READ_COLUMNS "\nFROM " SQL_MARKS " w WHERE w.pipeline = ?",
	{ MARK_SHARED, MARK_PIPELINE },
	"?ttt",
};

/* Also a digest of the triggers of the loaded table, and the fault of the table
 * of the marks. A trigger that is made again was made later. */
static const struct mark_statement read_held = {
	READ_COLUMNS
	",\n  (SELECT CONCAT_WS(' ', COUNT(*), MAX(g.created),\n"
	"     BIT_XOR(CRC32(CONCAT_WS(' ', g.trigger_name, g.action_timing,\n"
	"       g.event_manipulation, g.action_statement))))\n"
	"   FROM information_schema.triggers g\n"
	"   WHERE g.event_object_schema = ? AND g.event_object_table = ?),\n"
	"  " OWNED_MARK_FAULT "\nFROM " SQL_MARKS " w WHERE w.pipeline = ?",
	{ MARK_SHARED, MARK_SCHEMA, MARK_LOADED, MARK_SCHEMA, MARK_SCHEMA,
	  MARK_PIPELINE },
	"?ttt??",
};

/* And the marks that others have of the target. */
const struct mark_statement mysql_target_read_all = {
	READ_COLUMNS ", w.pipeline = ?, w.pipeline\n"
		     "FROM " SQL_MARKS " w WHERE w.pipeline = ?\n"
		     "  OR w.target = ? AND w.watermark IS NOT NULL ORDER BY "
		     "w.pipeline",
	{ MARK_SHARED, MARK_PIPELINE, MARK_PIPELINE, MARK_TABLE },
	"?ttttt",
};

static const struct mark_statement claim_mark = {
	"UPDATE " SQL_MARKS " SET fence = GREATEST(fence, ?)\n"
	"WHERE pipeline = ?",
	{ MARK_FENCE, MARK_PIPELINE },
	NULL,
};

static const struct mark_statement make_mark = {
	"INSERT IGNORE INTO " SQL_MARKS " (pipeline, updated_at, target)\n"
	"VALUES (?, UTC_TIMESTAMP(6), ?)",
	{ MARK_PIPELINE, MARK_TABLE },
	NULL,
};

static const struct mark_statement put_mark = {
	"INSERT INTO " SQL_MARKS
	" (pipeline, watermark, batch_id, updated_at, target)\n"
	"VALUES (?, ?, ?, UTC_TIMESTAMP(6), ?)\n"
	"ON DUPLICATE KEY UPDATE watermark = ?, batch_id = ?,\n"
	"  updated_at = UTC_TIMESTAMP(6),\n"
	"  created_target = created_target AND target = ?, target = ?,\n"
	"  target_rows = 0, next_batch_id = NULL",
	{ MARK_PIPELINE, MARK_WATERMARK, MARK_BATCH_ID, MARK_TABLE,
	  MARK_WATERMARK, MARK_BATCH_ID, MARK_TABLE, MARK_TABLE },
	NULL,
};

static int marks_query(struct sql_mark *m, const char *sql, const char *shape,
		       const struct sql_values *values, struct sql_rows *out,
		       struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)m;
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query(d->db, &r, sql, shape, (int)values->n,
				    values->texts, err);

	out->n_columns = rc ? 0 : mysql_client_columns(r);
	for (size_t i = 0; !rc && i < mysql_client_rows(r); i++)
		for (size_t k = 0; k < out->n_columns; k++)
			strlist_add(&out->cells, mysql_client_value(r, i, k));
	mysql_client_result_free(r);
	return rc;
}

static int marks_change(struct sql_mark *m, const char *sql,
			const struct sql_values *values, int64_t *touched,
			struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)m;

	return mysql_client_exec_count(d->db, sql, (int)values->n,
				       values->texts, touched, err);
}

static struct mark_place marks_place(const struct sql_mark *m)
{
	return mark_place_of(&((const struct mysql_target *)m)->place);
}

static int marks_begin(struct sql_mark *m, struct error *err)
{
	return mysql_target_session_begin((struct mysql_target *)m, err);
}

static int marks_commit(struct sql_mark *m, struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)m;
	int rc = mysql_client_exec(d->db, "COMMIT", err);

	if (!rc)
		mysql_target_session_end(d);
	return rc;
}

static void marks_rollback(struct sql_mark *m)
{
	mysql_target_session_rollback((struct mysql_target *)m);
}

/* A table that is updated may be read where that is done before, alone. */
static const struct sql_mark_engine mysql_target_marks = {
	.load = &mysql_target_load_engine,
	.query = marks_query,
	.change = marks_change,
	.begin = marks_begin,
	.commit = marks_commit,
	.rollback = marks_rollback,
	.place = marks_place,
	.lost = sql_mark_changed_hands,
	.meet = { "SELECT pipeline FROM " SQL_MARKS
		  " WHERE target = ? AND pipeline <> ?\n"
		  "  AND watermark IS NOT NULL",
		  { MARK_TABLE, MARK_PIPELINE },
		  "t" },
	.write = { "UPDATE " SQL_MARKS
		   " SET watermark = ?, batch_id = ?, fence = ?,\n"
		   "  rows_total = ?, updated_at = UTC_TIMESTAMP(6),\n"
		   "  target_rows = target_rows + ?\n"
		   "WHERE pipeline = ? AND batch_id = ? AND fence <= ?",
		   { MARK_WATERMARK, MARK_BATCH_ID, MARK_FENCE, MARK_ROWS_TOTAL,
		     MARK_ROWS_MORE, MARK_PIPELINE, MARK_SEEN_ID, MARK_FENCE },
		   NULL },
	.look = { "SELECT watermark FROM " SQL_MARKS
		  " WHERE pipeline = ? FOR UPDATE",
		  { MARK_PIPELINE },
		  "?" },
	.raise = { "UPDATE " SQL_MARKS " SET watermark = ? WHERE pipeline = ?",
		   { MARK_WATERMARK, MARK_PIPELINE },
		   NULL },
	.hand_on = { "UPDATE " SQL_MARKS
		     " SET rows_total = GREATEST(rows_total,\n"
		     "  (SELECT n FROM (SELECT MAX(rows_total) AS n "
		     "FROM " SQL_MARKS "\n"
		     "                  WHERE pipeline = ?) AS gone))\n"
		     "WHERE pipeline = (SELECT name FROM (\n"
		     "  SELECT MIN(o.pipeline) AS name FROM " SQL_MARKS
		     " o JOIN " SQL_MARKS " w\n"
		     "    ON w.target = o.target AND o.pipeline <> w.pipeline\n"
		     "  WHERE w.pipeline = ?) AS other)",
		     { MARK_PIPELINE, MARK_PIPELINE },
		     NULL },
	.forget = { "DELETE FROM " SQL_MARKS " WHERE pipeline = ? AND "
		    "fence <= ?",
		    { MARK_PIPELINE, MARK_FENCE },
		    NULL },
	.emptied = { "UPDATE " SQL_MARKS " SET target_rows = 0\n"
		     "WHERE pipeline = ? AND\n"
		     "  NOT EXISTS (SELECT 1 FROM " SQL_ROWS " t)",
		     { MARK_PIPELINE },
		     NULL },
	.cut = { "DELETE FROM " SQL_ROWS " WHERE " NAME_RAW_SEQ " > ?",
		 { MARK_ROWS_TOTAL },
		 NULL },
	.built = { "SELECT count(*) FROM " SQL_BUILDING, { MARK_NONE }, "1t" },
};

int mysql_target_mark_read(struct mysql_target *d, const char *pipeline,
			   struct checkpoint *out, struct error *err)
{
	return sql_mark_read(&d->mark, &mysql_target_read_mark, NULL, pipeline,
			     out, err);
}

int mysql_target_mark_check_fence(struct mysql_target *d,
				  const struct target *target,
				  struct error *err)
{
	struct checkpoint now;
	int rc;

	checkpoint_init(&now);
	rc = mysql_target_mark_read(d, target->pipeline, &now, err);
	if (!rc)
		rc = writer_check_fence(&target->writer, target->pipeline,
					now.fence, err);
	checkpoint_release(&now);
	return rc;
}

int mysql_target_mark_claim(struct mysql_target *d, const struct target *target,
			    struct error *err)
{
	struct mark_facts facts = sql_mark_of(target->pipeline);

	facts.numbers[MARK_FENCE] = target->writer.fence;
	return sql_mark_change(&d->mark, &claim_mark, NULL, &facts, NULL, err);
}

/* Lock the row against changes by hand. In append lock the rows of all that
 * load into the table, too. One writer at a time numbers its rows, and the last
 * one has the last word. The table is opened for writing, though no row of it
 * is read. From then on DDL waits for the COMMIT. */
static int mark_lock_row(struct mysql_target *d, bool rows, struct error *err)
{
	bool all = d->target->mode == LOAD_APPEND || d->mark.first;
	struct strbuf sql = STRBUF_INIT;
	struct mysql_client_result *r = NULL;
	int rc;

	strbuf_addf(&sql, "SELECT w.pipeline FROM %s w WHERE (w.pipeline = ",
		    d->place.watermark);
	mysql_client_quote(&sql, d->target->pipeline);
	if (all) {
		strbuf_addstr(&sql, " OR w.target = ");
		mysql_client_quote(&sql, d->place.table);
	}
	strbuf_addch(&sql, ')');
	/* In the FROM clause MariaDB 10.11 would read the table from end to
	 * end: it does not see that ON FALSE never holds. */
	if (rows)
		strbuf_addf(&sql,
			    " AND NOT EXISTS (SELECT 1 FROM %s t WHERE FALSE "
			    "FOR UPDATE)",
			    d->rows);
	if (all)
		strbuf_addstr(&sql, " ORDER BY w.pipeline");
	strbuf_addstr(&sql, " FOR UPDATE");
	rc = mysql_client_query(d->db, &r, sql.data, "t", 0, NULL, err);
	mysql_client_result_free(r);
	strbuf_release(&sql);
	if (rc && rows && mysql_target_signature_is_gone(d, err))
		rc = mysql_target_signature_refuse(d->target, err);
	return rc;
}

/* The table is held against DDL: nothing has been added to it. "" is none. */
int mysql_target_mark_look(struct sql_mark *m, bool rows,
			   struct checkpoint *now, char **triggers,
			   struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)m;
	const char *table = d->target->refresh ? d->place.build : d->place.base;
	char *fault = NULL;
	int rc = sql_mark_read_held(m, &read_held, rows ? table : "", now,
				    triggers, &fault, err);

	if (!rc)
		rc = mysql_target_owned_refuse(fault, &d->place, err);
	free(fault);
	return rc;
}

int mysql_target_mark_begin(struct sql_mark *m, bool rows, struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)m;
	int rc = mysql_target_lock_take(d, LOCK_LOAD, d->target->pipeline,
					MYSQL_TARGET_LOAD_WAIT, err);

	if (!rc)
		rc = mysql_target_session_begin(d, err);
	return rc ? rc : mark_lock_row(d, rows, err);
}

/* The server may still be busy with what a killed predecessor has sent. */
static int mark_resume(struct mark_keeper *k, struct checkpoint *out,
		       struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)k;
	const char *pipeline = d->target->pipeline;
	int rc = mysql_target_ahead_resume(d, err);

	if (!rc)
		rc = mysql_target_lock_take(d, LOCK_LOAD, pipeline,
					    MYSQL_TARGET_LOAD_WAIT, err);
	if (!rc)
		rc = mysql_target_mark_read(d, pipeline, out, err);
	mysql_target_lock_release(d, LOCK_LOAD);
	mysql_client_forget_ahead(d->db);
	return rc ? rc : sql_mark_resume(&d->mark, d->target, out, err);
}

static const char look_sql[] =
	"SELECT COALESCE(SUM(table_name = ?), 0),\n"
	"  COUNT(CASE WHEN table_name = '" NAME_WATERMARK_TABLE
	"' THEN 1 END),\n"
	"  " OWNED_MARK_FAULT "\n"
	"FROM information_schema.tables\n"
	"WHERE table_schema = ? AND table_name IN\n"
	"  (?, '" NAME_WATERMARK_TABLE "')";
#define LOOK_PARAMS(p)                                                         \
	(p)->table, OWNED_MARK_PARAMS(p), (p)->database, (p)->table

static int mark_look_at(struct mysql_target *d, const struct place *place,
			struct mark_found *out, struct error *err)
{
	const char *params[] = { LOOK_PARAMS(place) };
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query(d->db, &r, look_sql, "1tt?",
				    ARRAY_SIZE(params), params, err);

	if (!rc)
		rc = mysql_target_owned_refuse(mysql_client_value(r, 0, 2),
					       place, err);
	if (!rc) {
		out->has_target = *mysql_client_value(r, 0, 0) != '0';
		out->has_marks = *mysql_client_value(r, 0, 1) != '0';
	}
	mysql_client_result_free(r);
	return rc;
}

static int mark_find(struct mark_keeper *k, const struct target *target,
		     enum mark_look look, struct mark_found *out,
		     struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)k;
	struct place *place = xcalloc(1, sizeof(*place));
	int rc = mysql_target_place_set(place, d->db, target, err);
	const char *params[] = { LOOK_PARAMS(place) };

	out->own = place;
	if (rc)
		return rc;
	out->at = mark_place_of(place);
	out->where = "the destination";
	if (look == MARK_LOOK_ALL)
		rc = mysql_target_ahead_recover(
			d, place, target,
			&(struct mysql_target_look){
				look_sql, ARRAY_SIZE(params), params },
			err);
	if (!rc && look != MARK_LOOK_NAMES)
		rc = mark_look_at(d, place, out, err);
	return rc;
}

static int mark_read_all(struct mark_keeper *k, const struct mark_found *f,
			 const char *pipeline, struct checkpoint *out,
			 struct error *err)
{
	return sql_mark_read_all((struct sql_mark *)k, &mysql_target_read_all,
				 &f->at, pipeline, out, err);
}

static void mark_lose(struct mark_found *f)
{
	mysql_target_place_release(f->own);
	free(f->own);
}

static int mark_set(struct mark_keeper *k, const struct mark_found *f,
		    const char *pipeline, const char *watermark,
		    struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)k;
	struct strbuf sql = STRBUF_INIT;
	int rc = 0;

	if (!f->has_marks) {
		mysql_target_ddl_mark_table(&sql, d, f->own);
		rc = mysql_client_exec(d->db, sql.data, err);
	}
	if (!rc)
		rc = sql_mark_put(&d->mark, &put_mark, &f->at, pipeline,
				  watermark, -1, err);
	strbuf_release(&sql);
	return rc;
}

/* The row's lock waits for the batch of a run that is under way. */
static int mark_raise(struct mark_keeper *k, const struct mark_found *f,
		      const char *pipeline, const char *mark, struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)k;
	int rc = mysql_target_owned_check(d->db, f->own, err);

	if (!rc)
		rc = mysql_target_session_begin(d, err);
	if (!rc)
		rc = sql_mark_make_and_raise(&d->mark, &make_mark, &f->at,
					     pipeline, mark, err);
	return sql_mark_end(&d->mark, rc, err);
}

static const struct target *mark_prepared(const struct mark_keeper *k)
{
	return ((const struct mysql_target *)k)->target;
}

static const struct mark_engine mysql_target_keeper = {
	.prepared = mark_prepared,
	.missing = MARK_MISSING,
	.find = mark_find,
	.lose = mark_lose,
	.read = mark_read_all,
	.resume = mark_resume,
	.forget = sql_mark_forget,
	.set = mark_set,
	.raise = mark_raise,
};

void mysql_target_mark_init(struct mysql_target *d,
			    const struct destination_ops *ops)
{
	sql_mark_init(&d->mark, ops, &mysql_target_keeper, &mysql_target_marks);
}
