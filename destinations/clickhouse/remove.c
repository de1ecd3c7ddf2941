#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "destinations/clickhouse/internal.h"

static void remove_keys(struct strbuf *sb, const struct clickhouse_target *d)
{
	const struct schema *s = d->target->schema;

	strbuf_addch(sb, '(');
	clickhouse_target_statement_key(sb, s, "");
	strbuf_addstr(sb, ") IN (SELECT ");
	clickhouse_target_statement_key(sb, s, "");
	strbuf_addf(sb, " FROM %s)", d->place.incoming);
}

/* The rows that are meant, as they are seen. */
static void remove_from(struct strbuf *sb, const struct clickhouse_target *d)
{
	bool append = d->target->mode == LOAD_APPEND;

	strbuf_addf(sb, "FROM %s%s WHERE ", d->into, append ? "" : " FINAL");
	remove_keys(sb, d);
	if (d->soft_delete == SOFT_DELETE_NONE)
		return;
	strbuf_addstr(sb, " AND ");
	clickhouse_quote_name(sb, d->target->soft_delete);
	strbuf_addstr(sb, d->soft_delete == SOFT_DELETE_TIME
				  ? " IS NULL"
				  : " IS DISTINCT FROM true");
}

static int remove_count(struct clickhouse_target *d, int64_t *out,
			struct error *err)
{
	struct clickhouse_rows rows;
	struct strbuf sql = STRBUF_INIT;
	int rc;

	strbuf_addstr(&sql, "SELECT count() ");
	remove_from(&sql, d);
	rc = clickhouse_query(d->db, sql.data, "t", &rows, err);
	*out = rc ? 0 : clickhouse_rows_i64(&rows, 0);
	clickhouse_rows_release(&rows);
	strbuf_release(&sql);
	return rc;
}

/* Rows of a raw table go. Where newer rows replace older ones, a row that says
 * it is deleted replaces the row. A DELETE is a mutation, which the server may
 * run later again. So no condition on the mark is in it, and a writer that was
 * overtaken has no table of keys any more. */
static void remove_write(struct strbuf *sb, const struct clickhouse_target *d)
{
	const char *mark = d->target->soft_delete;

	if (d->target->mode == LOAD_APPEND && !d->soft_delete) {
		strbuf_addf(sb, "DELETE FROM %s WHERE ", d->into);
		remove_keys(sb, d);
		strbuf_addstr(sb, " SETTINGS lightweight_deletes_sync = 2");
		return;
	}
	strbuf_addf(sb, "INSERT INTO %s SELECT * REPLACE (", d->into);
	if (d->soft_delete != SOFT_DELETE_NONE) {
		strbuf_addstr(sb, d->soft_delete == SOFT_DELETE_FLAG
					  ? "1 AS "
					  : "now64(6) AS ");
		clickhouse_quote_name(sb, mark);
	} else {
		strbuf_addstr(sb, "1 AS " NAME_DELETED);
	}
	strbuf_addstr(sb, ", " NAME_VERSION " + 1 AS " NAME_VERSION
			  ", 0 AS " NAME_HASH ") FROM (SELECT * ");
	/* A subquery of their own: a new value's name would hide the
	 * column's. */
	remove_from(sb, d);
	strbuf_addstr(sb, " AND ");
	clickhouse_target_statement_fence(sb, d);
	strbuf_addch(sb, ')');
}

static int remove_rows(struct clickhouse_target *d, const struct batch *keys,
		       int64_t *removed, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc = clickhouse_target_input_fill(d, keys, err);

	if (!rc)
		rc = remove_count(d, removed, err);
	if (!rc && *removed) {
		remove_write(&sql, d);
		rc = clickhouse_exec(d->db, sql.data, err);
		d->written = !rc;
	}
	strbuf_release(&sql);
	if (rc) {
		error_prefix(err, "table %s", d->target->table);
		return rc;
	}
	return failpoint("after_delete", err);
}

/* A target that we have emptied ourselves is not taken for one that somebody
 * else has. Rows that say they are deleted are still there, until the server
 * is told to clean them up. */
static int remove_remember(struct clickhouse_target *d, struct error *err)
{
	struct clickhouse_rows rows;
	char *sql = xstrfmt("SELECT 1 FROM %s%s LIMIT 1", d->into,
			    d->target->mode == LOAD_APPEND
				    ? ""
				    : " FINAL WHERE " NAME_DELETED " = 0");
	int rc = clickhouse_query(d->db, sql, "t", &rows, err);

	if (!rc && !rows.n_rows)
		d->seen.target_rows = 0;
	clickhouse_rows_release(&rows);
	free(sql);
	return rc;
}

int clickhouse_target_remove(struct destination *base, const struct batch *keys,
			     const struct checkpoint *next, int64_t *removed,
			     struct error *err)
{
	struct clickhouse_target *d = (struct clickhouse_target *)base;
	int rc = soft_delete_check(d->target, d->soft_delete,
				   "Nullable(DateTime64(6, 'UTC'))", err);

	*removed = 0;
	d->written = false;
	if (!rc && d->target->mode == LOAD_APPEND && d->target->soft_delete)
		rc = error_set(err, ERROR_CONFIG,
			       "table %s: soft_delete does not go with mode "
			       "append in ClickHouse",
			       d->target->table);
	if (!rc)
		rc = row_order_build(&d->order, keys, err);
	/* Before the look: see internal.h. */
	if (!rc && d->order.n)
		rc = clickhouse_target_input_make(d, err);
	if (!rc)
		rc = clickhouse_target_mark_lock(d, err);
	if (!rc)
		rc = writer_check(&d->target->writer, err);
	if (!rc && d->order.n)
		rc = clickhouse_target_mark_why(
			d, remove_rows(d, keys, removed, err), err);
	if (!rc && *removed && d->soft_delete == SOFT_DELETE_NONE)
		rc = remove_remember(d, err);
	return rc ? rc : clickhouse_target_mark_advance(d, next, 0, err);
}
