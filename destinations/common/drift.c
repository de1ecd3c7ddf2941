#include "destinations/common/drift.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "destinations/common/names.h"

static void drift_refuse(struct inspection *out, const char *code,
			 const char *fix, const struct target *target,
			 const char *column, const char *what)
{
	problems_add(&out->problems, SEVERITY_ERROR, ERROR_SCHEMA, code, fix,
		     "table %s: column %s %s", target->table, column, what);
}

static void drift_note_column(struct inspection *out, const struct column *c,
			      const struct drift_column *d)
{
	struct column_mapping *m;
	enum mapping mapping = d->mapping;

	out->columns = xreallocarray(out->columns, out->n_columns + 1,
				     sizeof(*out->columns));
	m = &out->columns[out->n_columns++];
	if (d->actual && d->fit == FIT_NARROW)
		mapping = MAPPING_LOSSY;
	else if (d->actual && d->fit == FIT_WIDER)
		mapping = MAPPING_WIDENED;
	m->name = xstrdup(c->name);
	m->destination_type = xstrdup(d->actual ? d->actual : d->wanted);
	m->mapping = mapping;
	if (d->actual && d->fit == FIT_GROWS) {
		free(m->destination_type);
		m->destination_type = xstrdup(d->grown);
	}
}

static enum drift_step drift_missing(const struct target *target,
				     const struct drift_column *d,
				     size_t column, struct inspection *out)
{
	const char *name = target->schema->columns[column].name;

	/* No row is read again for it, and the source has not changed. */
	if (column >= schema_compared(target->schema))
		return STEP_ADD;
	if (schema_is_key(target->schema, column)) {
		drift_refuse(
			out, "key-column-missing",
			"add it, or choose another key", target, name,
			"is part of the key, and the table does not have it");
		return STEP_REFUSED;
	}
	if (target->drift.on_new_column == DRIFT_STOP) {
		drift_refuse(out, "new-column",
			     "add it to the table, or set schema: "
			     "{ on_new_column: add }",
			     target, name,
			     "is missing there, and on_new_column is stop");
		return STEP_REFUSED;
	}
	if (d->mapping == MAPPING_LOSSY) {
		drift_refuse(out, "type-lossy",
			     "leave the column out or convert it under "
			     "source.expressions",
			     target, name,
			     "has no type there that holds all its values");
		return STEP_REFUSED;
	}
	strlist_add(&out->added, name);
	return STEP_ADD;
}

static enum drift_step drift_narrow(const struct target *target,
				    const struct drift_table *table,
				    const struct drift_column *d, size_t column,
				    struct inspection *out)
{
	const char *name = target->schema->columns[column].name;
	/* In mode update the table is others', and so are its types. */
	bool may_widen = target->drift.on_type_change == DRIFT_WIDEN &&
			 target->mode != LOAD_UPDATE;
	char *what = NULL, *fix = NULL, *command;

	if (d->fit == FIT_GROWS && may_widen && table->known)
		return STEP_WIDEN;
	if (d->fit == FIT_GROWS && target->mode == LOAD_UPDATE &&
	    target->schema->columns[column].expression) {
		fix = xstrfmt("alter the column to %s, or let the expression "
			      "end in a cast to what it is there",
			      d->wanted);
		problems_add(&out->problems, SEVERITY_WARNING, ERROR_NONE,
			     "expression-wider", fix,
			     "table %s: column %s is %s there, and its "
			     "expression may give any %s: a value that does "
			     "not fit is refused",
			     target->table, name, d->actual, d->wanted);
		free(fix);
		return STEP_NONE;
	}
	what = xstrfmt("is %s there and cannot hold every %s%s", d->actual,
		       d->wanted,
		       d->fit == FIT_GROWS && table->known
			       ? ", and on_type_change is stop"
			       : "");
	command = target_refresh_command(target);
	if (d->fit == FIT_GROWS)
		fix = xstrfmt("alter the column to %s", d->grown);
	else
		fix = xstrfmt("change the column's type, or convert it under "
			      "source.expressions; %s makes the table anew",
			      command);
	free(command);
	drift_refuse(out, "type-too-narrow", fix, target, name, what);
	free(what);
	free(fix);
	return STEP_REFUSED;
}

static enum drift_step drift_present(const struct target *target,
				     const struct drift_table *table,
				     const struct drift_column *d,
				     size_t column, struct inspection *out)
{
	const struct column *c = &target->schema->columns[column];

	if (d->generated) {
		drift_refuse(out, "column-generated",
			     "leave it out under source.columns", target,
			     c->name,
			     "is computed there and cannot be written");
		return STEP_REFUSED;
	}
	if (d->not_null && c->nullable &&
	    !schema_is_key(target->schema, column))
		problems_add(&out->problems, SEVERITY_WARNING, ERROR_NONE,
			     "column-not-null",
			     "allow NULL there, or forbid it at the source",
			     "table %s: column %s is NOT NULL there but may be "
			     "NULL at the source: such a row is refused",
			     target->table, c->name);
	if (d->fit == FIT_EXACT || d->fit == FIT_WIDER)
		return STEP_NONE;
	return drift_narrow(target, table, d, column, out);
}

