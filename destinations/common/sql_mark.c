#include "destinations/common/sql_mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/base/strbuf.h"
#include "core/data/value.h"
#include "destinations/common/names.h"

size_t sql_rows_count(const struct sql_rows *rows)
{
	return rows->n_columns ? rows->cells.n / rows->n_columns : 0;
}

const char *sql_rows_cell(const struct sql_rows *rows, size_t row,
			  size_t column)
{
	return rows->cells.items[row * rows->n_columns + column];
}

int64_t sql_rows_number(const struct sql_rows *rows, size_t row, size_t column)
{
	const char *text = sql_rows_cell(rows, row, column);

	return text ? strtoll(text, NULL, 10) : 0;
}

void sql_rows_release(struct sql_rows *rows)
{
	strlist_release(&rows->cells);
	*rows = (struct sql_rows){ .n_columns = 0 };
}

void sql_mark_init(struct sql_mark *m, const struct destination_ops *ops,
		   const struct mark_engine *keeper,
		   const struct sql_mark_engine *engine)
{
	m->keeper.base.ops = ops;
	m->keeper.engine = keeper;
	m->engine = engine;
	checkpoint_init(&m->seen);
	m->seen.batch_id = xstrdup("");
	m->stands = NULL;
	m->first = false;
}

void sql_mark_release(struct sql_mark *m)
{
	checkpoint_release(&m->seen);
	free(m->stands);
	m->stands = NULL;
}

struct mark_facts sql_mark_of(const char *pipeline)
{
	return (struct mark_facts){ .texts = { [MARK_PIPELINE] = pipeline } };
}

static void mark_now(struct strbuf *sb)
{
	strbuf_reset(sb);
	value_print_timestamp(sb, clock_now_us(), false);
	strbuf_addstr(sb, "+00:00");
}

/* In one pass: a name may look like a word that stands for another. Caller
 * frees. */
static char *mark_name(const char *sql, const struct mark_place *at)
{
	const char *const names[][2] = { { SQL_MARKS, at->marks },
					 { SQL_ROWS, at->rows },
					 { SQL_BUILDING, at->building } };
	struct strbuf sb = STRBUF_INIT;

	while (*sql) {
		size_t i = 0;

		while (i < ARRAY_SIZE(names) &&
		       strncmp(sql, names[i][0], strlen(names[i][0])) != 0)
			i++;
		if (i == ARRAY_SIZE(names)) {
			strbuf_addch(&sb, *sql++);
		} else {
			strbuf_addstr(&sb, names[i][1]);
			sql += strlen(names[i][0]);
		}
	}
	return strbuf_detach(&sb);
}

/* The statement's SQL, which the caller frees. */
static char *mark_compose(const struct sql_mark *m,
			  const struct mark_statement *s,
			  const struct mark_place *at, struct mark_facts facts,
			  struct sql_values *out)
{
	struct mark_place own = at ? *at : m->engine->place(m);

	*out = (struct sql_values){ .now = STRBUF_INIT };
	facts.texts[MARK_SCHEMA] = own.schema;
	facts.texts[MARK_TABLE] = own.table;
	facts.numbers[MARK_TABLE_ID] = own.table_id;
	facts.numbers[MARK_SHARED] = own.shared;
	for (size_t i = 0; i < SQL_MARK_PARAMETERS && s->params[i]; i++) {
		enum mark_value value = s->params[i];

		out->texts[i] = facts.texts[value];
		out->numbers[i] = value >= MARK_FIRST_NUMBER;
		if (value == MARK_NOW) {
			mark_now(&out->now);
			out->texts[i] = out->now.data;
		} else if (out->numbers[i]) {
			snprintf(out->room[i], sizeof(out->room[i]), "%" PRId64,
				 facts.numbers[value]);
			out->texts[i] = out->room[i];
		}
		out->n++;
	}
	return mark_name(s->sql, &own);
}

int sql_mark_end(struct sql_mark *m, int rc, struct error *err)
{
	if (!rc)
		rc = m->engine->commit(m, err);
	if (rc)
		m->engine->rollback(m);
	return rc;
}

const struct target *sql_mark_target(const struct sql_mark *m)
{
	return m->keeper.engine->prepared(&m->keeper);
}

