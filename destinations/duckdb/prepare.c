#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "destinations/common/names.h"
#include "destinations/duckdb/internal.h"

struct duckdb_type *duckdb_target_types_new(struct duckdb_target_destination *d,
					    const struct schema *schema)
{
	struct duckdb_type *types = xcalloc(schema->n_columns, sizeof(*types));
	bool asked = false, is_json = false;

	for (size_t i = 0; i < schema->n_columns; i++) {
		const struct type *t = &schema->columns[i].type;

		if (t->kind == TYPE_JSON && !asked) {
			asked = true;
			is_json = !duck_exec(d->db, "SELECT NULL::JSON", NULL);
		}
		duckdb_target_type_of(&types[i], t, is_json);
	}
	return types;
}

/* Everything that prepare finds out before it writes. */
struct preparation {
	struct duckdb_target_place place;
	struct existing existing;
	struct duckdb_type *types;
	struct inspection inspection;
	bool gone; /* the mark's table exists no more */
};

static void preparation_release(struct preparation *p)
{
	duckdb_target_place_release(&p->place);
	existing_release(&p->existing);
	inspection_release(&p->inspection);
	free(p->types);
	memset(p, 0, sizeof(*p));
}

static int prepare_look(struct duckdb_target_destination *d,
			const struct target *target, struct preparation *p,
			struct error *err)
{
	int rc;

	preparation_release(p);
	rc = duckdb_target_place_init(&p->place, d, target, err);
	if (rc)
		return rc;
	rc = duckdb_target_existing_look_closely(&p->existing, d, &p->place,
						 target->pipeline, err);
	if (rc)
		return rc;
	p->types = duckdb_target_types_new(d, target->schema);
	rc = duckdb_target_inspect(d, target, &p->place, &p->existing, p->types,
				   &p->inspection, err);
	return rc ? rc : problems_to_error(&p->inspection.problems, err);
}

static int prepare_ddl(struct duckdb_target_destination *d,
		       const struct preparation *p, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < p->inspection.ddl.n; i++) {
		rc = duck_exec(d->db, p->inspection.ddl.items[i], err);
		if (!rc)
			rc = failpoint("mid_alter", err);
	}
	return rc;
}

/* The row is the refresh's own from now on, and otherwise as it is. */
static int prepare_take_over(struct duckdb_target_destination *d,
			     const struct target *target, struct preparation *p,
			     struct error *err)
{
	char *id = refresh_id_new();
	int rc;

	existing_take_over(&p->existing, id);
	rc = duckdb_target_mark_put(d, &p->place, target->pipeline,
				    &p->existing, err);
	free(id);
	return rc;
}

/* The order of a raw table is that of its numbers: they go on where they were,
 * whatever became of the pipeline's row. */
static int prepare_numbers(struct duckdb_target_destination *d,
			   const struct target *target, struct preparation *p,
			   struct error *err)
{
	struct duck_result *r = NULL;
	char *sql;
	int rc;

	if (target->mode != LOAD_APPEND || !p->existing.has_data)
		return 0;
	sql = xstrfmt("SELECT coalesce(max(" NAME_RAW_SEQ "), 0) FROM %s",
		      p->place.quoted_data);
	rc = duck_query(d->db, &r, sql, NULL, 0, err);
	if (!rc && duck_next(r) && duck_i64(r, 0) > p->existing.mark.rows_total)
		p->existing.mark.rows_total = duck_i64(r, 0);
	duck_result_free(r);
	free(sql);
	return rc;
}

/* A table made anew, or another one than before, or a new column, has
 * everything yet to come: the mark goes back. */
static int prepare_mark(struct duckdb_target_destination *d,
			const struct target *target, struct preparation *p,
			struct error *err)
{
	bool again = !p->existing.has_data || !p->existing.known ||
		     p->inspection.added.n;
	int rc = writer_check_fence(&target->writer, target->pipeline,
				    p->existing.mark.fence, err);

	if (!rc && !p->existing.has_mark_table)
		rc = duckdb_target_mark_create_table(d, &p->place, err);
	if (target->writer.fence)
		p->existing.mark.fence = target->writer.fence;
	if (!rc && target->refresh)
		return prepare_take_over(d, target, p, err);
	if (!rc && !again && target->writer.claim)
		return duckdb_target_mark_put(d, &p->place, target->pipeline,
					      &p->existing, err);
	if (rc || !again)
		return rc;
	p->gone = existing_start_over(&p->existing);
	rc = prepare_numbers(d, target, p, err);
	return rc ? rc
		  : duckdb_target_mark_put(d, &p->place, target->pipeline,
					   &p->existing, err);
}

static int prepare_write_all(struct duckdb_target_destination *d,
			     const struct target *target, struct preparation *p,
			     struct error *err)
{
	int rc = duck_exec(d->db, "BEGIN", err);

	if (rc)
		return rc;
	rc = prepare_ddl(d, p, err);
	if (!rc)
		rc = prepare_mark(d, target, p, err);
	if (!rc)
		rc = duck_exec(d->db, "COMMIT", err);
	if (rc)
		duck_exec(d->db, "ROLLBACK", NULL);
	else if (p->gone)
		target_say_again(target, "is gone");
	return rc;
}

