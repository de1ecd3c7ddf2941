#include "core/sync/run/keyless.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/sync/parts/keyless.h"

int run_keyless_check(struct run *r, struct error *err)
{
	bool again = task_has(r->task, TASK_OWN_LEASE) ||
		     (task_has(r->task, TASK_WRITES) &&
		      !task_has(r->task, TASK_MOVES_MARK));

	r->keyless.on = keyless_appends(r->p, &r->schema);
	if (!r->keyless.on)
		return 0;
	if (again)
		return error_set(
			err, ERROR_CONFIG,
			"pipeline %s keeps each row as it is, and its table %s "
			"has no key: rows that are read again would be there "
			"twice" ERROR_FIX "; tidemark %s --full-refresh %s "
			"builds the whole table anew",
			r->p->name, r->p->source_table, settings_run(r->p),
			settings_call(r->p));
	if (r->verify)
		return error_set(
			err, ERROR_CONFIG,
			"pipeline %s: table %s has no key by which its rows "
			"could be asked for again" ERROR_FIX ": leave --verify "
			"and verify: window out, and use tidemark verify %s",
			r->p->name, r->p->source_table, settings_call(r->p));
	return keyless_check(r->p, &r->schema, err);
}

/* The pass would load rows that are there: it reads all of them, or nothing
 * says where the rows of the mark end. A table that had no key once may have
 * rows twice. */
static bool keyless_doubles(const struct run *r)
{
	int64_t kept = r->checkpoint.rows_total - r->keyless.cut;

	if (r->target.refresh || r->p->mode != LOAD_APPEND || kept <= 0)
		return false;
	return r->keyless.on ? !r->from.keyless || !r->from.value
			     : r->from.keyless;
}

/* Only somebody who has taken the mark away has asked for all rows. A log whose
 * old rows the source has purged must not lose them by a column that comes. */
static int keyless_begin_anew(struct run *r, bool prepared, struct error *err)
{
	if (r->again || r->from.value)
		return error_set(
			err, ERROR_SCHEMA,
			"table %s: %s, so all rows of %s are to be read again, "
			"and nothing tells them from those that are "
			"there" ERROR_FIX
			"; tidemark %s --full-refresh %s builds it anew; rows "
			"that the source has no longer are gone then",
			r->p->destination_table,
			r->again ? "columns or settings have changed"
				 : "the mark was set by hand, or the table had "
				   "or has a key",
			r->p->source_table, settings_run(r->p),
			settings_call(r->p));
	if (prepared)
		return error_set(err, ERROR_TRANSIENT,
				 "table %s: all rows are to be read again; the "
				 "next try builds it anew",
				 r->p->destination_table);
	log_warn("all rows of %s are read again, and nothing tells them from "
		 "those that are there: table %s is built anew and swapped in. "
		 "Rows that the source has no longer go",
		 r->p->source_table, r->p->destination_table);
	r->target.refresh = true;
	r->keyless.cut = 0;
	return run_check_bounds(r, err);
}

/* The rows to be removed are the last ones only if nobody has added others. */
static int keyless_check_numbers(const struct run *r, struct error *err)
{
	if (!r->keyless.cut || r->checkpoint.rows_total == r->keyless.total)
		return 0;
	return error_set(err, ERROR_SCHEMA,
			 "table %s has rows that pipeline %s did not load, "
			 "behind rows that it has to load again" ERROR_FIX
			 "; tidemark %s --full-refresh %s builds it anew",
			 r->p->destination_table, r->p->name,
			 settings_run(r->p), settings_call(r->p));
}

int run_keyless_look(struct run *r, bool prepared, struct error *err)
{
	int rc = 0;

	if (r->keyless.on && !r->target.refresh)
		r->keyless.cut = r->from.open;
	if (keyless_doubles(r))
		rc = keyless_begin_anew(r, prepared, err);
	if (!rc && prepared)
		rc = keyless_check_numbers(r, err);
	if (rc || !r->keyless.on)
		return rc;
	r->keyless.total = r->checkpoint.rows_total;
	watermark_release(&r->keyless.mark);
	watermark_copy(&r->keyless.mark, &r->from);
	r->keyless.mark.keyless = true;
	return 0;
}

/* The mark goes to where the batch before this one ended, if none of this one's
 * rows has that mark, too. The order within a batch is lost at the target. */
static void keyless_move(struct run *r, const struct batch *b)
{
	struct watermark *stands = &r->keyless.mark;
	const struct watermark *before = &r->keyless.before;

	if (!watermark_is_beyond(r->p->strategy, before->value,
				 stands->value) ||
	    !keyless_is_beyond(b, r->p->strategy, before->value)) {
		r->keyless.open += (int64_t)b->n_rows;
		return;
	}
	watermark_release(stands);
	watermark_copy(stands, before);
	r->keyless.open = (int64_t)b->n_rows;
}

void run_keyless_mark(struct run *r, const struct batch *b,
		      struct watermark *mark)
{
	/* The last, empty batch has the mark behind all rows. */
	bool end = !b->n_rows && !b->mark_held;

	if (b->n_rows)
		keyless_move(r, b);
	watermark_release(&r->keyless.before);
	watermark_copy(&r->keyless.before, mark);
	if (end)
		r->keyless.open = 0;
	if (!end) {
		watermark_release(mark);
		watermark_copy(mark, &r->keyless.mark);
		json_decref(mark->identity);
		mark->identity = json_incref(r->identity);
	}
	mark->keyless = true;
	mark->open = r->keyless.open;
}
