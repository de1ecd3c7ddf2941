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

void existing_drift(struct drift *out, const struct existing *e,
		    const struct target *target, bool exists,
		    const struct drift_types *types, struct inspection *found)
{
	struct table_column *columns =
		xcalloc(e->n_columns + 1, sizeof(*columns));
	const struct drift_table table = {
		.columns = columns,
		.n_columns = e->n_columns,
		.exists = exists,
		.known = e->known,
		.created = e->created,
		.case_blind = true,
	};

	for (size_t i = 0; i < e->n_columns; i++)
		columns[i] = (struct table_column){
			.name = e->columns[i].name,
			.type = e->columns[i].type,
			.not_null = e->columns[i].not_null,
			.has_default = e->columns[i].has_default,
			.ours = existing_is_ours(target, e->columns[i].name),
		};
	drift_make(out, &table, target, types, found);
	free(columns);
}
