#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "destinations/clickhouse/internal.h"

/* The columns by which a row is compared with what is stored of its key;
 * `hash`: SQL. */
static void preview_columns(struct strbuf *sb, const struct target *target,
			    const char *hash)
{
	const struct schema *s = target->schema;

	clickhouse_target_statement_key(sb, s, "");
	if (target->mode == LOAD_APPEND) {
		strbuf_addf(sb, ", %s, " NAME_RAW_SEQ, hash);
		return;
	}
	if (s->mark >= 0 && !schema_is_key(s, (size_t)s->mark)) {
		strbuf_addstr(sb, ", ");
		clickhouse_quote_name(sb, s->columns[s->mark].name);
	}
	strbuf_addf(sb, ", %s, " NAME_VERSION, hash);
}

/* The stored rows are the table's, and those that earlier batches would have
 * written. Hashes that a run would clear are 0. */
static void preview_stored(struct clickhouse_target *d,
			   const struct target *target, bool refills)
{
	bool append = target->mode == LOAD_APPEND;
	struct strbuf sb = STRBUF_INIT;

	strbuf_addch(&sb, '(');
	if (d->there.exists && !target->refresh) {
		strbuf_addstr(&sb, "SELECT ");
		preview_columns(&sb, target,
				refills ? "toUInt128(0) AS " NAME_HASH
					: NAME_HASH);
		strbuf_addf(&sb, "%s FROM %s UNION ALL ",
			    append ? "" : ", " NAME_DELETED, d->into);
	}
	strbuf_addstr(&sb, "SELECT ");
	preview_columns(&sb, target, NAME_HASH);
	strbuf_addf(&sb, "%s FROM %s)",
		    append ? "" : ", toUInt8(0) AS " NAME_DELETED,
		    d->previewed);
	free(d->stored);
	d->stored = strbuf_detach(&sb);
}

void clickhouse_target_preview_drop(struct clickhouse_target *d)
{
	if (d->previewed)
		clickhouse_execf(d->db, NULL,
				 "DROP TEMPORARY TABLE IF EXISTS %s",
				 d->previewed);
	free(d->previewed);
	d->previewed = NULL;
}

/* Tables that only this session sees, and that end with it. */
static int preview_session(struct clickhouse_target *d,
			   const struct target *target, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc;

	if (!d->session) {
		d->session = clickhouse_target_mark_new_id("tidemark-");
		clickhouse_use_session(d->db, d->session);
	}
	clickhouse_target_preview_drop(d);
	free(d->place.incoming);
	d->place.incoming = xstrdup(d->place.input);
	d->previewed = xstrfmt("%s_seen", d->place.input);
	clickhouse_target_ddl_input(&sql, d->previewed, true, target->schema);
	rc = clickhouse_exec(d->db, sql.data, err);
	strbuf_release(&sql);
	return rc;
}

int clickhouse_target_preview_prepare(struct clickhouse_target *d,
				      const struct target *target,
				      struct error *err)
{
	struct clickhouse_target_plan plan = { .base = { .engine = NULL } };
	int rc;

	rc = plan_make_sure(&plan.base, &clickhouse_target_plan_engine,
			    &d->keeper.base, &d->place, target, err);
	if (!rc)
		rc = preview_session(d, target, err);
	if (!rc)
		rc = clickhouse_target_prepare_read(
			d, target->refresh ? d->place.stage : d->place.base,
			err);
	if (!rc) {
		clickhouse_target_prepare_statements(d, target);
		if (!d->there.exists || target->refresh) {
			free(d->into);
			d->into = xstrdup(d->place.rows);
		}
		preview_stored(d, target, plan.refills);
		d->target = target;
	}
	plan_release(&plan.base);
	return rc;
}

/* The same statement as the load's, into the table of what would be there. */
static int preview_note(struct clickhouse_target *d,
			const struct checkpoint *next, struct error *err)
{
	const struct schema *s = d->target->schema;
	struct strbuf insert = STRBUF_INIT, select = STRBUF_INIT;
	char *into = d->into;
	int rc;

	if (d->target->mode == LOAD_APPEND) {
		strbuf_addf(&insert, "INSERT INTO %s (", d->previewed);
		clickhouse_target_statement_names(&insert, s, "");
		strbuf_addstr(&insert, ", " NAME_HASH ", " NAME_RAW_SEQ ")");
		strbuf_addstr(&select, "SELECT ");
		clickhouse_target_statement_names(&select, s, "");
		strbuf_addf(&select,
			    ", " NAME_HASH ", " NAME_RAW_SEQ " FROM %s",
			    d->place.incoming);
	} else {
		d->into = d->previewed;
		clickhouse_target_statement_insert(&insert, d, true);
		d->into = into;
		clickhouse_target_statement_select(&select, d, next);
	}
	rc = clickhouse_insert_select(d->db, insert.data, NULL, select.data,
				      err);
	strbuf_release(&insert);
	strbuf_release(&select);
	return rc;
}

int clickhouse_target_preview(struct destination *base,
			      const struct batch *batch,
			      const struct checkpoint *next,
			      struct load_counts *out, struct error *err)
{
	struct clickhouse_target *d = (struct clickhouse_target *)base;
	struct load_counts counts = { .inserted = 0 };
	int rc = row_order_build(&d->order, batch, err);

	if (!rc && d->order.n)
		rc = clickhouse_target_input_fill(d, batch, err);
	if (!rc && d->order.n)
		rc = clickhouse_target_load_count(d, next, &counts, err);
	if (!rc && counts.inserted + counts.updated)
		rc = preview_note(d, next, err);
	counts.unchanged += (int64_t)d->order.n_duplicates;
	if (!rc)
		rc = counts_check(&counts, batch->n_rows, d->target->table,
				  err);
	if (rc)
		return rc;
	d->refreshed += (int64_t)batch->n_rows; /* numbers of raw rows */
	*out = counts;
	return 0;
}

/* A table that does not exist yet has no plan to ask for. */
int clickhouse_target_explain(struct destination *base, struct explanation *out,
			      struct error *err)
{
	struct clickhouse_target *d = (struct clickhouse_target *)base;
	const struct checkpoint next = { .batch_id = (char *)"" };
	struct strbuf sql = STRBUF_INIT;
	char *stored = d->stored;

	(void)err;
	d->stored = d->into;
	clickhouse_target_statement_insert(&sql, d, true);
	strbuf_addch(&sql, '\n');
	clickhouse_target_statement_select(&sql, d, &next);
	d->stored = stored;
	explanation_add(out, "merge", sql.data, "the table's sorting key",
			NULL);
	strbuf_release(&sql);
	return 0;
}
