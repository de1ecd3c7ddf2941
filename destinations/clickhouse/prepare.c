#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"
#include "destinations/clickhouse/internal.h"

static void prepare_set(char **text, char *to)
{
	free(*text);
	*text = to;
}

static int prepare_plan(struct clickhouse_target *d,
			const struct target *target,
			struct clickhouse_target_plan *plan, struct error *err)
{
	int rc = plan_make(&plan->base, &clickhouse_target_plan_engine,
			   &d->keeper.base, &d->place, target, err);

	/* A writer that claims the pipeline knows that no refresh of it is
	 * alive. */
	if (!rc && !target->writer.claim)
		rc = refresh_id_check_free(plan->mark.batch_id,
					   target->pipeline, err);
	if (!rc && target->writer.fence)
		rc = writer_check_fence(&target->writer, target->pipeline,
					plan->mark.fence, err);
	return rc ? rc
		  : problems_to_error(&plan->base.inspection.problems, err);
}

/* No transaction goes with a writer that has stood still for longer than its
 * lease: each step asks. */
static int prepare_step(struct clickhouse_target *d,
			const struct target *target, const char *sql,
			struct error *err)
{
	int rc = writer_check(&target->writer, err);

	if (rc)
		return rc;
	rc = clickhouse_exec(d->db, sql, err);
	if (rc) {
		error_prefix(err, "%.200s", sql);
		return rc;
	}
	return failpoint("mid_alter", err);
}

/* The table in which a refresh builds is the last step:
 * clickhouse_target_ddl_plan(). */
static int prepare_ddl(struct clickhouse_target *d,
		       const struct clickhouse_target_plan *plan,
		       const struct target *target, struct error *err)
{
	const struct strlist *ddl = &plan->base.inspection.ddl;
	int rc = 0;

	for (size_t i = 0; !rc && i + target->refresh < ddl->n; i++)
		rc = prepare_step(d, target, ddl->items[i], err);
	return rc;
}

/* Tables that an older Tidemark made. A user that may not change them goes on:
 * rows are lost only by a power cut of the server, within seconds. */
static void prepare_durable(struct clickhouse_target *d,
			    const struct clickhouse_target_plan *plan,
			    const struct target *target)
{
	struct error why = ERROR_INIT;

	for (size_t i = 0; i < plan->n_volatile; i++)
		if (clickhouse_execf(d->db, &why,
				     "ALTER TABLE %s MODIFY "
				     "SETTING " CLICKHOUSE_TARGET_DURABLE,
				     plan->volatile_tables[i]))
			log_warn("table %s: %s was made "
				 "without " CLICKHOUSE_TARGET_DURABLE
				 ", and a power cut of the server may take "
				 "rows whose mark stays; to set them, GRANT "
				 "ALTER SETTINGS (%s)",
				 target->table, plan->volatile_tables[i],
				 why.message);
}

/* Another may be building there, who has to find the mark taken when it finds
 * the table gone. */
static int prepare_stage(struct clickhouse_target *d,
			 const struct clickhouse_target_plan *plan,
			 const struct target *target, struct error *err)
{
	const struct strlist *ddl = &plan->base.inspection.ddl;
	int rc = clickhouse_execf(d->db, err, "DROP TABLE IF EXISTS %s SYNC",
				  d->place.staging);

	if (!rc)
		rc = prepare_step(d, target, ddl->items[ddl->n - 1], err);
	return rc ? rc : failpoint("stage_created", err);
}

/* The mark is taken. A run that fails now gives it back. Otherwise the next run
 * would be told that this process, as long as it lives, is refreshing. */
static int prepare_refresh(struct clickhouse_target *d,
			   const struct clickhouse_target_plan *plan,
			   const struct target *target, struct error *err)
{
	int rc = prepare_stage(d, plan, target, err);

	if (!rc)
		rc = clickhouse_target_prepare_read(d, d->place.stage, err);
	if (rc) {
		d->target = target;
		clickhouse_target_mark_give_back(d);
		d->target = NULL;
	}
	return rc;
}

/* A table that is new, is not the one that the row was about, or gets a column.
 * All rows have to be read again. */
static bool prepare_is_again(const struct clickhouse_target_plan *plan,
			     const struct target *target)
{
	return !plan->mark.found ||
	       (!target->refresh && plan->base.inspection.anew);
}

static void prepare_row(struct clickhouse_target *d,
			const struct clickhouse_target_plan *plan,
			const char *uuid, struct mark_row *next)
{
	if (!plan->mark.found)
		next->fence = next->rows_total = 0;
	prepare_set(&next->watermark, NULL);
	prepare_set(&next->batch_id, clickhouse_target_mark_new_id("set-"));
	prepare_set(&next->target, xstrdup(d->place.table));
	prepare_set(&next->table_uuid, xstrdup(uuid));
	prepare_set(&next->written_at, NULL);
	next->target_rows = 0;
}

static bool prepare_claim(const struct target *target, struct mark_row *next,
			  bool changed)
{
	if (next->fence < target->writer.fence &&
	    (changed || target->writer.claim || target->refresh)) {
		next->fence = target->writer.fence;
		changed = true;
	}
	if (target->writer.claim && refresh_id_is(next->batch_id)) {
		prepare_set(&next->batch_id,
			    xstrfmt("left-%s", next->batch_id));
		changed = true;
	}
	if (target->refresh) {
		prepare_set(&next->batch_id, refresh_id_new());
		changed = true;
	}
	return changed;
}

