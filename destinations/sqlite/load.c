#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/base/utf8.h"
#include "core/data/value.h"
#include "destinations/sqlite/internal.h"

/* How often a long load looks whether it is to end. */
#define LOAD_LOOK_EVERY 1024

/* `rc`, with the row put before the message. */
static int load_row_failed(struct sqlite_target *d, const struct batch *b,
			   size_t row, int rc, struct error *err)
{
	struct strbuf key = STRBUF_INIT;

	value_print_key(&key, b, row);
	error_prefix(err, "table %s, row %s", d->target->table, key.data);
	strbuf_release(&key);
	return rc;
}

static bool load_is_text(const struct vector *v, size_t row)
{
	size_t n;
	const uint8_t *text;

	if (v->width || v->kind == TYPE_BYTES || vector_is_null(v, row))
		return true;
	text = vector_bytes(v, row, &n);
	return utf8_is_valid((const char *)text, n);
}

/* SQLite takes any bytes for a text; there are sources that do the same. */
static int load_check_texts(struct sqlite_target *d, const struct batch *b,
			    struct error *err)
{
	for (size_t i = 0; i < b->schema->n_columns; i++) {
		for (size_t row = 0; row < b->n_rows; row++) {
			if (load_is_text(&b->vectors[i], row))
				continue;
			error_set(err, ERROR_DATA,
				  "column %s: text that is not UTF-8",
				  b->schema->columns[i].name);
			return load_row_failed(d, b, row, -ERROR_DATA, err);
		}
	}
	return 0;
}

static int load_look(struct sqlite_target *d, size_t i, struct error *err)
{
	if (i == d->order.n / 2 && failpoint("mid_load", err))
		return -(int)err->code;
	if (i % LOAD_LOOK_EVERY == 0 && atomic_load(&d->interrupted))
		return error_set(err, ERROR_STOPPED, "interrupted");
	return 0;
}

static void load_note(struct sqlite_target *d, size_t i)
{
	if (d->written)
		d->written[i] = true;
}

/* One statement says it all: a conflict is noted by the function in it, a
 * change by SQLite's count. */
static int load_upsert(struct sqlite_target *d, const struct batch *b,
		       struct load_counts *out, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; i < d->order.n && !rc; i++) {
		size_t row = d->order.rows[i];

		rc = load_look(d, i, err);
		if (rc)
			return rc;
		d->met = false;
		sqlite_target_bind_row(d, d->insert, b, row);
		rc = sqlite_read(d->insert, err);
		if (rc)
			return load_row_failed(d, b, row, rc, err);
		if (!sqlite_changes_count(d->db)) {
			out->unchanged++;
			continue;
		}
		load_note(d, i);
		if (d->met)
			out->updated++;
		else
			out->inserted++;
	}
	return rc;
}

static int load_update(struct sqlite_target *d, const struct batch *b,
		       struct load_counts *out, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; i < d->order.n && !rc; i++) {
		size_t row = d->order.rows[i];

		rc = load_look(d, i, err);
		if (rc)
			return rc;
		d->met = false;
		sqlite_target_bind_row(d, d->insert, b, row);
		rc = sqlite_read(d->insert, err);
		if (rc)
			return load_row_failed(d, b, row, rc, err);
		if (sqlite_changes_count(d->db)) {
			load_note(d, i);
			out->updated++;
		} else {
			out->unchanged++;
		}
		out->missing += !d->met;
	}
	return rc;
}

static int load_remove(struct sqlite_target *d, const struct batch *b,
		       bool *removed, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; i < d->order.n && !rc; i++) {
		size_t row = d->order.rows[i];

		rc = load_look(d, i, err);
		if (rc)
			return rc;
		sqlite_target_bind_row(d, d->remove, b, row);
		rc = sqlite_read(d->remove, err);
		if (rc)
			return load_row_failed(d, b, row, rc, err);
		removed[i] = sqlite_changes_count(d->db) > 0;
	}
	return rc;
}

static int load_insert(struct sqlite_target *d, const struct batch *b,
		       const bool *removed, struct load_counts *out,
		       struct error *err)
{
	int rc = 0;

