#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "destinations/common/refusals.h"
#include "destinations/mysql/internal.h"

#define ERRNO_REPEATED 1062

static int load_check_nulls(struct mysql_target *d, const struct batch *b,
			    struct error *err)
{
	for (size_t i = 0; i < b->schema->n_columns; i++) {
		const struct catalog_column *c = mysql_target_catalog_find(
			&d->table, b->schema->columns[i].name);

		if (b->vectors[i].n_nulls && c->not_null)
			return target_refuse_null(d->target, b, i, err);
	}
	return 0;
}

/* 1: the rows are in; 0: one of them is not new, nothing has happened. */
static int load_straight(struct mysql_target *d, const struct batch *b,
			 struct load_counts *out, struct error *err)
{
	int rc = mysql_client_exec(d->db, "SAVEPOINT straight", err);

	if (!rc)
		rc = mysql_target_stage_fill(d, b, d->rows, err);
	if (rc > 0) {
		out->inserted = (int64_t)d->order.n;
		rc = failpoint("after_merge", err);
		return rc ? rc : 1;
	}
	d->direct = false;
	return rc ? rc
		  : mysql_client_exec(d->db, "ROLLBACK TO SAVEPOINT straight",
				      err);
}

/* The table's collation takes keys for the same that the source tells apart:
 * one of them would be lost. */
static int load_check_clash(struct mysql_target *d, struct error *err)
{
	char *sql = mysql_target_statement_clash(d);
	struct mysql_client_result *r = NULL;
	int rc = sql ? mysql_client_query(d->db, &r, sql, "tt", 0, NULL, err)
		     : 0;

	if (!rc && r && mysql_client_rows(r))
		rc = error_set(err, ERROR_DATA,
			       "table %s: the keys %.200s and %.200s are one "
			       "in the key column's collation: give it one "
			       "that tells them apart, as %s",
			       d->target->table, mysql_client_value(r, 0, 0),
			       mysql_client_value(r, 0, 1),
			       d->dialect.collation);
	mysql_client_result_free(r);
	free(sql);
	return rc;
}

static int load_stage(struct mysql_target *d, const struct batch *b,
		      struct error *err)
{
	int rc = mysql_target_stage_fill(d, b, d->place.stage, err);

	if (!rc)
		return error_set(err, ERROR_DATA,
				 "table %s: two keys of the source are one in "
				 "the key column's collation or type: give it "
				 "one that tells them apart, as %s",
				 d->target->table, d->dialect.collation);
	if (rc > 0 && d->pull)
		rc = mysql_client_exec(d->db, d->pull, err);
	if (rc >= 0)
		rc = failpoint("stage_full", err);
	if (!rc)
		rc = failpoint("before_merge", err);
	return rc ? rc : load_check_clash(d, err);
}

/* Would somebody notice that a changed row is deleted and inserted again? Its
 * triggers, those who point at it, and columns that the batch has not. */
static bool load_may_replace(const struct mysql_target *d)
{
	size_t written = 0;

	for (size_t i = 0; i < d->table.n_columns; i++)
		written += !d->table.columns[i].generated;
	return !d->table.triggers && !d->table.triggers_unseen &&
	       !d->table.referenced_by && !d->table.keys_unseen &&
	       written == d->target->schema->n_columns;
}

static int load_count(struct mysql_target *d, char *sql, int64_t *count,
		      struct error *err)
{
	int rc = mysql_client_exec_count(d->db, sql, 0, NULL, count, err);

	free(sql);
	return rc;
}

static int load_insert(struct mysql_target *d, int64_t *inserted,
		       struct error *err)
{
	if (d->target->preview && d->target->schema->n_key)
		return mysql_target_preview_insert(d, inserted, err);
	return load_count(d, mysql_target_statement_insert(d), inserted, err);
}

/* Changed rows go, and come again with those that are new. */
static int load_delete_insert(struct mysql_target *d, const char *delivered,
			      struct load_counts *out, struct error *err)
{
	int64_t gone = 0, inserted = 0;
	int rc = load_count(d, mysql_target_statement_delete(d, delivered),
			    &gone, err);

	if (!rc)
		rc = failpoint("after_delete", err);
	if (!rc)
		rc = load_insert(d, &inserted, err);
	out->updated = gone;
	out->inserted = inserted - gone;
	return rc;
}

static int load_update_insert(struct mysql_target *d, const char *delivered,
			      struct load_counts *out, struct error *err)
{
	int rc = 0;

	if (mysql_target_statement_may_change(d))
		rc = load_count(d, mysql_target_statement_update(d, delivered),
				&out->updated, err);
	if (!rc)
		rc = failpoint("after_delete", err);
	if (!rc)
		rc = load_insert(d, &out->inserted, err);
	return rc;
}

/* ON DUPLICATE KEY means any unique index, and fires other triggers: then in
 * two steps. Rows may exchange the values of another unique index, which does
 * not look away until both have theirs: then all that have changed go first. */
static int load_by_steps(struct mysql_target *d, const char *delivered,
			 struct load_counts *out, struct error *err)
{
	int rc = mysql_client_exec(d->db, "SAVEPOINT merge", err);

	if (!rc)
		rc = load_update_insert(d, delivered, out, err);
	if (!rc || !mysql_client_failed_with(err, ERRNO_REPEATED) ||
	    !load_may_replace(d))
		return rc;
	error_clear(err);
	*out = (struct load_counts){ .inserted = 0 };
	rc = mysql_client_exec(d->db, "ROLLBACK TO SAVEPOINT merge", err);
	return rc ? rc : load_delete_insert(d, delivered, out, err);
}

