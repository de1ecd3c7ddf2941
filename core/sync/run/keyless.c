#include "core/sync/run/keyless.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/strbuf.h"
#include "core/data/value.h"
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
		return keyless_refuse_again(r->p, &r->schema, err);
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

int64_t run_keyless_bound(struct run *r, int64_t most)
{
	r->keyless.left = most ? most : -1;
	return r->keyless.on && most ? most + 1 : most;
}

bool run_keyless_is_over(const struct run *r, const struct batch *b)
{
	return r->keyless.on && !r->keyless.left && b->n_rows;
}

/* `at` becomes the mark of a row. False: it is `last`, or the source lets the
 * mark go no further than `last`, which lies before it. */
static bool keyless_is_before(const struct run *r, const struct batch *b,
			      size_t row, const char *last, struct strbuf *at)
{
	strbuf_reset(at);
	value_print(at, &b->vectors[b->schema->mark], row);
	return watermark_is_beyond(r->p->strategy, last, at->data);
}

/* How many of its rows have marks of which no row follows; `at`: the last of
 * these marks. */
static size_t keyless_complete(const struct run *r, const struct batch *b,
			       const struct batch *next, struct strbuf *at)
{
	const char *last = b->watermark.value;
	size_t n = b->n_rows;

	if (next && keyless_is_beyond(next, r->p->strategy, last)) {
		strbuf_addstr(at, last);
		return n;
	}
	while (n > 0 && !keyless_is_before(r, b, n - 1, last, at))
		n--;
	return n;
}

/* A source that holds the mark back lets it go later, and so do its rows. */
static bool keyless_is_held(const struct run *r, const struct batch *b)
{
	struct strbuf at = STRBUF_INIT;
	bool held = b->schema->mark < 0 || !b->watermark.value;

	if (!held) {
		value_print(&at, &b->vectors[b->schema->mark], b->n_rows - 1);
		held = watermark_is_beyond(r->p->strategy, at.data,
					   b->watermark.value);
	}
	strbuf_release(&at);
	return held;
}

void run_keyless_trim(struct run *r, struct batch *b)
{
	struct strbuf at = STRBUF_INIT;
	const struct batch *next;
	size_t n;

	if (!r->keyless.on || !run_is_bounded(r))
		return;
	next = reader_peek(&r->reader, run_tick, r);
	if (r->keyless.left > 0)
		r->keyless.left--;
	if (next && (!next->n_rows || r->keyless.left))
		return;
	if (keyless_is_held(r, b)) {
		log_info("%s does not let the mark go on yet: the next run "
			 "reads these rows again",
			 r->p->source_table);
		return;
	}
	n = keyless_complete(r, b, next, &at);
	r->keyless.trimmed = n > 0;
	r->keyless.stuck = !n;
	if (n) {
		b->n_rows = n;
		xassign(&b->watermark.value, at.data);
	}
	strbuf_release(&at);
}

/* Where the mark stood before the first try. */
static bool keyless_moved(const struct run *r)
{
	struct error ignored = ERROR_INIT;
	struct watermark before;
	bool moved = true;

	watermark_init(&before);
	if (r->keyless.mark.value && r->out->watermark_before &&
	    !watermark_from_text(&before, r->out->watermark_before, &ignored))
		moved = watermark_is_beyond(
			r->p->strategy, r->keyless.mark.value, before.value);
	else
		moved = r->keyless.mark.value != NULL;
	watermark_release(&before);
	return moved;
}

int run_keyless_check_progress(const struct run *r, struct error *err)
{
	const char *bound =
		r->options->max_batches ? "--max-batches" : "--max-seconds";

	if (!r->keyless.stuck || keyless_moved(r))
		return 0;
	return error_set(
		err, ERROR_CONFIG,
		"pipeline %s ended for %s among rows of one mark. Its table %s "
		"has no key, so the next run begins at the same row" ERROR_FIX
		": give it more than the rows of one mark take, by %s or "
		"batch.rows",
		r->p->name, bound, r->p->source_table, bound);
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
	bool whole = end || r->keyless.trimmed;

	if (b->n_rows)
		keyless_move(r, b);
	watermark_release(&r->keyless.before);
	watermark_copy(&r->keyless.before, mark);
	if (whole)
		r->keyless.open = 0;
	if (r->keyless.trimmed) {
		watermark_release(&r->keyless.mark);
		watermark_copy(&r->keyless.mark, mark);
	}
	if (!whole) {
		watermark_release(mark);
		watermark_copy(mark, &r->keyless.mark);
		json_decref(mark->identity);
		mark->identity = json_incref(r->identity);
	}
	mark->keyless = true;
	mark->open = r->keyless.open;
}
