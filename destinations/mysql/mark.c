#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/data/table_name.h"
#include "destinations/mysql/owned.h"

/* The server process of a client that was killed lingers a moment. */
#define LOAD_WAIT 10

/* Pipelines that append to one table share its numbers, which rows_total is
 * the highest of. */
static const char read_sql[] =
	"SELECT w.watermark, w.batch_id, w.fence, CASE WHEN ? = '1' THEN\n"
	"  (SELECT MAX(t.rows_total) FROM %s t WHERE t.target = w.target)\n"
	"  ELSE w.rows_total END%s\n"
	"FROM %s w WHERE w.pipeline = ?";

/* A trigger that is made again was made later. */
static const char held_sql[] =
	",\n  (SELECT CONCAT_WS(' ', COUNT(*), MAX(g.created),\n"
	"     BIT_XOR(CRC32(CONCAT_WS(' ', g.trigger_name, g.action_timing,\n"
	"       g.event_manipulation, g.action_statement))))\n"
	"   FROM information_schema.triggers g\n"
	"   WHERE g.event_object_schema = ? AND g.event_object_table = ?),\n"
	"  " OWNED_MARK_FAULT;

static const char read_all_sql[] =
	"SELECT w.watermark, w.batch_id, w.fence, CASE WHEN ? = '1' THEN\n"
	"  (SELECT MAX(t.rows_total) FROM %s t WHERE t.target = w.target)\n"
	"  ELSE w.rows_total END, w.pipeline = ?, w.pipeline\n"
	"FROM %s w WHERE w.pipeline = ?\n"
	"  OR w.target = ? AND w.watermark IS NOT NULL ORDER BY w.pipeline";

static const char write_sql[] =
	"UPDATE %s SET watermark = ?, batch_id = ?, fence = ?,\n"
	"  rows_total = ?, updated_at = UTC_TIMESTAMP(6),\n"
	"  target_rows = target_rows + ?\n"
	"WHERE pipeline = ? AND batch_id = ? AND fence <= ?";

static const char set_sql[] =
	"INSERT INTO %s (pipeline, watermark, batch_id, updated_at, target)\n"
	"VALUES (?, ?, ?, UTC_TIMESTAMP(6), ?)\n"
	"ON DUPLICATE KEY UPDATE watermark = ?, batch_id = ?,\n"
	"  updated_at = UTC_TIMESTAMP(6),\n"
	"  created_target = created_target AND target = ?, target = ?,\n"
	"  target_rows = 0, next_batch_id = NULL";

static const char others_sql[] =
	"SELECT pipeline FROM %s WHERE target = ? AND pipeline <> ?\n"
	"  AND watermark IS NOT NULL";

void mysql_target_mark_remember(struct mysql_target *d, const char *batch_id,
				int64_t fence, int64_t rows_total)
{
	char *copy = xstrdup(batch_id ? batch_id : "");

	free(d->seen.batch_id);
	d->seen = (struct mark_seen){ copy, fence, rows_total };
	d->first = false;
}

static void mark_take(const struct mysql_client_result *r, size_t row,
		      struct checkpoint *out)
{
	out->found = true;
	out->watermark = xstrdup(mysql_client_value(r, row, 0));
	out->batch_id = xstrdup(mysql_client_value(r, row, 1));
	out->fence = strtoll(mysql_client_value(r, row, 2), NULL, 10);
	out->rows_total = strtoll(mysql_client_value(r, row, 3), NULL, 10);
}

int mysql_target_mark_read(struct mysql_client *db, const struct place *place,
			   const char *pipeline, struct checkpoint *out,
			   struct error *err)
{
	struct mysql_client_result *r = NULL;
	const char *shared = strcmp(place->table, place->base) ? "1" : "0";
	const char *params[] = { shared, pipeline };
	char *sql = xstrfmt(read_sql, place->watermark, "", place->watermark);
	int rc = mysql_client_query(db, &r, sql, "?ttt", ARRAY_SIZE(params),
				    params, err);

	free(sql);
	if (!rc && mysql_client_rows(r)) {
		checkpoint_release(out);
		mark_take(r, 0, out);
	}
	mysql_client_result_free(r);
	return rc;
}