static int prepare_write(struct duckdb_target_destination *d,
			 const struct target *target, struct preparation *p,
			 struct error *err)
{
	int rc;

	if (!p->inspection.ddl.n && p->existing.has_mark_table &&
	    p->existing.known && !target->refresh && !target->writer.claim)
		return 0;
	duck_turn_begin(d->db);
	rc = prepare_write_all(d, target, p, err);
	duck_turn_end(d->db);
	return rc;
}

/* Columns that a delete and insert would lose. */
static bool prepare_has_extras(const struct existing *e, const struct schema *s)
{
	size_t known = 0;

	for (size_t i = 0; i < s->n_columns; i++)
		known += existing_find(e, s->columns[i].name) >= 0;
	return known < e->n_columns;
}

static void prepare_not_null(struct duckdb_target_destination *d,
			     const struct schema *s, const struct existing *e)
{
	free(d->not_null);
	d->not_null = xcalloc(s->n_columns, sizeof(*d->not_null));
	for (size_t i = 0; !d->target->refresh && i < s->n_columns; i++) {
		long at = existing_find(e, s->columns[i].name);

		d->not_null[i] = at >= 0 && e->columns[at].not_null;
	}
}

/* Compare with the columns as they stand, or as they are made. */
static void prepare_compare(struct duckdb_type *types, const struct schema *s,
			    const struct existing *e)
{
	for (size_t i = 0; i < s->n_columns; i++) {
		const char *there = existing_type(e, s->columns[i].name);

		types[i].compare = duckdb_target_type_compare(
			there ? there : types[i].text);
	}
}

/* Alter a column that is to hold texts, if it does not yet; a refresh makes its
 * own. */
static enum mark_order prepare_mark_order(const struct duckdb_type *types,
					  const struct target *target,
					  const struct existing *e)
{
	const struct schema *s = target->schema;
	const char *there;

	if (s->mark < 0)
		return MARK_ORDER_PLAIN;
	there = target->refresh ? NULL
				: existing_type(e, s->columns[s->mark].name);
	return mark_order_of(s->columns[s->mark].type.kind,
			     (there && !strcmp(there, "VARCHAR")) ||
				     !strcmp(types[s->mark].text, "VARCHAR"));
}

static void prepare_soft_delete(struct duckdb_target_destination *d,
				const struct target *target,
				const struct existing *e)
{
	const char *type = existing_type(e, target->soft_delete);

	d->mark.soft_delete = soft_delete_of(target, type);
	snprintf(d->soft_type, sizeof(d->soft_type), "%s", type ? type : "");
}

/* At a checkpoint DuckDB merges blocks that are not full. A load of many
 * batches would be written twice, at its end, so a first load turns this off,
 * and those who share it. Later, one merge a checkpoint takes away rows that
 * updates have deleted. Not every version knows the setting. */
static void prepare_known(struct duckdb_target_destination *d, bool anew)
{
	duck_turn_begin(d->db);
	duckdb_target_known_join(d, anew);
	duck_execf(d->db, NULL, "SET max_vacuum_tasks = %d",
		   anew || d->known->all ? 0 : 1);
	duck_turn_end(d->db);
}

static void prepare_keep(struct duckdb_target_destination *d,
			 const struct target *target, struct preparation *p)
{
	d->target = target;
	d->mark.refreshed = d->mark.built = 0;
	prepare_not_null(d, target->schema, &p->existing);
	prepare_soft_delete(d, target, &p->existing);
	prepare_compare(p->types, target->schema, &p->existing);
	d->mark_order = prepare_mark_order(p->types, target, &p->existing);
	d->in_place = target->mode == LOAD_UPDATE ||
		      (target->mode == LOAD_UPSERT && !target->refresh &&
		       (p->existing.indexed ||
			prepare_has_extras(&p->existing, target->schema)));
	duckdb_target_place_release(&d->place);
	d->place = p->place;
	memset(&p->place, 0, sizeof(p->place));
	free(d->types);
	d->types = p->types;
	p->types = NULL;
	d->into = target->refresh && !target->preview ? d->place.quoted_stage
						      : d->place.quoted_data;
	d->into_name = target->refresh && !target->preview ? d->place.stage
							   : d->place.data;
	checkpoint_copy(&d->mark.seen, &p->existing.mark);
	prepare_known(d, target->refresh || !p->existing.has_data);
}

int duckdb_target_prepare_target(struct duckdb_target_destination *d,
				 const struct target *target, struct error *err)
{
	struct preparation p;
	int rc;

	memset(&p, 0, sizeof(p));
	rc = prepare_look(d, target, &p, err);
	if (!rc && target->preview) {
		rc = duckdb_target_preview_make(d, target, &p.place,
						&p.existing, p.types, err);
	} else if (!rc && !d->on_disk) {
		/* Only now that nothing is refused is there to be a file. */
		rc = duckdb_target_open_database(d, true, err);
		if (!rc)
			rc = prepare_look(d, target, &p, err);
	}
	if (!rc && !target->preview)
		rc = prepare_write(d, target, &p, err);
	if (!rc) {
		prepare_keep(d, target, &p);
	}
	preparation_release(&p);
	return rc;
}
