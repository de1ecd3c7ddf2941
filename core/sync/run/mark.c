#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/sync/parts/about.h"
#include "core/sync/parts/kept.h"
#include "core/sync/parts/shape.h"
#include "core/sync/run/run.h"

static int run_refuse_other_mark(struct run *r, const struct watermark *seen,
				 struct error *err)
{
	const char *column = r->p->mark_column ? r->p->mark_column : "";

	return error_set(
		err, ERROR_SCHEMA,
		"the stored mark of %s belongs to strategy %s, column "
		"\"%s\", but the config says %s, column \"%s\". " ERROR_FIX
		"To read everything again under the new one: tidemark "
		"watermark reset %s, or tidemark %s --full-refresh %s",
		r->p->name, strategy_name(seen->strategy),
		seen->column ? seen->column : "", strategy_name(r->p->strategy),
		column, settings_call(r->p), settings_run(r->p),
		settings_call(r->p));
}

/* A column that the mark's rows were delivered without: all are read again. */
static int run_check_columns(struct run *r, struct watermark *seen,
			     struct error *err)
{
	char *column = watermark_new_column(seen, &r->schema);
	int rc = 0;

	if (column && r->p->drift.on_new_column == DRIFT_STOP)
		rc = error_set(err, ERROR_SCHEMA,
			       "table %s: column \"%s\" is new at the source, "
			       "or was dropped or left out for a while, and "
			       "on_new_column is stop" ERROR_FIX
			       "; set schema: { on_new_column: add }, or: "
			       "tidemark %s --full-refresh %s",
			       r->p->source_table, column, settings_run(r->p),
			       settings_call(r->p));
	else if (column && !r->again)
		log_info("column \"%s\" of %s is new, or was dropped or left "
			 "out for a while: every row is read again",
			 column, r->p->source_table);
	if (column && !rc) {
		r->again = true;
		watermark_forget(seen);
	}
	free(column);
	return rc;
}

/* Rows up to the mark were read under other settings, or of other types. The
 * mark of a chunk is its own: what its pipeline's says was asked before. */
static int run_check_shape(struct run *r, struct watermark *seen,
			   const json_t *shape, struct error *err)
{
	struct strbuf what = STRBUF_INIT;
	bool again;
	int rc;

	json_decref(r->shape);
	r->shape = shape_of(r->p, &r->schema);
	again = shape_follow(r->shape, shape, &what);
	rc = task_has(r->task, TASK_OWN_LEASE)
		     ? 0
		     : shape_check(r->p, r->shape, shape, err);
	if (!rc && again && !r->again)
		log_info("%s changed since the mark of %s was taken: every row "
			 "of %s is read again",
			 what.data, r->p->name, r->p->source_table);
	if (!rc && again) {
		r->again = true;
		watermark_forget(seen);
	}
	strbuf_release(&what);
	return rc;
}

/* Is the stored mark this pipeline's, of this very source? */
int run_check_mark(struct run *r, const char *text, struct error *err)
{
	struct watermark seen;
	const char *column = r->mark.column ? r->mark.column : "";
	json_t *shape;
	int rc;

	watermark_init(&seen);
	rc = watermark_from_text(&seen, text, err);
	if (rc) {
		error_prefix(err, "stored mark of %s", r->p->name);
	} else if (seen.strategy != r->mark.strategy ||
		   strcmp(seen.column ? seen.column : "", column) != 0) {
		rc = run_refuse_other_mark(r, &seen, err);
	} else if (seen.identity) {
		rc = watermark_check_identity(&seen, r->identity,
					      settings_run(r->p),
					      settings_call(r->p), err);
	}
	if (rc)
		about_table(err, r->p->source_table);
	/* A new column may make it a mark of nothing. */
	shape = json_incref(seen.shape);
	if (!rc)
		kept_note(r->p, &seen, &r->schema, &r->gone);
	if (!rc)
		rc = shape_check_key(r->p, &r->schema, shape, err);
	if (!rc)
		rc = run_check_columns(r, &seen, err);
	if (!rc)
		rc = run_check_shape(r, &seen, shape, err);
	json_decref(shape);
	if (!rc) {
		watermark_release(&r->from);
		watermark_copy(&r->from, &seen);
	}
	watermark_release(&seen);
	return rc;
}
