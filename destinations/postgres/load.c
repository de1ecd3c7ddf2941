#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/data/value.h"
#include "destinations/common/refusals.h"
#include "destinations/postgres/postgres.h"

/* Bytes that are encoded before they are sent. */
#define COPY_PIECE (64 * 1024)

#define UNIQUE_VIOLATION "23505"
/* Looks at the same rows. */
#define MERGE_RIVALS 3

/* So many rows speak for a batch that has at least so many. */
#define PROBE_ROWS  32
#define PROBE_LEAST 5000

static int load_check_nulls(struct postgres_destination *d,
			    const struct batch *b, struct error *err)
{
	for (size_t i = 0; i < b->schema->n_columns; i++) {
		const struct catalog_column *c = postgres_catalog_find(
			&d->table, b->schema->columns[i].name);

		if (b->vectors[i].n_nulls && c->not_null)
			return target_refuse_null(d->target, b, i, err);
	}
	return 0;
}

/* The server counts the rows of a COPY: "COPY t, line 3, column c". */
static void load_explain(struct postgres_destination *d, const struct batch *b,
			 struct error *err)
{
	const char *at = strstr(err->message, "COPY ");
	const char *line = at ? strstr(at, ", line ") : NULL;
	size_t number = line ? strtoul(line + strlen(", line "), NULL, 10) : 0;
	struct strbuf key = STRBUF_INIT;

	if (err->code != ERROR_DATA || !strncmp(err->message, "table ", 6))
		return;
	if (number && number <= d->order.n) {
		value_print_key(&key, b, d->order.rows[number - 1]);
		error_prefix(err, "table %s: row %s", d->target->table,
			     key.data);
	} else {
		error_prefix(err, "table %s", d->target->table);
	}
	strbuf_release(&key);
}

static int load_send(struct postgres_destination *d, const struct batch *b,
		     struct error *err)
{
	struct encoder *e = &d->encoder;
	int rc = 0;

	strbuf_reset(&e->out);
	postgres_encode_header(e);
	for (size_t i = 0; !rc && i < d->order.n; i++) {
		postgres_encode_row(e, b, d->order.rows[i]);
		if (i == d->order.n / 2)
			rc = failpoint("mid_load", err);
		if (!rc && e->out.len >= COPY_PIECE) {
			rc = pg_copy_data(d->pg, e->out.data, e->out.len, err);
			strbuf_reset(&e->out);
		}
	}
	postgres_encode_trailer(e);
	if (!rc)
		rc = pg_copy_data(d->pg, e->out.data, e->out.len, err);
	return rc;
}

int postgres_load_copy(struct postgres_destination *d, const struct batch *b,
		       const char *table, struct error *err)
{
	struct error ignored = ERROR_INIT;
	int64_t rows = 0;
	char *sql =
		xstrfmt("COPY %s (%s) FROM STDIN (FORMAT %s)", table,
			d->columns.data, d->encoder.binary ? "binary" : "text");
	int rc = pg_copy_begin(d->pg, sql, err);

	free(sql);
	if (rc)
		return rc;
	rc = load_send(d, b, err);
	if (rc) {
		pg_copy_end(d->pg, "the batch is given up", NULL, &ignored);
		return rc;
	}
	rc = pg_copy_end(d->pg, NULL, &rows, err);
	if (rc)
		load_explain(d, b, err);
	else if (rows != (int64_t)d->order.n)
		rc = postgres_watch_left_out(d, (int64_t)d->order.n - rows,
					     err);
	return rc;
}

/* The transaction itself has to lock the pipeline's row. If a subtransaction
 * has changed the row, nobody can say who holds it. */
static int load_release(struct postgres_destination *d, const char *savepoint,
			struct error *err)
{
	char *sql = xstrfmt("RELEASE SAVEPOINT %s", savepoint);
	int rc = pg_exec(d->pg, sql, err);

	free(sql);
	return rc;
}

/* 1: the rows are in; 0: one of them is not new, nothing has happened. */
static int load_straight(struct postgres_destination *d, const struct batch *b,
			 struct load_counts *out, struct error *err)
{
	int rc = pg_exec(d->pg, "SAVEPOINT straight", err);

	if (!rc)
		rc = postgres_load_copy(d, b, d->rows, err);
	if (!rc)
		rc = load_release(d, "straight", err);
	if (!rc) {
		out->inserted = (int64_t)d->order.n;
		rc = failpoint("after_merge", err);
		return rc ? rc : 1;
	}
	if (!error_has_code(err, UNIQUE_VIOLATION) || !pg_alive(d->pg))
		return rc;
	error_clear(err);
	d->direct = false;
	rc = pg_exec(d->pg, "ROLLBACK TO SAVEPOINT straight", err);
	return rc ? rc : load_release(d, "straight", err);
}

