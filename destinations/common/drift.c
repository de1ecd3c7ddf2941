#include "destinations/common/drift.h"

#include <stdlib.h>

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
				     const struct drift_table *table,
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
	if (table->columns[column].mapping == MAPPING_LOSSY) {
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
				    size_t column, struct inspection *out)
{
	const struct drift_column *d = &table->columns[column];
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
				     size_t column, struct inspection *out)
{
	const struct drift_column *d = &table->columns[column];
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
	return drift_narrow(target, table, column, out);
}

static void drift_extras(const struct target *target,
			 const struct drift_table *table,
			 struct inspection *out)
{
	for (size_t i = 0; i < table->n_extras; i++) {
		const struct drift_extra *x = &table->extras[i];

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
}

void drift_decide(const struct target *target, const struct drift_table *table,
		  enum drift_step *steps, struct inspection *out)
{
	const struct schema *s = target->schema;

	for (size_t i = 0; i < s->n_columns; i++) {
		const struct drift_column *d = &table->columns[i];

		drift_note_column(out, &s->columns[i], d);
		steps[i] = STEP_NONE;
		if (table->exists && d->actual)
			steps[i] = drift_present(target, table, i, out);
		else if (table->exists)
			steps[i] = drift_missing(target, table, i, out);
		else if (d->mapping == MAPPING_LOSSY)
			drift_refuse(out, "type-lossy",
				     "leave the column out or convert it under "
				     "source.expressions",
				     target, s->columns[i].name,
				     "has no type there that holds all its "
				     "values");
	}
	if (table->exists)
		drift_extras(target, table, out);
	else if (target->mode == LOAD_UPDATE)
		problems_add(&out->problems, SEVERITY_ERROR, ERROR_SCHEMA,
			     "no-table",
			     "create it, or load it with another "
			     "mode first",
			     "table %s: it is not there, and mode update only "
			     "changes rows that are",
			     target->table);
	if (target->mode == LOAD_UPDATE && !target_writes_some(target))
		problems_add(&out->problems, SEVERITY_ERROR, ERROR_CONFIG,
			     "no-columns", "name some under source.columns",
			     "table %s: there is no column to write, for the "
			     "key and the mark's are only compared",
			     target->table);
}