int sql_mark_query(struct sql_mark *m, const struct mark_statement *statement,
		   const struct mark_place *at, const struct mark_facts *facts,
		   struct sql_rows *out, struct error *err)
{
	struct sql_values values;
	char *sql = mark_compose(m, statement, at, *facts, &values);
	int rc = m->engine->query(m, sql, statement->shape, &values, out, err);

	strbuf_release(&values.now);
	free(sql);
	return rc;
}

void sql_mark_tell(struct sql_mark *m, const struct mark_statement *statement,
		   const struct mark_place *at, const struct mark_facts *facts,
		   void (*told)(struct sql_mark *m, const char *sql,
				const struct sql_values *values))
{
	struct sql_values values;
	char *sql = mark_compose(m, statement, at, *facts, &values);

	told(m, sql, &values);
	strbuf_release(&values.now);
	free(sql);
}

int sql_mark_change(struct sql_mark *m, const struct mark_statement *statement,
		    const struct mark_place *at, const struct mark_facts *facts,
		    int64_t *touched, struct error *err)
{
	struct sql_values values;
	char *sql = mark_compose(m, statement, at, *facts, &values);
	int rc = m->engine->change(m, sql, &values, touched, err);

	strbuf_release(&values.now);
	free(sql);
	return rc;
}

void sql_mark_take(const struct sql_rows *rows, size_t row,
		   struct checkpoint *out)
{
	out->found = true;
	out->watermark = xstrdup(sql_rows_cell(rows, row, 0));
	out->batch_id = xstrdup(sql_rows_cell(rows, row, 1));
	out->fence = sql_rows_number(rows, row, 2);
	out->rows_total = sql_rows_number(rows, row, 3);
}

int sql_mark_read(struct sql_mark *m, const struct mark_statement *statement,
		  const struct mark_place *at, const char *pipeline,
		  struct checkpoint *out, struct error *err)
{
	const struct mark_facts facts = sql_mark_of(pipeline);
	struct sql_rows rows = { .n_columns = 0 };
	int rc = sql_mark_query(m, statement, at, &facts, &rows, err);

	if (!rc && sql_rows_count(&rows)) {
		checkpoint_release(out);
		sql_mark_take(&rows, 0, out);
	}
	sql_rows_release(&rows);
	return rc;
}

int sql_mark_read_held(struct sql_mark *m,
		       const struct mark_statement *statement,
		       const char *loaded, struct checkpoint *out, char **table,
		       char **fault, struct error *err)
{
	struct mark_facts facts = sql_mark_of(sql_mark_target(m)->pipeline);
	struct sql_rows rows = { .n_columns = 0 };
	int rc;

	facts.texts[MARK_LOADED] = loaded;
	rc = sql_mark_query(m, statement, NULL, &facts, &rows, err);
	if (!rc && sql_rows_count(&rows)) {
		sql_mark_take(&rows, 0, out);
		*table = xstrdup(sql_rows_cell(&rows, 0, 4));
		if (fault)
			*fault = xstrdup(sql_rows_cell(&rows, 0, 5));
	}
	sql_rows_release(&rows);
	return rc;
}

int sql_mark_read_all(struct sql_mark *m,
		      const struct mark_statement *statement,
		      const struct mark_place *at, const char *pipeline,
		      struct checkpoint *out, struct error *err)
{
	const struct mark_facts facts = sql_mark_of(pipeline);
	struct sql_rows rows = { .n_columns = 0 };
	int rc = sql_mark_query(m, statement, at, &facts, &rows, err);

	checkpoint_release(out);
	for (size_t i = 0; !rc && i < sql_rows_count(&rows); i++) {
		const char *own = sql_rows_cell(&rows, i, 4);

		if (*own == '1' || *own == 't')
			sql_mark_take(&rows, i, out);
		else
			checkpoint_add_other(out, sql_rows_cell(&rows, i, 5),
					     sql_rows_cell(&rows, i, 0));
	}
	sql_rows_release(&rows);
	return rc;
}

/* The table of marks in words; caller frees. */
static char *mark_where(const struct sql_mark *m)
{
	struct mark_place at = m->engine->place(m);

	return at.file ? xstrfmt(NAME_WATERMARK_TABLE " of %s", at.file)
		       : xstrdup(at.marks);
}