	for (size_t i = 0; i < d->order.n && !rc; i++) {
		size_t row = d->order.rows[i];

		sqlite_target_bind_row(d, d->add, b, row);
		rc = sqlite_read(d->add, err);
		if (rc)
			return load_row_failed(d, b, row, rc, err);
		if (!sqlite_changes_count(d->db)) {
			out->unchanged++;
			continue;
		}
		load_note(d, i);
		if (removed[i])
			out->updated++;
		else
			out->inserted++;
	}
	return rc;
}

/* Only rows that have changed go and come again. */
static int load_delete_insert(struct sqlite_target *d, const struct batch *b,
			      struct load_counts *out, struct error *err)
{
	bool *removed = xcalloc(d->order.n + 1, sizeof(*removed));
	int rc = load_remove(d, b, removed, err);

	if (!rc)
		rc = failpoint("after_delete", err);
	if (!rc)
		rc = load_insert(d, b, removed, out, err);
	free(removed);
	return rc;
}

/* Rows may exchange the values of another unique index, which does not look
 * away until both have theirs: then all that have changed go first. */
static int load_upsert_or_replace(struct sqlite_target *d,
				  const struct batch *b,
				  struct load_counts *out, struct error *err)
{
	int rc = sqlite_exec(d->db, "SAVEPOINT upsert", err);

	if (rc)
		return rc;
	rc = load_upsert(d, b, out, err);
	if (!rc)
		return sqlite_exec(d->db, "RELEASE upsert", err);
	if (!sqlite_is_repeat(err))
		return rc;
	error_clear(err);
	*out = (struct load_counts){ .inserted = 0 };
	rc = sqlite_exec(d->db, "ROLLBACK TO upsert; RELEASE upsert", err);
	return rc ? rc : load_delete_insert(d, b, out, err);
}

static int64_t load_raw_number(const struct sqlite_target *d, size_t row)
{
	return d->mark.seen.rows_total + d->mark.refreshed + (int64_t)row + 1;
}

static void load_bind_raw(struct sqlite_target *d, const struct batch *b,
			  size_t row, const struct checkpoint *next,
			  const struct strbuf *now)
{
	int at = (int)b->schema->n_columns;

	sqlite_target_bind_row(d, d->insert, b, row);
	sqlite_bind_str(d->insert, at + 1, next->batch_id ? next->batch_id : "",
			-1);
	sqlite_bind_i64(d->insert, at + 2, load_raw_number(d, row));
	sqlite_bind_str(d->insert, at + 3, now->data, (int64_t)now->len);
}

static int load_append(struct sqlite_target *d, const struct batch *b,
		       const struct checkpoint *next, struct load_counts *out,
		       struct error *err)
{
	struct strbuf now = STRBUF_INIT;
	int rc = 0;

	value_print_timestamp(&now, clock_now_us(), false);
	strbuf_addstr(&now, "+00:00");
	for (size_t i = 0; i < d->order.n && !rc; i++) {
		size_t row = d->order.rows[i];

		rc = load_look(d, i, err);
		if (rc)
			break;
		load_bind_raw(d, b, row, next, &now);
		rc = sqlite_read(d->insert, err);
		if (rc) {
			load_row_failed(d, b, row, rc, err);
		} else if (sqlite_changes_count(d->db)) {
			load_note(d, i);
			out->inserted++;
		} else {
			out->unchanged++;
		}
	}
	strbuf_release(&now);
	return rc;
}

static int load_refuse_left_out(struct sqlite_target *d, struct error *err)
{
	struct strlist names = STRLIST_INIT;
	struct strbuf list = STRBUF_INIT;
	struct error ignored = ERROR_INIT;

	sqlite_target_catalog_triggers(d->db, d->place.base, &names, &ignored);
	for (size_t i = 0; i < names.n; i++)
		strbuf_addf(&list, "%s%s", i ? ", " : "", names.items[i]);
	error_set(err, ERROR_DATA,
		  "trigger %s leaves the row out without an error, takes it "
		  "away again, or stores it with an older mark (have it let "
		  "it pass; or leave it out by source.where, or keep it aside "
		  "by on_bad_row: dead_letter)",
		  list.data);
	strlist_release(&names);
	strbuf_release(&list);
	return -ERROR_DATA;
}

