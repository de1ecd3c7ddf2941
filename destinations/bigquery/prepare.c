#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "destinations/bigquery/internal.h"

/* Everything that prepare finds out before it writes. */
struct preparation {
	struct bigquery_place place;
	struct existing existing;
	struct bigquery_type *types;
	struct inspection inspection;
	bool gone; /* the mark's table exists no more */
};

static void preparation_release(struct preparation *p)
{
	bigquery_place_release(&p->place);
	existing_release(&p->existing);
	inspection_release(&p->inspection);
	free(p->types);
	memset(p, 0, sizeof(*p));
}

static int prepare_look(struct bigquery_destination *d,
			const struct target *target, struct preparation *p,
			struct error *err)
{
	int rc = bigquery_place_init(&p->place, d, target, err);

	if (!rc)
		rc = bigquery_is_bare(d->client, &d->bare, err);
	if (!rc)
		rc = bigquery_bare_check(d, target, err);
	if (!rc)
		rc = bigquery_owned_check(d, &p->place, err);
	if (!rc)
		rc = bigquery_existing_look(&p->existing, d, &p->place,
					    target->pipeline, err);
	if (rc)
		return rc;
	p->types = bigquery_types_of(target->schema);
	bigquery_bare_types(d, p->types, target->schema->n_columns);
	rc = bigquery_inspect(d, target, &p->place, &p->existing, p->types,
			      &p->inspection, err);
	return rc ? rc : problems_to_error(&p->inspection.problems, err);
}

static int prepare_ddl(struct bigquery_destination *d,
		       const struct preparation *p, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < p->inspection.ddl.n; i++) {
		rc = bigquery_execute(d, p->inspection.ddl.items[i], NULL, NULL,
				      err);
		if (rc)
			error_prefix(err, "%.200s", p->inspection.ddl.items[i]);
		else
			rc = failpoint("mid_alter", err);
	}
	return rc;
}

/* The row is the refresh's own from now on, and otherwise as it is. A table
 * that is not there will have been made by us. */
static void prepare_take_over(struct bigquery_destination *d,
			      struct preparation *p)
{
	free(d->refresh_id);
	d->refresh_id = refresh_id_new();
	d->built = 0;
	existing_take_over(&p->existing, d->refresh_id);
	p->existing.created = p->existing.created || !p->existing.has_data;
}

/* A writer that claims the pipeline gives up a refresh that was under way. */
static void prepare_release(struct preparation *p)
{
	char *left;

	if (!refresh_id_is(p->existing.mark.batch_id))
		return;
	left = xstrfmt("left-%s", p->existing.mark.batch_id);
	free(p->existing.mark.batch_id);
	p->existing.mark.batch_id = left;
}

/* The order of a raw table is that of its numbers: they go on where they were,
 * whatever became of the pipeline's row. */
static int prepare_numbers(struct bigquery_destination *d,
			   const struct target *target, struct preparation *p,
			   struct error *err)
{
	struct bigquery_numbers found;
	char *sql;
	int rc;

	if (target->mode != LOAD_APPEND || !p->existing.has_data)
		return 0;
	sql = xstrfmt("SELECT COALESCE(MAX(" NAME_RAW_SEQ ") + 1, 0) FROM %s",
		      p->place.quoted_data);
	rc = bigquery_execute(d, sql, NULL, &found, err);
	if (!rc && found.values[0] > p->existing.mark.rows_total)
		p->existing.mark.rows_total = found.values[0];
	free(sql);
	return rc;
}

/* A table made anew, or another one than before, or a new column has all its
 * rows yet to come. So the mark goes back before the table changes. A run that
 * dies between the two has all rows read again. */
static int prepare_mark(struct bigquery_destination *d,
			const struct target *target, struct preparation *p,
			struct error *err)
{
	bool again = !target->refresh && p->inspection.anew;
	int rc = 0;

	if (!p->existing.has_mark_table)
		rc = bigquery_mark_create_table(d, &p->place, err);
	if (target->writer.fence)
		p->existing.mark.fence = target->writer.fence;
	if (again)
		p->gone = existing_start_over(&p->existing);
	if (!rc && (again || target->refresh))
		rc = prepare_numbers(d, target, p, err);
	if (target->writer.claim)
		prepare_release(p);
	if (target->refresh)
		prepare_take_over(d, p);
	if (rc || !(again || target->refresh || target->writer.claim))
		return rc;
	return bigquery_mark_put(d, &p->place, target->pipeline, &p->existing,
				 err);
}

/* A refresh builds where one that was killed has built. */
static int prepare_clear(struct bigquery_destination *d,
			 const struct target *target, struct preparation *p,
			 struct error *err)
{
	return target->refresh
		       ? bigquery_drop_table(d->client, p->place.dataset,
					     p->place.anew, err)
		       : 0;
}

static int prepare_write(struct bigquery_destination *d,
			 const struct target *target, struct preparation *p,
			 struct error *err)
{
	int rc = writer_check_fence(&target->writer, target->pipeline,
				    p->existing.mark.fence, err);