static int load_at_once(struct mysql_target *d, const char *delivered,
			struct load_counts *out, struct error *err)
{
	char *sql = mysql_target_statement_merge(d, delivered);
	int rc = failpoint("after_delete", err);

	if (!rc)
		rc = mysql_client_exec_merge(d->db, sql, &out->inserted,
					     &out->updated, err);
	free(sql);
	return rc;
}

/* A row that is changed meanwhile is waited for, and looked at again as it is
 * then: one statement decides and writes. */
static int load_update(struct mysql_target *d, struct load_counts *out,
		       struct error *err)
{
	char *missing = mysql_target_statement_missing(d);
	struct mysql_client_result *r = NULL;
	int rc = 0;

	if (target_writes_some(d->target))
		rc = load_count(d, mysql_target_statement_update(d, NULL),
				&out->updated, err);
	if (!rc)
		rc = failpoint("after_delete", err);
	if (!rc)
		rc = mysql_client_query(d->db, &r, missing, "1t", 0, NULL, err);
	if (!rc)
		out->missing = strtoll(mysql_client_value(r, 0, 0), NULL, 10);
	mysql_client_result_free(r);
	free(missing);
	return rc;
}

static int load_append(struct mysql_target *d, const char *batch_id,
		       struct load_counts *out, struct error *err)
{
	int64_t base = d->mark.seen.rows_total + d->mark.refreshed;

	if (d->target->preview && d->target->schema->n_key)
		return mysql_target_preview_insert(d, &out->inserted, err);
	return load_count(d, mysql_target_statement_append(d, batch_id, base),
			  &out->inserted, err);
}

enum mysql_target_way mysql_target_load_way(const struct mysql_target *d)
{
	bool other = d->table.other_unique || d->table.triggers ||
		     d->table.triggers_unseen || d->table.keys_unseen;

	if (d->target->mode == LOAD_APPEND)
		return WAY_APPEND;
	if (d->target->mode == LOAD_UPDATE)
		return WAY_UPDATE;
	if (d->target->mode == LOAD_DELETE_INSERT && !d->table.keys_unseen)
		return WAY_REPLACE;
	return other ? WAY_STEPS : WAY_ONCE;
}

/* A merge at once has the same result as one in steps, and no step names a copy
 * twice. */
static int load_by_way(struct mysql_target *d, const struct checkpoint *next,
		       struct load_counts *out, struct error *err)
{
	enum mysql_target_way way = mysql_target_load_way(d);

	if (!d->target->schema->n_key && way != WAY_APPEND)
		return load_insert(d, &out->inserted, err);
	switch (d->target->preview && way == WAY_ONCE ? WAY_STEPS : way) {
	case WAY_APPEND:
		return load_append(d, next->batch_id, out, err);
	case WAY_UPDATE:
		return load_update(d, out, err);
	case WAY_REPLACE:
		return load_delete_insert(d, next->delivered, out, err);
	case WAY_STEPS:
		return load_by_steps(d, next->delivered, out, err);
	case WAY_ONCE:
		break;
	}
	return load_at_once(d, next->delivered, out, err);
}

static int load_merge(struct mysql_target *d, const struct checkpoint *next,
		      struct load_counts *out, struct error *err)
{
	int64_t n = (int64_t)d->order.n;
	int rc = load_by_way(d, next, out, err);

	if (rc)
		return mysql_target_blame_row(d, next, err);
	out->unchanged = n - out->inserted - out->updated;
	if (out->inserted < 0 || out->unchanged < 0)
		return error_set(err, ERROR_BUG,
				 "table %s: %" PRId64 " rows staged, %" PRId64
				 " updated, %" PRId64 " inserted",
				 d->target->table, n, out->updated,
				 out->inserted);
	d->direct = out->inserted == n && d->target->mode != LOAD_APPEND &&
		    !d->table.triggers && !d->pull;
	return failpoint("after_merge", err);
}

static int load_rows(struct sql_mark *m, const struct batch *b,
		     const struct checkpoint *next, struct load_counts *out,
		     struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)m;
	int rc = 0;

	if (!b->n_rows)
		return 0;
	rc = load_check_nulls(d, b, err);
	if (!rc && d->direct)
		rc = load_straight(d, b, out, err);
	if (!rc)
		rc = load_stage(d, b, err);
	if (!rc)
		rc = load_merge(d, next, out, err);
	if (rc < 0)
		return rc;
	out->unchanged += (int64_t)d->order.n_duplicates;
	return 0;
}

/* The stage is emptied before the transaction begins: TRUNCATE commits. */
static int load_ready(struct sql_mark *m, const struct batch *b, bool keys,
		      struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)m;
	int rc = row_order_build(&d->order, b, err);

	return rc || !(keys || b->n_rows) ? rc
					  : mysql_target_stage_empty(d, err);
}

static int load_done(struct sql_mark *m, const struct batch *b, int rc,
		     struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)m;

	(void)b;
	return mysql_target_blame(d, d->target, rc, err);
}

const struct sql_load_engine mysql_target_load_engine = {
	.ready = load_ready,
	.begin = mysql_target_mark_begin,
	.look = mysql_target_mark_look,
	.same = mysql_target_signature_check,
	.rows = load_rows,
	.remove = mysql_target_remove_rows,
	.swap = mysql_target_swap_tables,
	.commit = mysql_target_mark_commit,
	.done = load_done,
	.instant = "datetime(6)",
};