int sql_mark_overtaken(struct sql_mark *m, const struct target *target,
		       const char *seen_id, const struct checkpoint *now,
		       struct error *err)
{
	const struct checkpoint seen = { .batch_id = (char *)seen_id,
					 .fence = m->seen.fence };
	char *where = mark_where(m);
	char *outcome = target_given_up(target);
	int rc = writer_overtaken(target->pipeline, where, outcome, &seen, now,
				  err);

	free(outcome);
	free(where);
	return rc;
}

int sql_mark_compare(struct sql_mark *m, const struct target *target,
		     const struct checkpoint *now, struct error *err)
{
	if (!now->found)
		return sql_mark_overtaken(m, target, m->seen.batch_id, now,
					  err);
	if (writer_check_fence(&target->writer, target->pipeline, now->fence,
			       err))
		return -ERROR_STATE;
	if (strcmp(now->batch_id, m->seen.batch_id) ||
	    now->fence != m->seen.fence)
		return sql_mark_overtaken(m, target, m->seen.batch_id, now,
					  err);
	return 0;
}

int sql_mark_meet(struct sql_mark *m, const struct target *target,
		  struct error *err)
{
	const struct mark_facts facts = sql_mark_of(target->pipeline);
	struct sql_rows rows = { .n_columns = 0 };
	int rc;

	if (!m->first)
		return 0;
	rc = sql_mark_query(m, &m->engine->meet, NULL, &facts, &rows, err);
	if (!rc)
		rc = target_meet_others(target, &rows.cells, rows.n_columns,
					err);
	sql_rows_release(&rows);
	return rc;
}

int sql_mark_hold(struct sql_mark *m, const struct target *target,
		  const struct checkpoint *now, struct error *err)
{
	int rc = sql_mark_compare(m, target, now, err);

	if (!rc)
		rc = sql_mark_meet(m, target, err);
	if (rc)
		return rc;
	m->seen.rows_total = now->rows_total;
	free(m->stands);
	m->stands = xstrdup(now->watermark);
	return 0;
}

int sql_mark_resume(struct sql_mark *m, const struct target *target,
		    const struct checkpoint *now, struct error *err)
{
	int rc = writer_check_fence(&target->writer, target->pipeline,
				    now->fence, err);

	if (!rc && target->refresh)
		rc = sql_mark_compare(m, target, now, err);
	else if (!rc)
		sql_mark_remember(m, now->batch_id, now->fence,
				  now->rows_total);
	m->first = !now->watermark && target->n_others &&
		   target->mode != LOAD_UPDATE;
	return rc;
}

int sql_mark_changed_hands(struct sql_mark *m, const struct target *target,
			   struct error *err)
{
	char *where = mark_where(m);
	int rc = error_set(err, ERROR_STATE,
			   "pipeline %s: its row in %s has changed hands",
			   target->pipeline, where);

	free(where);
	return rc;
}

int sql_mark_write(struct sql_mark *m, const struct target *target,
		   const struct checkpoint *next, int64_t rows_more,
		   struct error *err)
{
	const struct mark_facts facts = {
		.texts = { [MARK_PIPELINE] = target->pipeline,
			   [MARK_WATERMARK] = next->watermark,
			   [MARK_BATCH_ID] =
				   next->batch_id ? next->batch_id : "",
			   [MARK_SEEN_ID] = m->seen.batch_id },
		.numbers = { [MARK_FENCE] = next->fence,
			     [MARK_ROWS_TOTAL] = m->seen.rows_total + rows_more,
			     [MARK_ROWS_MORE] = rows_more,
			     [MARK_CREATED] = target->refresh },
	};
	int64_t touched = 0;
	int rc = failpoint("before_watermark", err);

	if (!rc)
		rc = sql_mark_change(m, &m->engine->write, NULL, &facts,
				     &touched, err);
	if (!rc && touched != 1)
		rc = m->engine->lost(m, target, err);
	return rc ? rc : failpoint("after_watermark", err);
}

int sql_mark_removed(struct sql_mark *m, int64_t removed, struct error *err)
{
	const struct mark_facts facts =
		sql_mark_of(sql_mark_target(m)->pipeline);

	if (!removed || m->soft_delete != SOFT_DELETE_NONE)
		return 0;
	return sql_mark_change(m, &m->engine->emptied, NULL, &facts, NULL, err);
}

