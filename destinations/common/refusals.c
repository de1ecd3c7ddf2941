#include "destinations/common/refusals.h"

#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "core/data/value.h"
#include "destinations/common/names.h"

static void target_refuse(const struct target *target, const char *code,
			  const char *fix, const char *what,
			  struct problems *out)
{
	problems_add(out, SEVERITY_ERROR, ERROR_SCHEMA, code, fix,
		     "table %s: %s", target->table, what);
}

void target_refuse_not_ours(const struct target *target, struct problems *out)
{
	char *command = target_refresh_command(target);
	char *fix = xstrfmt("%s replaces it; or name another destination table",
			    command);

	problems_add(out, SEVERITY_ERROR, ERROR_SCHEMA, "not-ours", fix,
		     "table %s: Tidemark did not create it, so it is not "
		     "replaced",
		     target->table);
	free(fix);
	free(command);
}

void target_warn_unique(const struct target *target, struct problems *out)
{
	problems_add(out, SEVERITY_WARNING, ERROR_NONE, "other-unique-index",
		     "drop that index unless the target needs it; with "
		     "on_bad_row: dead_letter a run goes on past a row that "
		     "it refuses",
		     "table %s: it has another unique index; rows that "
		     "exchange values of it at the source may be refused for "
		     "a while",
		     target->table);
}

void target_refuse_emptied(const struct target *target, int64_t rows,
			   struct problems *out)
{
	const char *p = target->call ? target->call : target->pipeline;
	char *fix;

	if (target->overwrite)
		return;
	fix = xstrfmt("tidemark %s --full-refresh %s, tidemark verify "
		      "--repair %s, or tidemark "
		      "watermark reset %s, brings all rows again; if it "
		      "is meant to be empty, tidemark watermark set %s "
		      "MARK goes on from the mark that tidemark "
		      "watermark show %s prints",
		      target->run ? target->run : "run", p, p, p, p, p);
	problems_add(out, SEVERITY_ERROR, ERROR_SCHEMA, "target-emptied", fix,
		     "table %s: it is empty, but %" PRId64 " rows were "
		     "delivered to it: somebody has emptied it, and by the "
		     "mark of %s they would never come again",
		     target->table, rows, target->pipeline);
	free(fix);
}

void target_refuse_not_a_table(const struct target *target,
			       struct problems *out)
{
	target_refuse(target, "not-a-table", "name another destination table",
		      "it is a view or another object that is not a table",
		      out);
}

void target_refuse_not_a_view(const struct target *target, struct problems *out)
{
	target_refuse(target, "not-a-view",
		      "rename the table, or name another destination",
		      "rows are kept in a table with _raw behind its name, and "
		      "this name is needed for the view over it",
		      out);
}

void target_refuse_view_of_others(const struct target *target,
				  struct problems *out)
{
	target_refuse(target, "view-exists", "drop or rename the view",
		      "this name is needed for a view over the table with _raw "
		      "behind its name, and a view of somebody else's has it",
		      out);
}

void target_refuse_folding(const struct target *target, const char *column,
			   const char *fix, struct problems *out)
{
	problems_add(out, SEVERITY_ERROR, ERROR_SCHEMA, "key-folds", fix,
		     "table %s: the collation of key column %s takes "
		     "different texts for equal, so two keys of the source "
		     "could be one row there",
		     target->table, column);
}

int target_refuse_cut(const struct target *target, int64_t n, int64_t found,
		      struct error *err)
{
	char *command = target_refresh_command(target);
	int rc =
		error_set(err, ERROR_SCHEMA,
			  "table %s: the last %" PRId64 " rows are to be "
			  "loaded again, for the run that loaded them did not "
			  "come to its end, and %" PRId64 " of them are there: "
			  "somebody has changed the table" ERROR_FIX
			  "; %s builds it anew",
			  target->table, n, found, command);

	free(command);
	return rc;
}

bool target_refuse_keyless(const struct target *target, struct problems *out)
{
	if (target->schema->n_key)
		return false;
	target_refuse(target, "no-key", "name the key's columns under key",
		      target->mode == LOAD_REPLACE ||
				      target->mode == LOAD_APPEND
			      ? "rows without a key cannot be loaded there: "
				"when a batch is sent again, nothing tells "
				"which of its rows have come"
			      : "rows cannot be told apart without a key",
		      out);
	return true;
}

bool target_lacks_key(const struct target *target, struct problems *out)
{
	if (target->schema->n_key)
		return false;
	return (target->mode == LOAD_REPLACE && target->refresh) ||
	       target->mode == LOAD_APPEND ||
	       target_refuse_keyless(target, out);
}

static void target_refuse_name(const struct target *target, const char *title,
			       size_t column, struct problems *out)
{
	const struct column *columns = target->schema->columns;

	for (size_t i = 0; i < column; i++)
		if (!strcasecmp(columns[column].name, columns[i].name))
			problems_add(out, SEVERITY_ERROR, ERROR_SCHEMA,
				     "names-collide",
				     "leave one out under source.exclude, or "
				     "give it another name under "
				     "source.rename or source.expressions",
				     "table %s: columns %s and %s are one "
				     "name to %s",
				     target->table, columns[i].name,
				     columns[column].name, title);
}

void target_refuse_names(const struct target *target, const char *title,
			 struct problems *out)
{
	for (size_t i = 0; i < target->schema->n_columns; i++)
		target_refuse_name(target, title, i, out);
}

void target_refuse_reserved(const struct target *target, struct problems *out)
{
	for (size_t i = 0; i < target->schema->n_columns; i++)
		if (name_is_own(target->schema->columns[i].name))
			target_refuse(target, "reserved-name",
				      "leave the column out under "
				      "source.columns",
				      "names that begin with _tidemark_ are "
				      "taken in a raw table",
				      out);
}

int target_refuse_null(const struct target *target, const struct batch *b,
		       size_t column, struct error *err)
{
	struct strbuf key = STRBUF_INIT;
	size_t row = 0;

	while (row + 1 < b->n_rows && !vector_is_null(&b->vectors[column], row))
		row++;
	value_print_key(&key, b, row);
	error_set(err, ERROR_DATA,
		  "table %s: column %s is NOT NULL there, and NULL in row %s",
		  target->table, b->schema->columns[column].name, key.data);
	strbuf_release(&key);
	return -ERROR_DATA;
}

int target_refuse_altered(const struct target *target, const char *what,
			  struct error *err)
{
	error_clear(err);
	return error_set(err, ERROR_TRANSIENT,
			 "pipeline %s: table %s was altered while the run "
			 "loaded it: %s. Nothing of this batch was written; "
			 "the run looks at the table anew",
			 target->pipeline, target->table, what);
}

int target_refuse_open(struct error *err)
{
	error_clear(err);
	return error_set(err, ERROR_CONFIG,
			 "the statement leaves a transaction open, which was "
			 "rolled back" ERROR_FIX
			 ": write no BEGIN; each statement is committed by "
			 "itself");
}