static void load_sample(const struct row_order *all, struct row_order *few)
{
	for (; few->n < PROBE_ROWS; few->n++)
		few->rows[few->n] =
			all->rows[few->n * (all->n - 1) / (PROBE_ROWS - 1)];
}

/* If no row of a sample is there, the batch may go straight in: a backfill
 * fills a gap. It is a guess, and the table's key is the judge. */
static int load_probe(struct postgres_destination *d, const struct batch *b,
		      struct error *err)
{
	uint32_t rows[PROBE_ROWS];
	struct row_order all = d->order, few = { .rows = rows };
	int64_t missing = 0;
	int rc;

	d->probes = false;
	load_sample(&all, &few);
	d->order = few;
	rc = postgres_load_copy(d, b, STAGE, err);
	d->order = all;
	if (!rc)
		rc = pg_exec_count(d->pg, d->sql_missing, 0, NULL, &missing,
				   err);
	if (!rc)
		rc = pg_exec(d->pg, "DELETE FROM " STAGE, err);
	d->direct = !rc && missing == PROBE_ROWS;
	return rc;
}

/* Would somebody notice that a changed row is deleted and inserted again? It
 * is much faster than UPDATE, but fires other triggers, breaks references and
 * forgets columns that the batch does not have. */
bool postgres_load_replaces(const struct postgres_destination *d)
{
	const struct catalog_table *t = &d->table;
	size_t written = 0;

	if (d->target->mode == LOAD_DELETE_INSERT)
		return true;
	for (size_t i = 0; i < t->n_columns; i++)
		written += !t->columns[i].generated;
	return t->kind == 'r' && !t->rules && !t->triggers && !t->referenced &&
	       !t->published && !t->row_security &&
	       written == d->target->schema->n_columns;
}

/* Nothing tells rows apart: all of them are new. */
static int load_all(struct postgres_destination *d, struct load_counts *out,
		    struct error *err)
{
	return pg_exec_count(d->pg, d->sql_insert_all, 0, NULL, &out->inserted,
			     err);
}

/* Changed rows are deleted or updated first; what has no stored row after
 * that is inserted. Both say how many, so that no look beforehand is needed. */
static int load_merge(struct postgres_destination *d, const char *delivered,
		      struct load_counts *out, struct error *err)
{
	int n_params = postgres_statement_has_version(d->target) ? 1 : 0;
	bool replace = postgres_load_replaces(d);
	int64_t n = (int64_t)d->order.n, changed = 0, inserted = 0;
	const char *sql = replace ? d->sql_delete : d->sql_update;
	struct watch w;
	int rc = postgres_watch_begin(d, n_params, &delivered, &w, err);

	if (!rc && *sql)
		rc = pg_exec_count(d->pg, sql, n_params, &delivered, &changed,
				   err);
	if (!rc)
		rc = failpoint("after_delete", err);
	if (!rc && (replace || changed < n))
		rc = pg_exec_count(d->pg,
				   changed == n ? d->sql_insert_all
						: d->sql_insert_new,
				   0, NULL, &inserted, err);
	out->updated = changed;
	out->inserted = replace ? inserted - changed : inserted;
	out->unchanged = n - out->inserted - out->updated;
	if (!rc)
		rc = postgres_watch_end(d, &w, n_params, &delivered, out, err);
	if (rc)
		return rc;
	if (out->inserted < 0 || out->unchanged < 0)
		return error_set(err, ERROR_BUG,
				 "table %s: %" PRId64 " rows staged, %" PRId64
				 " changed, %" PRId64 " inserted",
				 d->target->table, n, changed, inserted);
	d->direct = out->inserted == n && !d->table.filters && !d->sql_pull;
	return 0;
}

/* A row that is changed meanwhile is waited for, and looked at again as it is
 * then: one statement decides and writes. */
static int load_update(struct postgres_destination *d, struct load_counts *out,
		       struct error *err)
{
	struct watch w;
	int rc = postgres_watch_begin(d, 0, NULL, &w, err);

	if (!rc && *d->sql_update)
		rc = pg_exec_count(d->pg, d->sql_update, 0, NULL, &out->updated,
				   err);
	if (!rc)
		rc = failpoint("after_delete", err);
	if (!rc)
		rc = postgres_watch_end(d, &w, 0, NULL, out, err);
	if (!rc)
		rc = pg_exec_count(d->pg, d->sql_missing, 0, NULL,
				   &out->missing, err);
	out->unchanged = (int64_t)d->order.n - out->updated;
	return rc;
}

static int load_once(struct postgres_destination *d, const char *delivered,
		     struct load_counts *out, struct error *err)
{
	if (!d->target->schema->n_key)
		return load_all(d, out, err);
	return d->target->mode == LOAD_UPDATE
		       ? load_update(d, out, err)
		       : load_merge(d, delivered, out, err);
}

