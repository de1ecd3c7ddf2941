#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "destinations/clickhouse/internal.h"

#define HAND_ON_TRIES 20

/* The newest row of each pipeline first: one that has gone to another table
 * since has no mark of this one. */
char *clickhouse_target_mark_all_sql(const struct place *place,
				     const char *pipeline)
{
	struct strbuf all = STRBUF_INIT, *sb = &all;

	strbuf_addstr(sb, "SELECT * FROM (");
	clickhouse_target_mark_write_select(sb, place);
	strbuf_addf(sb,
		    ", pipeline\n  FROM %s ORDER BY " NAME_VERSION
		    " DESC LIMIT 1 BY pipeline)\nWHERE pipeline = ",
		    place->marks_rows);
	clickhouse_quote_text(sb, pipeline);
	strbuf_addstr(sb, " OR target = ");
	clickhouse_quote_text(sb, place->table);
	strbuf_addstr(sb, " AND " NAME_DELETED
			  " = 0 AND watermark IS NOT NULL\nORDER BY pipeline");
	return strbuf_detach(sb);
}

/* The mark, and those that others have of the target. */
static int mark_read_rows(struct clickhouse_target *d,
			  const struct place *place, const char *pipeline,
			  struct mark_row *out, struct strlist *others,
			  struct error *err)
{
	struct clickhouse_rows rows;
	char *sql = clickhouse_target_mark_all_sql(place, pipeline);
	int rc = clickhouse_query(d->db, sql, "tt?tttttttt", &rows, err);

	for (size_t i = 0; !rc && i < rows.n_rows; i++) {
		const char *name = clickhouse_cell(&rows, i, 10);

		if (!strcmp(name, pipeline)) {
			clickhouse_target_mark_take(out, &rows, i);
			continue;
		}
		strlist_add(others, name);
		strlist_add(others, clickhouse_cell(&rows, i, 2));
	}
	clickhouse_rows_release(&rows);
	free(sql);
	return rc;
}

static int mark_set(struct clickhouse_target *d, const struct place *place,
		    const char *pipeline, const char *watermark,
		    struct error *err)
{
	struct catalog_table raw;
	struct mark_row seen = { .found = false }, next;
	int rc;

	clickhouse_target_catalog_init(&raw);
	rc = clickhouse_target_catalog_read(d->db, place->database, place->base,
					    &raw, err);
	if (!rc)
		rc = clickhouse_target_mark_read(d, place, pipeline, &seen,
						 err);
	if (!rc) {
		next = seen;
		next.watermark = (char *)watermark;
		next.batch_id = clickhouse_target_mark_new_id("set-");
		next.target = place->table;
		next.table_uuid = raw.uuid;
		next.written_at = NULL;
		next.target_rows = 0;
		if (!seen.found)
			next.fence = next.rows_total = 0;
		rc = clickhouse_target_mark_put(d, place, pipeline, &seen,
						&next, false, err);
		free(next.batch_id);
		free(next.written_at);
	}
	clickhouse_target_mark_row_release(&seen);
	clickhouse_target_catalog_release(&raw);
	return rc;
}

static int mark_make_table(struct clickhouse_target *d,
			   const struct place *place, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc;

	clickhouse_target_ddl_marks(&sql, place->marks_rows);
	rc = clickhouse_exec(d->db, sql.data, err);
	if (!rc)
		rc = clickhouse_execf(d->db, err,
				      "CREATE VIEW IF NOT EXISTS %s AS SELECT "
				      "* EXCEPT (" NAME_VERSION
				      ", " NAME_DELETED ") FROM %s FINAL",
				      place->marks, place->marks_rows);
	strbuf_release(&sql);
	return rc;
}

/* One look, and the write that goes with it; STATE: it was moved between. */
static int mark_raise(struct clickhouse_target *d, const struct place *place,
		      const char *pipeline, int64_t least, struct error *err)
{
	struct mark_row seen = { .found = false }, next;
	int rc = clickhouse_target_mark_read(d, place, pipeline, &seen, err);

	if (!rc && seen.found) {
		clickhouse_target_mark_row_copy(&next, &seen);
		if (next.rows_total < least)
			next.rows_total = least;
		rc = clickhouse_target_mark_put(d, place, pipeline, &seen,
						&next, false, err);
		clickhouse_target_mark_row_release(&next);
	}
	clickhouse_target_mark_row_release(&seen);
	return rc;
}

/* The numbers of a raw table go on behind the highest, whoever gave it; the
 * other may be moving its mark right now. */
static int mark_hand_on(struct clickhouse_target *d, const struct place *place,
			const struct target *target,
			const struct mark_row *gone, struct error *err)
{
	struct strlist others = STRLIST_INIT;
	struct error why = ERROR_INIT;
	int rc = 0;

	if (place->append)
		rc = mark_keeper_others(&d->keeper.base, target, &others, &why);
	if (!rc && others.n) {
		for (int tries = 0; tries < HAND_ON_TRIES; tries++) {
			error_clear(&why);
			rc = mark_raise(d, place, others.items[0],
					gone->rows_total, &why);
			if (rc != -ERROR_STATE)
				break;
		}
	}
	if (rc && err)
		*err = why;
	strlist_release(&others);
	return rc;
}