/* RAISE(IGNORE) in a trigger takes a row away without a word, and so does a
 * trigger that deletes it behind the insert. Nothing would ever bring such a
 * row again. */
static int load_check_left_out(struct sqlite_target *d, const struct batch *b,
			       struct error *err)
{
	int rc = 1;

	for (size_t i = 0; d->written && i < d->order.n && rc > 0; i++) {
		struct sqlite_statement *st = d->written[i] ? d->look : d->same;
		size_t row = d->order.rows[i];

		sqlite_target_bind_row(d, st, b, row);
		if (d->target->mode == LOAD_APPEND && d->written[i])
			sqlite_bind_i64(st, (int)b->schema->n_columns + 1,
					load_raw_number(d, row));
		rc = sqlite_step(st, err);
		if (rc > 0)
			sqlite_reset(st);
		if (!rc)
			rc = load_refuse_left_out(d, err);
		if (rc < 0)
			load_row_failed(d, b, row, rc, err);
	}
	return rc < 0 ? rc : 0;
}

static int load_by_mode(struct sqlite_target *d, const struct batch *b,
			const struct checkpoint *next, struct load_counts *out,
			struct error *err)
{
	if (d->target->mode == LOAD_APPEND)
		return load_append(d, b, next, out, err);
	if (d->target->mode == LOAD_UPDATE)
		return load_update(d, b, out, err);
	if (!d->insert)
		return load_delete_insert(d, b, out, err);
	return d->remove ? load_upsert_or_replace(d, b, out, err)
			 : load_upsert(d, b, out, err);
}

/* d->order's rows. */
static int load_order(struct sqlite_target *d, const struct batch *b,
		      const struct checkpoint *next, struct load_counts *out,
		      struct error *err)
{
	int rc = load_check_texts(d, b, err);

	if (!rc)
		rc = failpoint("before_merge", err);
	if (rc)
		return rc;
	sqlite_target_statements_set_delivered(d, next->delivered);
	d->written =
		d->look ? xcalloc(d->order.n + 1, sizeof(*d->written)) : NULL;
	rc = load_by_mode(d, b, next, out, err);
	out->unchanged += (int64_t)d->order.n_duplicates;
	if (!rc)
		rc = load_check_left_out(d, b, err);
	free(d->written);
	d->written = NULL;
	return rc ? rc : failpoint("after_merge", err);
}

static int load_ready(struct sql_mark *m, const struct batch *b, bool keys,
		      struct error *err)
{
	(void)keys;
	return row_order_build(&((struct sqlite_target *)m)->order, b, err);
}

static int load_begin(struct sql_mark *m, bool rows, struct error *err)
{
	(void)rows;
	return sqlite_begin(((struct sqlite_target *)m)->db, err);
}

static int load_same(struct sql_mark *m, const char *table, struct error *err)
{
	(void)table;
	return sqlite_target_signature_check((struct sqlite_target *)m, err);
}

static int load_rows(struct sql_mark *m, const struct batch *b,
		     const struct checkpoint *next, struct load_counts *out,
		     struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)m;
	int rc = 0;

	for (size_t i = 0; !rc && d->pull && i < d->order.n; i++) {
		sqlite_target_bind_row(d, d->pull, b, d->order.rows[i]);
		rc = sqlite_read(d->pull, err);
	}
	return rc ? rc : load_order(d, b, next, out, err);
}

static int load_commit(struct sql_mark *m, const struct checkpoint *next,
		       struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)m;
	int rc = writer_check(&d->target->writer, err);

	(void)next;
	if (!rc)
		rc = failpoint("commit_sent", err);
	return rc ? rc : sqlite_commit(d->db, err);
}

const struct sql_load_engine sqlite_target_load_engine = {
	.ready = load_ready,
	.begin = load_begin,
	.look = sqlite_target_mark_look,
	.same = load_same,
	.rows = load_rows,
	.remove = sqlite_target_remove_rows,
	.swap = sqlite_target_swap_tables,
	.commit = load_commit,
	.done = sql_load_done,
	.instant = "TIMESTAMPTZ",
};
