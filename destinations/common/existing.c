#include "destinations/common/existing.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "destinations/common/names.h"
#include "destinations/common/refusals.h"

void existing_release(struct existing *e)
{
	for (size_t i = 0; i < e->n_columns; i++) {
		free(e->columns[i].name);
		free(e->columns[i].type);
		free(e->columns[i].initial);
	}
	free(e->columns);
	free(e->view);
	free(e->identity);
	checkpoint_release(&e->mark);
	memset(e, 0, sizeof(*e));
}

long existing_find(const struct existing *e, const char *name)
{
	for (size_t i = 0; i < e->n_columns; i++)
		if (!strcasecmp(e->columns[i].name, name))
			return (long)i;
	return -1;
}

static void existing_refuse(struct problems *out, const struct target *target,
			    const char *code, const char *fix, const char *what)
{
	problems_add(out, SEVERITY_ERROR, ERROR_SCHEMA, code, fix,
		     "table %s: %s", target->table, what);
}

/* Append needs two names: the raw table's and the view's. */
static void existing_check_raw(const struct existing *e,
			       const struct target *target,
			       struct problems *out)
{
	if (target->mode != LOAD_APPEND)
		return;
	if (e->name_is_view && !e->has_data && !e->created)
		target_refuse_view_of_others(target, out);
	if (e->name_is_table)
		target_refuse_not_a_view(target, out);
	if (!target->refresh && e->has_data &&
	    existing_find(e, NAME_RAW_SEQ) < 0)
		existing_refuse(out, target, "not-a-raw-table",
				"choose another table name, or rename the one "
				"that ends in _raw",
				"its _raw table exists and has no "
				"_tidemark_seq");
}

static bool existing_has_source(const struct target *target, const char *name)
{
	for (size_t i = 0; i < target->schema->n_columns; i++)
		if (!strcasecmp(target->schema->columns[i].name, name))
			return true;
	return false;
}

/* The raw rows of a pipeline that appends are nobody else's to load into. */
static void existing_check_not_raw(const struct existing *e,
				   const struct target *target,
				   struct problems *out)
{
	if (target->mode != LOAD_APPEND && e->has_data &&
	    existing_find(e, NAME_RAW_BATCH) >= 0 &&
	    existing_find(e, NAME_RAW_SEQ) >= 0 &&
	    !existing_has_source(target, NAME_RAW_SEQ))
		existing_refuse(out, target, "is-a-raw-table",
				"choose another table name",
				"holds the raw rows of a pipeline in mode "
				"append");
}

void existing_check_place(const struct existing *e, const struct target *target,
			  struct problems *out)
{
	bool there = e->has_data || e->data_is_view ||
		     (target->mode == LOAD_APPEND && e->name_is_table);

	if (target->refresh && there && !e->created && !target->force)
		target_refuse_not_ours(target, out);
	if (e->data_is_view)
		target_refuse_not_a_table(target, out);
	existing_check_raw(e, target, out);
	existing_check_not_raw(e, target, out);
}

bool existing_may_repeat(const struct existing *e, const struct target *target,
			 const struct inspection *found)
{
	return !e->created && !(e->known && e->mark.rows_total > 0) &&
	       target->mode != LOAD_APPEND &&
	       !problems_to_error(&found->problems, NULL);
}

void existing_refuse_repeat(const struct target *target, struct problems *out)
{
	existing_refuse(out, target, "key-repeats",
			"remove the duplicates, or choose another key",
			"holds a key more than once");
}

bool existing_may_be_emptied(const struct existing *e,
			     const struct inspection *found)
{
	return e->mark.watermark && e->delivered && !found->added.n && !e->rows;
}

bool existing_start_over(struct existing *e)
{
	bool made = !e->has_data, gone = made && e->mark.watermark;

	free(e->mark.watermark);
	e->mark.watermark = NULL;
	e->delivered = 0;
	e->created = made || e->created;
	return gone;
}

void existing_take_over(struct existing *e, const char *refresh_id)
{
	free(e->mark.batch_id);
	e->mark.batch_id = xstrdup(refresh_id);
}

const char *existing_type(const struct existing *e, const char *name)
{
	long at = name ? existing_find(e, name) : -1;

	return at < 0 ? NULL : e->columns[at].type;
}

static bool existing_is_ours(const struct target *target, const char *name)
{
	return target->mode == LOAD_APPEND &&
	       (!strcasecmp(name, NAME_RAW_BATCH) ||
		!strcasecmp(name, NAME_RAW_SEQ) ||
		!strcasecmp(name, NAME_RAW_LOADED));
}

static size_t existing_extras(const struct existing *e,
			      const struct target *target,
			      struct drift_extra *out)
{
	size_t n = 0;

	for (size_t i = 0; i < e->n_columns; i++) {
		const struct existing_column *c = &e->columns[i];

		if (schema_find_folded(target->schema, c->name) >= 0 ||
		    existing_is_ours(target, c->name))
			continue;
		out[n++] = (struct drift_extra){
			.name = c->name,
			.not_null = c->not_null,
			.has_default = c->has_default,
		};
	}
	return n;
}

static void existing_fit(struct existing_drift *d, const struct existing *e,
			 const struct schema *s, bool exists,
			 const struct existing_types *types)
{
	for (size_t i = 0; i < s->n_columns; i++) {
		struct drift_column *c = &d->columns[i];
		long at = exists ? existing_find(e, s->columns[i].name) : -1;

		if (at >= 0) {
			c->actual = e->columns[at].type;
			c->not_null = e->columns[at].not_null;
		}
		types->fit(types->types, i, c, &d->grown[i]);
		c->grown = d->grown[i];
	}
}

void existing_drift(struct existing_drift *out, const struct existing *e,
		    const struct target *target, bool exists,
		    const struct existing_types *types,
		    struct inspection *found)
{
	size_t n = target->schema->n_columns;
	struct drift_extra *extras = xcalloc(e->n_columns + 1, sizeof(*extras));
	struct drift_table table = {
		.extras = extras,
		.n_extras = exists ? existing_extras(e, target, extras) : 0,
		.exists = exists,
		.known = e->known,
		.created = e->created,
	};

	out->n = n;
	out->columns = xcalloc(n + 1, sizeof(*out->columns));
	out->steps = xcalloc(n + 1, sizeof(*out->steps));
	out->grown = xcalloc(n + 1, sizeof(*out->grown));
	existing_fit(out, e, target->schema, exists, types);
	table.columns = out->columns;
	drift_decide(target, &table, out->steps, found);
	free(extras);
}

void existing_drift_release(struct existing_drift *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->grown[i]);
	free(d->columns);
	free(d->steps);
	free(d->grown);
	memset(d, 0, sizeof(*d));
}