static bool drift_is_of_source(const struct drift_table *table,
			       const struct schema *s, const char *name)
{
	return table->case_blind ? schema_find_folded(s, name) >= 0
				 : schema_find(s, name) >= 0;
}

/* A column of the table that the source does not have. */
static void drift_extra(const struct target *target,
			const struct drift_table *table,
			const struct table_column *x, struct inspection *out)
{
	strlist_add(&out->extra, x->name);
	if (x->not_null && !x->has_default && !x->generated &&
	    target->mode != LOAD_UPDATE)
		drift_refuse(out, "column-without-default",
			     "give it a default, or allow NULL", target,
			     x->name,
			     "is NOT NULL without a default, and the "
			     "source does not have it");
	else if (table->created &&
		 target->drift.on_dropped_column == DRIFT_STOP)
		drift_refuse(out, "dropped-column",
			     "drop it there too, or set schema: "
			     "{ on_dropped_column: keep }",
			     target, x->name,
			     "is gone at the source, and "
			     "on_dropped_column is stop");
}

static enum drift_step drift_step(const struct target *target,
				  const struct drift_table *table,
				  const struct drift_column *d, size_t column,
				  struct inspection *out)
{
	if (table->exists && d->actual)
		return drift_present(target, table, d, column, out);
	if (table->exists)
		return drift_missing(target, d, column, out);
	if (d->mapping == MAPPING_LOSSY)
		drift_refuse(out, "type-lossy",
			     "leave the column out or convert it under "
			     "source.expressions",
			     target, target->schema->columns[column].name,
			     "has no type there that holds all its values");
	return STEP_NONE;
}

/* Mode update makes no table, and needs something to write. */
static void drift_check_update(const struct target *target, bool exists,
			       struct inspection *out)
{
	if (target->mode != LOAD_UPDATE)
		return;
	if (!exists)
		problems_add(&out->problems, SEVERITY_ERROR, ERROR_SCHEMA,
			     "no-table",
			     "create it, or load it with another "
			     "mode first",
			     "table %s: it is not there, and mode update only "
			     "changes rows that are",
			     target->table);
	if (!target_writes_some(target))
		problems_add(&out->problems, SEVERITY_ERROR, ERROR_CONFIG,
			     "no-columns", "name some under source.columns",
			     "table %s: there is no column to write, for the "
			     "key and the mark's are only compared",
			     target->table);
}

const struct table_column *drift_find(const struct drift_table *table,
				      const char *name)
{
	for (size_t i = 0; table->exists && i < table->n_columns; i++) {
		const char *there = table->columns[i].name;

		if (!(table->case_blind ? strcasecmp(there, name)
					: strcmp(there, name)))
			return &table->columns[i];
	}
	return NULL;
}

static void drift_fit(struct drift_column *out, char **grown,
		      const struct drift_table *table,
		      const struct target *target,
		      const struct drift_types *types, size_t column)
{
	const struct table_column *there =
		drift_find(table, target->schema->columns[column].name);

	if (there) {
		out->actual = there->type;
		out->not_null = there->not_null;
		out->generated = there->generated;
	}
	types->fit(types->context, column, out, grown);
	/* A refresh fills a new table: any type can become any other. */
	if (there && out->fit == FIT_NARROW && target->refresh) {
		out->fit = FIT_GROWS;
		free(*grown);
		*grown = xstrdup(out->wanted);
	}
	out->grown = *grown;
}

void drift_make(struct drift *out, const struct drift_table *table,
		const struct target *target, const struct drift_types *types,
		struct inspection *found)
{
	const struct schema *s = target->schema;

	out->n = s->n_columns;
	out->columns = xcalloc(out->n + 1, sizeof(*out->columns));
	out->steps = xcalloc(out->n + 1, sizeof(*out->steps));
	out->grown = xcalloc(out->n + 1, sizeof(*out->grown));
	for (size_t i = 0; i < out->n; i++) {
		struct drift_column *d = &out->columns[i];

		drift_fit(d, &out->grown[i], table, target, types, i);
		drift_note_column(found, &s->columns[i], d);
		out->steps[i] = drift_step(target, table, d, i, found);
	}
	for (size_t i = 0; table->exists && i < table->n_columns; i++)
		if (!table->columns[i].ours &&
		    !drift_is_of_source(table, s, table->columns[i].name))
			drift_extra(target, table, &table->columns[i], found);
	drift_check_update(target, table->exists, found);
}

bool drift_has(const struct drift *d, enum drift_step step)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->steps[i] == step)
			return true;
	return false;
}

void drift_release(struct drift *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->grown[i]);
	free(d->columns);
	free(d->steps);
	free(d->grown);
	memset(d, 0, sizeof(*d));
}