/* In the load's transaction, which holds the table against DDL: nothing has
 * been added to it. And a digest of the triggers of `table`, a plain name; ""
 * is no table. */
static int mark_read_held(struct mysql_target *d, const char *table,
			  struct checkpoint *out, char **triggers,
			  struct error *err)
{
	const struct place *place = &d->place;
	const char *shared = strcmp(place->table, place->base) ? "1" : "0";
	const char *params[] = { shared, place->database, table,
				 OWNED_MARK_PARAMS(place),
				 d->target->pipeline };
	struct mysql_client_result *r = NULL;
	char *sql =
		xstrfmt(read_sql, place->watermark, held_sql, place->watermark);
	int rc = mysql_client_query(d->db, &r, sql, "?ttt??",
				    ARRAY_SIZE(params), params, err);

	free(sql);
	if (!rc && mysql_client_rows(r)) {
		*triggers = xstrdup(mysql_client_value(r, 0, 4));
		checkpoint_release(out);
		mark_take(r, 0, out);
		rc = mysql_target_owned_refuse(mysql_client_value(r, 0, 5),
					       place, err);
	}
	mysql_client_result_free(r);
	return rc;
}

static int mark_read_all(struct mysql_client *db, const struct place *place,
			 const char *pipeline, struct checkpoint *out,
			 struct error *err)
{
	struct mysql_client_result *r = NULL;
	const char *params[] = { strcmp(place->table, place->base) ? "1" : "0",
				 pipeline, pipeline, place->table };
	char *sql = xstrfmt(read_all_sql, place->watermark, place->watermark);
	int rc = mysql_client_query(db, &r, sql, "?ttttt", ARRAY_SIZE(params),
				    params, err);

	free(sql);
	checkpoint_release(out);
	for (size_t i = 0; !rc && i < mysql_client_rows(r); i++) {
		if (*mysql_client_value(r, i, 4) == '1')
			mark_take(r, i, out);
		else
			checkpoint_add_other(out, mysql_client_value(r, i, 5),
					     mysql_client_value(r, i, 0));
	}
	mysql_client_result_free(r);
	return rc;
}

static int mark_overtaken(struct mysql_target *d, const struct checkpoint *now,
			  struct error *err)
{
	const struct checkpoint seen = { .batch_id = d->seen.batch_id,
					 .fence = d->seen.fence };
	char *outcome = target_given_up(d->target);
	int rc = writer_overtaken(d->target->pipeline, d->place.watermark,
				  outcome, &seen, now, err);

	free(outcome);
	return rc;
}

static int mark_compare(struct mysql_target *d, const struct checkpoint *now,
			struct error *err)
{
	if (!now->found)
		return mark_overtaken(d, now, err);
	if (writer_check_fence(&d->target->writer, d->target->pipeline,
			       now->fence, err))
		return -ERROR_STATE;
	if (strcmp(now->batch_id, d->seen.batch_id) ||
	    now->fence != d->seen.fence)
		return mark_overtaken(d, now, err);
	return 0;
}

int mysql_target_mark_check_fence(struct mysql_target *d,
				  const struct target *target,
				  struct error *err)
{
	struct checkpoint now;
	int rc;

	checkpoint_init(&now);
	rc = mysql_target_mark_read(d->db, &d->place, target->pipeline, &now,
				    err);
	if (!rc)
		rc = writer_check_fence(&target->writer, target->pipeline,
					now.fence, err);
	checkpoint_release(&now);
	return rc;
}

int mysql_target_mark_claim(struct mysql_target *d, const struct target *target,
			    struct error *err)
{
	char *fence = xstrfmt("%" PRId64, target->writer.fence);
	char *sql = xstrfmt("UPDATE %s SET fence = GREATEST(fence, ?)\n"
			    "WHERE pipeline = ?",
			    d->place.watermark);
	const char *params[] = { fence, target->pipeline };
	int rc = mysql_client_exec_count(d->db, sql, 2, params, NULL, err);

	free(sql);
	free(fence);
	return rc;
}

/* The row, against whoever changes it by hand. In append those of all that load
 * into the table, too: its rows are numbered by one writer at a time, and the
 * one that comes last has the last word. The table is opened to be written to,
 * though no row of it is read: from then on DDL waits for the COMMIT. */