/* `again`: the row forgets its mark, and speaks of the table `uuid` from now
 * on. */
static int prepare_mark(struct clickhouse_target *d,
			const struct clickhouse_target_plan *plan,
			const struct target *target, bool again,
			const char *uuid, struct error *err)
{
	struct mark_row next;
	bool changed;
	int rc = clickhouse_target_mark_read(d, &d->place, target->pipeline,
					     &d->seen, err);

	/* The plan may be older than a successor. */
	if (!rc)
		rc = writer_check(&target->writer, err);
	if (!rc)
		rc = writer_check_fence(&target->writer, target->pipeline,
					d->seen.fence, err);
	if (rc)
		return rc;
	clickhouse_target_mark_row_copy(&next, &d->seen);
	if (again)
		prepare_row(d, plan, uuid ? uuid : "", &next);
	changed = prepare_claim(target, &next, again);
	if (changed)
		return clickhouse_target_mark_move(d, target->pipeline, &next,
						   err);
	clickhouse_target_mark_row_release(&next);
	return 0;
}

static bool prepare_is_plain(const struct clickhouse_target *d,
			     const struct target *target)
{
	const struct schema *s = target->schema;
	bool plain = true;

	for (size_t i = 0; plain && i < s->n_columns; i++) {
		struct strbuf sent = STRBUF_INIT;
		const struct catalog_column *c = clickhouse_target_catalog_find(
			&d->there, s->columns[i].name);
		char *type;

		clickhouse_target_type_write_sent(&sent, &s->columns[i].type);
		type = clickhouse_target_ddl_column_type(s, i, sent.data);
		plain = c && !strcmp(c->type, type);
		free(type);
		strbuf_release(&sent);
	}
	return plain;
}

int clickhouse_target_prepare_read(struct clickhouse_target *d,
				   const char *table, struct error *err)
{
	return clickhouse_target_catalog_read(d->db, d->place.database, table,
					      &d->there, err);
}

void clickhouse_target_prepare_statements(struct clickhouse_target *d,
					  const struct target *target)
{
	const struct catalog_column *mark = NULL;

	free(d->into);
	free(d->stored);
	d->into = xstrdup(target->refresh ? d->place.staging : d->place.rows);
	d->stored = xstrdup(d->into);
	d->plain = prepare_is_plain(d, target);
	if (target->soft_delete)
		mark = clickhouse_target_catalog_find(&d->there,
						      target->soft_delete);
	if (mark && !strncmp(mark->type, "Nullable(", 9))
		d->soft_delete = soft_delete_of(target, mark->type + 9);
	else
		d->soft_delete =
			soft_delete_of(target, mark ? mark->type : NULL);
}

static int prepare_write(struct clickhouse_target *d,
			 const struct target *target,
			 struct clickhouse_target_plan *plan, struct error *err)
{
	bool other = !target->refresh && plan->mark.found &&
		     plan->mark.watermark && !plan->base.known;
	bool again = prepare_is_again(plan, target);
	/* A run that dies behind the statement leaves a table that has the
	 * column, and nothing that says it is empty. */
	bool early = again && plan->base.known && plan->table.exists;
	int rc = clickhouse_target_ahead_prepare(d, &plan->base, false, err);

	if (!rc && early)
		rc = prepare_mark(d, plan, target, true, plan->table.uuid, err);
	if (!rc)
		rc = prepare_ddl(d, plan, target, err);
	if (!rc)
		prepare_durable(d, plan, target);
	d->doubtful = target->mode == LOAD_APPEND && !target->refresh &&
		      plan->table.exists;
	prepare_set(&d->preparation, clickhouse_target_mark_new_id(""));
	if (!rc)
		rc = clickhouse_target_prepare_read(d, d->place.base, err);
	if (!rc)
		rc = prepare_mark(d, plan, target, again && !early,
				  d->there.uuid, err);
	if (!rc && target->refresh)
		rc = prepare_refresh(d, plan, target, err);
	if (!rc && !target->refresh && plan->base.known &&
	    plan->mark.watermark && !plan->table.exists)
		target_say_again(target, "is gone");
	else if (!rc && other && plan->table.exists)
		target_say_again(target, "was made anew");
	return rc;
}

int clickhouse_target_prepare(struct destination *base,
			      const struct target *target, struct error *err)
{
	struct clickhouse_target *d = (struct clickhouse_target *)base;
	struct clickhouse_target_plan plan = { .base = { .engine = NULL } };
	int rc;

	clickhouse_target_input_drop(d);
	d->target = NULL;
	d->refreshed = d->built = 0;
	rc = clickhouse_target_place_set(&d->place, clickhouse_database(d->db),
					 target, err);
	if (!rc && target->preview)
		return clickhouse_target_preview_prepare(d, target, err);
	if (!rc)
		rc = prepare_plan(d, target, &plan, err);
	if (!rc)
		rc = prepare_write(d, target, &plan, err);
	plan_release(&plan.base);
	if (rc)
		return rc;
	clickhouse_target_prepare_statements(d, target);
	d->target = target;
	return 0;
}