	if (!rc && !target->writer.claim)
		rc = refresh_id_check_free(p->existing.mark.batch_id,
					   target->pipeline, err);
	if (!rc)
		rc = prepare_mark(d, target, p, err);
	if (!rc)
		rc = prepare_clear(d, target, p, err);
	if (!rc)
		rc = prepare_ddl(d, p, err);
	if (!rc && p->gone)
		target_say_again(target, "is gone");
	return rc;
}

/* Note the table's columns as the DDL leaves them. */
static void prepare_columns(struct bigquery_destination *d,
			    const struct preparation *p)
{
	const struct schema *s = d->target->schema;

	d->not_null = xcalloc(s->n_columns, sizeof(*d->not_null));
	for (size_t i = 0; i < s->n_columns; i++) {
		const struct existing *e = &p->existing;
		long at = existing_find(e, s->columns[i].name);

		if (d->target->refresh || at < 0)
			continue;
		d->not_null[i] = e->columns[at].not_null;
		snprintf(d->types[i].column, sizeof(d->types[i].column), "%s",
			 p->inspection.columns[i].destination_type);
	}
}

/* A refresh whose table has its columns changes rows, not the table; others are
 * left out, where they may be. */
static bool prepare_same_layout(const struct bigquery_destination *d,
				const struct preparation *p)
{
	const struct schema *s = d->target->schema;
	const struct existing *e = &p->existing;
	size_t raw = d->target->mode == LOAD_APPEND ? 3 : 0;

	if (!e->has_data)
		return true;
	for (size_t i = 0; i < s->n_columns; i++) {
		long at = existing_find(e, s->columns[i].name);

		if (at < 0 || strcmp(e->columns[at].type, d->types[i].text) ||
		    (e->columns[at].not_null && !schema_is_key(s, i)))
			return false;
	}
	for (size_t i = 0; i < e->n_columns; i++) {
		if (!bigquery_ddl_keeps(e, d->target, i))
			continue;
		if (e->columns[i].not_null && !e->columns[i].has_default)
			return false;
		raw++;
	}
	return e->n_columns == s->n_columns + raw;
}

static void prepare_kept(struct bigquery_destination *d,
			 const struct existing *e)
{
	strbuf_reset(&d->kept);
	strbuf_reset(&d->kept_names);
	if (d->target->refresh)
		bigquery_ddl_kept(&d->kept, &d->kept_names, e, d->target);
}

static void prepare_soft_delete(struct bigquery_destination *d,
				const struct existing *e)
{
	free(d->soft_type);
	d->soft_type = xstrdup(existing_type(e, d->target->soft_delete));
	d->soft_delete = soft_delete_of(d->target, d->soft_type);
}

static void prepare_keep(struct bigquery_destination *d,
			 const struct target *target, struct preparation *p)
{
	d->target = target;
	bigquery_place_release(&d->place);
	d->place = p->place;
	memset(&p->place, 0, sizeof(p->place));
	free(d->types);
	d->types = p->types;
	p->types = NULL;
	free(d->not_null);
	prepare_columns(d, p);
	prepare_soft_delete(d, &p->existing);
	prepare_kept(d, &p->existing);
	d->swap_by_rows = prepare_same_layout(d, p);
	d->into = target->refresh ? d->place.quoted_anew : d->place.quoted_data;
	bigquery_stage_name(d);
	checkpoint_copy(&d->seen, &p->existing.mark);
	d->seen_us = p->existing.written_us;
	d->there = p->existing.delivered;
	existing_release(&d->prepared);
	d->prepared = p->existing;
	memset(&p->existing, 0, sizeof(p->existing));
	free(d->signature);
	d->signature = NULL;
	d->altered = false;
}

/* Whoever comes next would be told that this process, as long as it lives, is
 * refreshing. */
static void prepare_give_back(struct bigquery_destination *d,
			      const struct target *target,
			      const struct preparation *p)
{
	struct error ignored = ERROR_INIT;

	if (target->refresh && !target->preview && d->refresh_id &&
	    p->place.quoted_mark)
		bigquery_mark_release(d, &p->place, target->pipeline,
				      d->refresh_id, &ignored);
}

int bigquery_prepare_target(struct bigquery_destination *d,
			    const struct target *target, struct error *err)
{
	struct preparation p;
	int rc;

	memset(&p, 0, sizeof(p));
	inspection_init(&p.inspection);
	bigquery_stage_drop(d);
	d->target = target;
	rc = prepare_look(d, target, &p, err);
	if (!rc && !target->preview)
		rc = prepare_write(d, target, &p, err);
	if (!rc)
		prepare_keep(d, target, &p);
	if (!rc && target->preview)
		rc = bigquery_preview_make(d, target, &d->prepared,
					   &p.inspection, err);
	else if (!rc && !target->refresh && p.inspection.ddl.n)
		rc = bigquery_signature_renew(d, err);
	if (rc) {
		prepare_give_back(d, target, &p);
		d->target = NULL;
	}
	preparation_release(&p);
	return rc;
}