static int mark_lock_row(struct mysql_target *d, bool rows, struct error *err)
{
	bool all = d->target->mode == LOAD_APPEND || d->first;
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

/* Behind the locks of all that load into the table. */
static int mark_check_others(struct mysql_target *d, struct error *err)
{
	const char *params[] = { d->place.table, d->target->pipeline };
	struct mysql_client_result *r = NULL;
	struct strlist others = STRLIST_INIT;
	char *sql;
	int rc;

	if (!d->first)
		return 0;
	sql = xstrfmt(others_sql, d->place.watermark);
	rc = mysql_client_query(d->db, &r, sql, "t", 2, params, err);
	free(sql);
	for (size_t i = 0; !rc && i < mysql_client_rows(r); i++)
		strlist_add(&others, mysql_client_value(r, i, 0));
	if (!rc)
		rc = target_meet_others(d->target, &others, 1, err);
	strlist_release(&others);
	mysql_client_result_free(r);
	return rc;
}

int mysql_target_mark_begin(struct mysql_target *d, bool rows,
			    struct error *err)
{
	const char *pipeline = d->target->pipeline;
	const char *table = d->target->refresh ? d->place.build : d->place.base;
	struct checkpoint now;
	char *triggers = NULL;
	int rc = mysql_target_lock_take(d, LOCK_LOAD, pipeline, LOAD_WAIT, err);

	checkpoint_init(&now);
	if (!rc)
		rc = mysql_target_session_begin(d, err);
	if (!rc)
		rc = mark_lock_row(d, rows, err);
	if (!rc)
		rc = mark_read_held(d, rows ? table : "", &now, &triggers, err);
	if (!rc)
		rc = mark_compare(d, &now, err);
	if (!rc)
		rc = mark_check_others(d, err);
	if (!rc && rows)
		rc = mysql_target_signature_check(d, triggers, err);
	if (!rc) {
		d->seen.rows_total = now.rows_total;
		free(d->stands);
		d->stands = xstrdup(now.watermark);
	}
	checkpoint_release(&now);
	free(triggers);
	return rc;
}

int mysql_target_mark_write(struct mysql_target *d,
			    const struct checkpoint *next, size_t n_rows,
			    struct error *err)
{
	char *fence = xstrfmt("%" PRId64, next->fence);
	char *total = xstrfmt("%" PRId64, d->seen.rows_total + (int64_t)n_rows);
	char *more = xstrfmt("%zu", n_rows);
	const char *params[] = { next->watermark,
				 next->batch_id ? next->batch_id : "",
				 fence,
				 total,
				 more,
				 d->target->pipeline,
				 d->seen.batch_id,
				 fence };
	char *sql = xstrfmt(write_sql, d->place.watermark);
	int64_t touched = 0;
	int rc = failpoint("before_watermark", err);

	if (!rc)
		rc = mysql_client_exec_count(d->db, sql, ARRAY_SIZE(params),
					     params, &touched, err);
	if (!rc && touched != 1)
		rc = error_set(err, ERROR_STATE,
			       "pipeline %s: its row in %s has changed hands",
			       d->target->pipeline, d->place.watermark);
	if (!rc)
		rc = failpoint("after_watermark", err);
	free(fence);
	free(total);
	free(more);
	free(sql);
	return rc;
}

void mysql_target_mark_advance(struct mysql_target *d,
			       const struct checkpoint *next, size_t n_rows)
{
	mysql_target_mark_remember(d, next->batch_id, next->fence,
				   d->seen.rows_total + (int64_t)n_rows);
}

/* The server may still be busy with what a killed predecessor has sent. A
 * refresh holds on to what prepare wrote: the row may be another's by now. */
static int mark_recover_own(struct mysql_target *d, struct checkpoint *out,
			    struct error *err)
{
	const char *pipeline = d->target->pipeline;
	int rc = failpoint("in_recovery", err);

	if (!rc)
		rc = mysql_target_lock_take(d, LOCK_LOAD, pipeline, LOAD_WAIT,
					    err);
	if (!rc)
		rc = mysql_target_mark_read(d->db, &d->place, pipeline, out,
					    err);
	mysql_target_lock_release(d, LOCK_LOAD);
	if (!rc)
		rc = writer_check_fence(&d->target->writer, pipeline,
					out->fence, err);
	if (!rc && d->target->refresh)
		rc = mark_compare(d, out, err);
	else if (!rc)
		mysql_target_mark_remember(d, out->batch_id, out->fence,
					   out->rows_total);
	d->first = !out->watermark && d->target->n_others &&
		   d->target->mode != LOAD_UPDATE;
	return rc;
}

/* Both the table that readers use and _tidemark_watermark are there. */
int mysql_target_mark_has_tables(struct mysql_client *db,
				 const struct place *place, bool *has_target,
				 bool *has_watermark, struct error *err)
{
	const char *params[] = { place->table, OWNED_MARK_PARAMS(place),
				 place->database, place->table };
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query(db, &r,
				    "SELECT COALESCE(SUM(table_name = ?), 0),\n"
				    "  COUNT(CASE WHEN table_name = "
				    "'" NAME_WATERMARK_TABLE "' THEN 1 END),\n"
				    "  " OWNED_MARK_FAULT "\n"
				    "FROM information_schema.tables\n"
				    "WHERE table_schema = ? AND table_name IN\n"
				    "  (?, '" NAME_WATERMARK_TABLE "')",
				    "1tt?", ARRAY_SIZE(params), params, err);

	if (!rc)
		rc = mysql_target_owned_refuse(mysql_client_value(r, 0, 2),
					       place, err);
	if (!rc) {
		*has_target = *mysql_client_value(r, 0, 0) != '0';
		*has_watermark = *mysql_client_value(r, 0, 1) != '0';
	}
	mysql_client_result_free(r);
	return rc;
}

int mysql_target_recover(struct destination *base, const struct target *target,
			 struct checkpoint *out, struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)base;
	struct place place = { .database = NULL };
	bool has_target = false, has_watermark = false;
	int rc;

	if (d->target)
		return mark_recover_own(d, out, err);
	rc = mysql_target_place_set(&place, d->db, target, err);
	if (!rc)
		rc = mysql_target_mark_has_tables(d->db, &place, &has_target,
						  &has_watermark, err);
	if (!rc && has_watermark)
		rc = mark_read_all(d->db, &place, target->pipeline, out, err);
	if (!rc && !has_target)
		checkpoint_set_missing(out);
	mysql_target_place_release(&place);
	return rc;
}