/* One look, and the write that goes with it; STATE: it was moved between. */
static int mark_raise_mark(struct clickhouse_target *d,
			   const struct place *place, const char *pipeline,
			   const char *mark, struct error *err)
{
	struct mark_row seen = { .found = false }, next;
	int rc = clickhouse_target_mark_read(d, place, pipeline, &seen, err);
	char *raised = rc ? NULL : watermark_raise_text(seen.watermark, mark);

	if (raised) {
		clickhouse_target_mark_row_copy(&next, &seen);
		free(next.watermark);
		next.watermark = raised;
		if (!seen.found) {
			free(next.target);
			next.target = xstrdup(place->table);
			next.fence = next.rows_total = next.target_rows = 0;
		}
		rc = clickhouse_target_mark_put(d, place, pipeline, &seen,
						&next, false, err);
		clickhouse_target_mark_row_release(&next);
	}
	clickhouse_target_mark_row_release(&seen);
	return rc;
}

static int mark_find(struct mark_keeper *k, const struct target *target,
		     enum mark_look look, struct mark_found *out,
		     struct error *err)
{
	struct clickhouse_target *d = (struct clickhouse_target *)k;
	struct place *place = xcalloc(1, sizeof(*place));
	struct catalog_table there;
	int rc = clickhouse_target_place_set(place, clickhouse_database(d->db),
					     target, err);

	out->own = place;
	out->where = clickhouse_shown(d->db);
	clickhouse_target_catalog_init(&there);
	if (!rc && look == MARK_LOOK_ALL)
		rc = clickhouse_target_ahead_recover(d, place, target, err);
	if (!rc && look == MARK_LOOK_ALL)
		rc = clickhouse_target_catalog_read(d->db, place->database,
						    place->table, &there, err);
	out->has_target = there.exists;
	if (!rc)
		rc = clickhouse_target_mark_has_table(d, place, &out->has_marks,
						      NULL, err);
	clickhouse_target_catalog_release(&there);
	return rc;
}

static void mark_lose(struct mark_found *f)
{
	clickhouse_target_place_release(f->own);
	free(f->own);
}

static int mark_read_all(struct mark_keeper *k, const struct mark_found *f,
			 const char *pipeline, struct checkpoint *out,
			 struct error *err)
{
	struct clickhouse_target *d = (struct clickhouse_target *)k;
	struct mark_row row = { .found = false };
	struct strlist others = STRLIST_INIT;
	int rc = clickhouse_target_ahead_marks(d, f->own, pipeline, err);

	if (!rc)
		rc = mark_read_rows(d, f->own, pipeline, &row, &others, err);

	if (rc) {
		strlist_release(&others);
	} else {
		clickhouse_target_mark_row_checkpoint(&row, out);
		out->others = others;
	}
	clickhouse_target_mark_row_release(&row);
	return rc;
}

static int mark_forget(struct mark_keeper *k, const struct mark_found *f,
		       const struct target *target, struct error *err)
{
	struct clickhouse_target *d = (struct clickhouse_target *)k;
	const char *pipeline = target->pipeline;
	struct mark_row row = { .found = false };
	int rc = clickhouse_target_mark_read(d, f->own, pipeline, &row, err);

	if (!rc && row.found && row.fence <= target->writer.fence) {
		rc = mark_hand_on(d, f->own, target, &row, err);
		if (!rc)
			rc = clickhouse_target_mark_put(d, f->own, pipeline,
							&row, &row, true, err);
	}
	clickhouse_target_mark_row_release(&row);
	return rc;
}

static int mark_set_found(struct mark_keeper *k, const struct mark_found *f,
			  const char *pipeline, const char *watermark,
			  struct error *err)
{
	struct clickhouse_target *d = (struct clickhouse_target *)k;
	int rc = f->has_marks ? 0 : mark_make_table(d, f->own, err);

	return rc ? rc : mark_set(d, f->own, pipeline, watermark, err);
}

/* The pipeline may be moving its mark right now. */
static int mark_raise_found(struct mark_keeper *k, const struct mark_found *f,
			    const char *pipeline, const char *mark,
			    struct error *err)
{
	struct clickhouse_target *d = (struct clickhouse_target *)k;
	struct error why = ERROR_INIT;
	int rc = 0;

	for (int tries = 0; tries < HAND_ON_TRIES; tries++) {
		error_clear(&why);
		rc = mark_raise_mark(d, f->own, pipeline, mark, &why);
		if (rc != -ERROR_STATE)
			break;
		rc = 0;
	}
	if (!rc && why.code)
		rc = error_set(&why, ERROR_CONFLICT,
			       "pipeline %s: it moves its mark too fast to be "
			       "told of what is delivered beside it",
			       pipeline);
	if (rc && err)
		*err = why;
	return rc;
}

static const struct target *mark_prepared(const struct mark_keeper *k)
{
	return ((const struct clickhouse_target *)k)->target;
}

const struct mark_engine clickhouse_target_mark_keeper = {
	.prepared = mark_prepared,
	.missing = MARK_MISSING,
	.find = mark_find,
	.lose = mark_lose,
	.read = mark_read_all,
	.resume = clickhouse_target_resume,
	.forget = mark_forget,
	.set = mark_set_found,
	.raise = mark_raise_found,
};