static bool load_met_rival(const struct postgres_destination *d,
			   const struct error *err)
{
	return error_has_code(err, UNIQUE_VIOLATION) || d->miscounted;
}

/* Another writer, of a backfill beside, may have put a row there between our
 * look and our insert: the next look sees it. A key that stays in the way has
 * another cause, and so has a row that is left out each time. */
static int load_again(struct postgres_destination *d, const char *delivered,
		      struct load_counts *out, struct error *err)
{
	int rc = pg_exec(d->pg, "SAVEPOINT merge", err);

	if (rc)
		return rc;
	rc = load_once(d, delivered, out, err);
	for (int i = 0; rc && i < MERGE_RIVALS && pg_alive(d->pg) &&
			load_met_rival(d, err);
	     i++) {
		error_clear(err);
		*out = (struct load_counts){ .inserted = 0 };
		rc = pg_exec(d->pg, "ROLLBACK TO SAVEPOINT merge", err);
		if (!rc)
			rc = load_once(d, delivered, out, err);
	}
	return rc ? rc : load_release(d, "merge", err);
}

static int load_append(struct postgres_destination *d, const char *batch_id,
		       struct load_counts *out, struct error *err)
{
	char *base = xstrfmt("%" PRId64,
			     d->mark.seen.rows_total + d->mark.refreshed);
	const char *params[] = { batch_id ? batch_id : "", base };
	struct watch w;
	int rc = postgres_watch_begin(d, 2, params, &w, err);

	if (!rc)
		rc = pg_exec_count(d->pg, d->sql_insert_new, 2, params,
				   &out->inserted, err);
	out->unchanged = (int64_t)d->order.n - out->inserted;
	if (!rc)
		rc = postgres_watch_end(d, &w, 2, params, out, err);
	/* Without a key none is like a row that is there. */
	if (!rc && !d->target->schema->n_key && out->unchanged)
		rc = postgres_watch_left_out(d, out->unchanged, err);
	free(base);
	return rc;
}

static int load_staged(struct postgres_destination *d, const struct batch *b,
		       const struct checkpoint *next, struct load_counts *out,
		       struct error *err)
{
	int rc = postgres_load_copy(d, b, STAGE, err);

	if (!rc)
		rc = postgres_joins_choose(d, d->rows, err);
	if (!rc && d->sql_pull)
		rc = pg_exec(d->pg, d->sql_pull, err);
	if (!rc)
		rc = failpoint("stage_full", err);
	if (!rc)
		rc = failpoint("before_merge", err);
	if (rc)
		return rc;
	if (d->target->mode == LOAD_APPEND)
		rc = load_append(d, next->batch_id, out, err);
	else if (d->target->mode == LOAD_UPDATE && !d->table.filters)
		rc = load_update(d, out, err);
	else
		rc = load_again(d, next->delivered, out, err);
	if (rc)
		load_explain(d, b, err);
	return rc ? rc : failpoint("after_merge", err);
}

static int load_rows(struct sql_mark *m, const struct batch *b,
		     const struct checkpoint *next, struct load_counts *out,
		     struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)m;
	int rc = 0;

	if (!b->n_rows)
		return 0;
	if (d->probes && d->order.n >= PROBE_LEAST)
		rc = load_probe(d, b, err);
	if (!rc && d->direct)
		rc = load_straight(d, b, out, err);
	if (!rc)
		rc = load_staged(d, b, next, out, err);
	if (rc < 0)
		return rc;
	out->unchanged += (int64_t)d->order.n_duplicates;
	return postgres_signature_check_again(d, err);
}

/* A column or a table that is gone: the next try prepares anew. */
static int load_stage(struct postgres_destination *d, struct error *err)
{
	int rc = postgres_prepare_stage(d, err);

	if (rc != -ERROR_SCHEMA)
		return rc;
	error_clear(err);
	return postgres_signature_refuse(d->target, err);
}

static int load_ready(struct sql_mark *m, const struct batch *b, bool keys,
		      struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)m;
	int rc = row_order_build(&d->order, b, err);

	if (!rc && !keys)
		rc = load_check_nulls(d, b, err);
	if (!rc && b->n_rows && !d->staged)
		rc = load_stage(d, err);
	return rc;
}

const struct sql_load_engine postgres_load_engine = {
	.ready = load_ready,
	.begin = postgres_mark_begin,
	.look = postgres_mark_look,
	.same = postgres_signature_same,
	.rows = load_rows,
	.remove = postgres_remove_rows,
	.swap = postgres_swap_tables,
	.commit = postgres_mark_commit,
	.done = sql_load_done,
	.instant = "timestamptz",
};