static int mark_set(struct mysql_target *d, const struct place *place,
		    const char *pipeline, const char *watermark,
		    struct error *err)
{
	/* Another identity: a run that is under way notices. */
	char *batch_id = xstrfmt("set-%" PRId64, clock_now_us());
	char *sql = xstrfmt(set_sql, place->watermark);
	const char *params[] = { pipeline,     watermark,   batch_id,
				 place->table, watermark,   batch_id,
				 place->table, place->table };
	int rc = mysql_client_exec_count(d->db, sql, ARRAY_SIZE(params), params,
					 NULL, err);

	free(sql);
	free(batch_id);
	return rc;
}

int mysql_target_set_watermark(struct destination *base,
			       const struct target *target,
			       const char *watermark, struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)base;
	struct place place = { .database = NULL };
	bool has_target = false, has_watermark = false;
	struct strbuf sql = STRBUF_INIT;
	int rc = mysql_target_place_set(&place, d->db, target, err);

	if (!rc)
		rc = mysql_target_mark_has_tables(d->db, &place, &has_target,
						  &has_watermark, err);
	if (!rc && !has_target)
		rc = error_set(err, ERROR_SCHEMA,
			       "table %s is not in the destination: there is "
			       "no mark to set before a first run",
			       target->table);
	if (!rc && !has_watermark) {
		mysql_target_ddl_mark_table(&sql, d, &place);
		rc = mysql_client_exec(d->db, sql.data, err);
	}
	if (!rc)
		rc = mark_set(d, &place, target->pipeline, watermark, err);
	strbuf_release(&sql);
	mysql_target_place_release(&place);
	return rc;
}
