#include "destinations/common/sql_load.h"

#include <stdlib.h>

#include "core/base/failpoint.h"
#include "destinations/common/names.h"
#include "destinations/common/refresh.h"
#include "destinations/common/refusals.h"

int sql_load_done(struct sql_mark *m, const struct batch *b, int rc,
		  struct error *err)
{
	(void)m;
	(void)b;
	(void)err;
	return rc;
}

/* The row is compared under the locks of `begin`. */
static int load_begin(struct sql_mark *m, bool rows, struct error *err)
{
	const struct sql_load_engine *engine = m->engine->load;
	struct checkpoint now;
	char *table = NULL;
	int rc = engine->begin(m, rows, err);

	checkpoint_init(&now);
	if (!rc)
		rc = engine->look(m, rows, &now, &table, err);
	if (!rc)
		rc = sql_mark_hold(m, sql_mark_target(m), &now, err);
	if (!rc && rows)
		rc = engine->same(m, table, err);
	checkpoint_release(&now);
	free(table);
	return rc;
}

/* Behind the rows, which have come to `rc`: `next` (NULL: the mark is left
 * alone) and COMMIT, or nothing of it all. */
static int load_end(struct sql_mark *m, const struct checkpoint *next,
		    int64_t n_rows, int rc, struct error *err)
{
	if (!rc && next)
		rc = sql_mark_write(m, sql_mark_target(m), next, n_rows, err);
	if (!rc)
		rc = m->engine->load->commit(m, next, err);
	if (!rc)
		rc = failpoint("commit_acked", err);
	if (rc)
		m->engine->rollback(m);
	else if (next)
		sql_mark_advance(m, next, n_rows);
	return rc;
}

static int load_rows(struct sql_mark *m, const struct batch *b,
		     const struct checkpoint *next, struct load_counts *out,
		     struct error *err)
{
	int rc = m->engine->load->rows(m, b, next, out, err);

	return rc ? rc
		  : counts_check(out, b->n_rows, sql_mark_target(m)->table,
				 err);
}

/* The target's last `n` rows go. The next row gets the number of the first of
 * them. */
static int load_cut(struct sql_mark *m, int64_t n, struct error *err)
{
	const struct target *target = sql_mark_target(m);
	const struct mark_facts facts = {
		.texts = { [MARK_PIPELINE] = target->pipeline },
		.numbers = { [MARK_ROWS_TOTAL] = m->seen.rows_total - n },
	};
	int64_t touched = 0;
	int rc;

	if (!n)
		return 0;
	rc = sql_mark_change(m, &m->engine->cut, NULL, &facts, &touched, err);
	if (!rc && touched != n)
		rc = target_refuse_cut(target, n, touched, err);
	if (!rc)
		m->seen.rows_total -= n;
	return rc;
}

/* A refresh leaves the mark to the swap: the table that it speaks of is not
 * this one yet. */
static int load_batch(struct sql_mark *m, const struct batch *b,
		      const struct checkpoint *next, struct load_counts *out,
		      struct error *err)
{
	bool refresh = sql_mark_target(m)->refresh;
	int64_t n = (int64_t)b->n_rows;
	struct load_counts counts = { .inserted = 0 };
	struct checkpoint kept;
	int rc = load_begin(m, n > 0 || next->cut, err);

	checkpoint_init(&kept);
	checkpoint_keep(&kept, next, refresh ? NULL : m->stands);
	if (!rc)
		rc = load_cut(m, next->cut, err);
	if (!rc)
		rc = load_rows(m, b, &kept, &counts, err);
	m->seen.rows_total += rc ? 0 : next->cut;
	rc = load_end(m, refresh ? NULL : &kept,
		      n + next->rows_beside - next->cut, rc, err);
	checkpoint_release(&kept);
	if (rc)
		return rc;
	if (refresh) {
		m->refreshed += n;
		m->built += counts.inserted;
	}
	*out = counts;
	return 0;
}

int sql_load(struct destination *base, const struct batch *batch,
	     const struct checkpoint *next, struct load_counts *out,
	     struct error *err)
{
	struct sql_mark *m = (struct sql_mark *)base;
	int rc = m->engine->load->ready(m, batch, false, err);

	if (!rc)
		rc = load_batch(m, batch, next, out, err);
	return m->engine->load->done(m, batch, rc, err);
}

/* The preview commits only the session's own copies. */
static int load_preview(struct sql_mark *m, const struct batch *b,
			const struct checkpoint *next, struct load_counts *out,
			struct error *err)
{
	struct load_counts counts = { .inserted = 0 };
	int rc = m->engine->begin(m, err);

	if (!rc)
		rc = load_rows(m, b, next, &counts, err);
	rc = sql_mark_end(m, rc, err);
	if (rc)
		return rc;
	/* The numbers of raw rows go on behind it. */
	m->refreshed += (int64_t)b->n_rows;
	*out = counts;
	return 0;
}

int sql_load_preview(struct destination *base, const struct batch *batch,
		     const struct checkpoint *next, struct load_counts *out,
		     struct error *err)
{
	struct sql_mark *m = (struct sql_mark *)base;
	int rc = m->engine->load->ready(m, batch, false, err);

	if (!rc)
		rc = load_preview(m, batch, next, out, err);
	return m->engine->load->done(m, batch, rc, err);
}

static int load_remove(struct sql_mark *m, const struct batch *keys,
		       const struct checkpoint *next, int64_t *removed,
		       struct error *err)
{
	struct checkpoint kept;
	int rc = load_begin(m, true, err);

	checkpoint_init(&kept);
	checkpoint_keep(&kept, next, m->stands);
	if (!rc)
		rc = m->engine->load->remove(m, keys, removed, err);
	if (!rc)
		rc = sql_mark_removed(m, *removed, err);
	rc = load_end(m, &kept, 0, rc, err);
	checkpoint_release(&kept);
	return rc;
}

int sql_load_remove(struct destination *base, const struct batch *keys,
		    const struct checkpoint *next, int64_t *removed,
		    struct error *err)
{
	struct sql_mark *m = (struct sql_mark *)base;
	const struct sql_load_engine *engine = m->engine->load;
	int rc = soft_delete_check(sql_mark_target(m), m->soft_delete,
				   engine->instant, err);

	*removed = 0;
	if (!rc)
		rc = engine->ready(m, keys, true, err);
	if (!rc)
		rc = load_remove(m, keys, next, removed, err);
	return engine->done(m, keys, rc, err);
}

/* The table that is to replace the other has every row that was put into it. */
static int load_check_built(struct sql_mark *m, struct error *err)
{
	const struct target *target = sql_mark_target(m);
	const struct mark_facts facts = sql_mark_of(target->pipeline);
	struct sql_rows rows = { .n_columns = 0 };
	int rc = sql_mark_query(m, &m->engine->built, NULL, &facts, &rows, err);

	if (!rc)
		rc = refresh_check_built(target->table,
					 sql_rows_number(&rows, 0, 0), m->built,
					 err);
	sql_rows_release(&rows);
	return rc;
}

int sql_load_swap(struct sql_mark *m, const struct checkpoint *next,
		  struct error *err)
{
	int rc = load_begin(m, true, err);

	if (!rc)
		rc = load_check_built(m, err);
	if (!rc)
		rc = m->engine->load->swap(m, next, err);
	if (rc > 0)
		sql_mark_advance(m, next, m->refreshed);
	else
		rc = load_end(m, next, m->refreshed, rc, err);
	return rc < 0 ? rc : 0;
}