void sql_mark_remember(struct sql_mark *m, const char *batch_id, int64_t fence,
		       int64_t rows_total)
{
	char *copy = xstrdup(batch_id ? batch_id : "");

	free(m->seen.batch_id);
	m->seen.batch_id = copy;
	m->seen.fence = fence;
	m->seen.rows_total = rows_total;
	m->first = false;
}

void sql_mark_advance(struct sql_mark *m, const struct checkpoint *next,
		      int64_t rows_more)
{
	sql_mark_remember(m, next->batch_id, next->fence,
			  m->seen.rows_total + rows_more);
}

bool sql_mark_is_there(const struct sql_mark *m, const struct checkpoint *next,
		       const struct checkpoint *now)
{
	return next && next->batch_id && now->found &&
	       !strcmp(now->batch_id, next->batch_id) &&
	       strcmp(m->seen.batch_id, next->batch_id) != 0;
}

int sql_mark_put(struct sql_mark *m, const struct mark_statement *statement,
		 const struct mark_place *at, const char *pipeline,
		 const char *watermark, int created, struct error *err)
{
	char *batch_id = xstrfmt("set-%" PRId64, clock_now_us());
	struct mark_facts facts = sql_mark_of(pipeline);
	int rc;

	facts.texts[MARK_WATERMARK] = watermark;
	facts.texts[MARK_BATCH_ID] = batch_id;
	facts.numbers[MARK_CREATED] = created;
	rc = sql_mark_change(m, statement, at, &facts, NULL, err);
	free(batch_id);
	return rc;
}

int sql_mark_raise(struct sql_mark *m, const struct mark_place *at,
		   const char *pipeline, const char *mark, char **raised,
		   struct error *err)
{
	struct mark_facts facts = sql_mark_of(pipeline);
	struct sql_rows rows = { .n_columns = 0 };
	int rc = sql_mark_query(m, &m->engine->look, at, &facts, &rows, err);
	bool there = !rc && sql_rows_count(&rows);

	if (rc)
		return rc;
	*raised = watermark_raise_text(
		there ? sql_rows_cell(&rows, 0, 0) : NULL, mark);
	sql_rows_release(&rows);
	if (!there)
		return 1;
	facts.texts[MARK_WATERMARK] = *raised;
	if (*raised)
		rc = sql_mark_change(m, &m->engine->raise, at, &facts, NULL,
				     err);
	free(*raised);
	*raised = NULL;
	return rc;
}

int sql_mark_make_and_raise(struct sql_mark *m,
			    const struct mark_statement *make,
			    const struct mark_place *at, const char *pipeline,
			    const char *mark, struct error *err)
{
	const struct mark_facts facts = sql_mark_of(pipeline);
	char *raised = NULL;
	int rc = sql_mark_change(m, make, at, &facts, NULL, err);

	if (!rc)
		rc = sql_mark_raise(m, at, pipeline, mark, &raised, err);
	free(raised);
	return rc < 0 ? rc : 0;
}

int sql_mark_list(struct sql_mark *m, const struct mark_place *at,
		  const char *pipeline, struct strlist *out, struct error *err)
{
	const struct mark_facts facts = sql_mark_of(pipeline);
	struct sql_rows rows = { .n_columns = 0 };
	int rc = sql_mark_query(m, &m->engine->meet, at, &facts, &rows, err);

	for (size_t i = 0; !rc && i < rows.cells.n; i++)
		strlist_add(out, rows.cells.items[i]);
	sql_rows_release(&rows);
	return rc;
}

int sql_mark_forget(struct mark_keeper *k, const struct mark_found *f,
		    const struct target *target, struct error *err)
{
	struct sql_mark *m = (struct sql_mark *)k;
	struct mark_facts facts = sql_mark_of(target->pipeline);
	int rc = 0;

	facts.numbers[MARK_FENCE] = target->writer.fence;
	if (f->at.shared)
		rc = sql_mark_change(m, &m->engine->hand_on, &f->at, &facts,
				     NULL, err);
	if (!rc)
		rc = sql_mark_change(m, &m->engine->forget, &f->at, &facts,
				     NULL, err);
	return rc;
}
