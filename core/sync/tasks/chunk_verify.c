#include "core/sync/tasks/chunk_verify.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/data/digest.h"
#include "core/sync/parts/range.h"
#include "core/sync/run/try.h"
#include "core/sync/verify/clear.h"

/* Rows of the source, and of the same keys at the destination. */
struct chunk_comparison {
	struct run_context *c;
	struct driver_terms terms;
	struct driver driver; /* its mark is the pipeline's, from before */
	struct pass pass;
	bool begun, marked;
	char *column; /* for pass.mark */
	struct watermark none; /* a pass begins with the range */
	int64_t rows;
	struct differences found;
};

static void comparison_tell(const struct verify_progress *so_far, void *ctx)
{
	const struct chunk_comparison *v = ctx;

	(void)so_far;
	run_pace_look(&v->c->pacing);
}

static bool comparison_wants(void *ctx, const struct batch *b, size_t row,
			     bool *delivered)
{
	(void)ctx;
	(void)b;
	(void)row;
	*delivered = false;
	return true;
}

static bool comparison_goes_on(void *ctx, const struct batch *b)
{
	(void)ctx;
	return b->n_rows > 0;
}

static void comparison_row_cut(void *ctx, enum compare_side side,
			       const struct batch *b, size_t row,
			       const struct compare_hash *key,
			       const struct compare_hash *all)
{
	struct chunk_comparison *v = ctx;
	struct suspect *x = suspects_find(&v->driver.suspects, key);
	const struct digest one = { all->low, all->high, 1 };

	(void)b;
	(void)row;
	if (!x || !x->cut)
		return;
	suspect_count(x, side, all);
	digest_add(&v->pass.there, &one);
}

/* No look-up finds a row by a key with a NUL. Unless all of the destination
 * shows that such rows are equal, they are refused: a second look would take
 * them for rows that are gone. */
static int comparison_judge_cut(struct chunk_comparison *v, struct error *err)
{
	struct driver *d = &v->driver;
	const struct verify_look look = { .compare = &d->compare,
					  .row = comparison_row_cut,
					  .ctx = v };
	int rc = suspects_refuse_cut(&d->suspects, err);

	if (!rc)
		return 0;
	error_clear(err);
	rc = verify_read_whole(&d->sides[COMPARE_DESTINATION], &look, err);
	if (rc)
		return rc;
	suspects_sieve(&d->suspects);
	return suspects_refuse_cut(&d->suspects, err);
}

static int comparison_open(struct chunk_comparison *v, struct error *err)
{
	struct pass *pass = &v->pass;
	int rc = pass_open(pass, v->c->p, err);

	free(v->column);
	v->column = NULL;
	v->driver.sides[COMPARE_SOURCE].pace = v->c->pacing.pace;
	if (!rc)
		rc = range_describe(pass->connector, v->c->p, &pass->spec,
				    &pass->mark, &v->column, &pass->schema,
				    err);
	v->none.strategy = pass->mark.strategy;
	return rc ? rc : driver_match(&v->driver, &pass->schema, err);
}

/* Connections that were interrupted in the midst of a statement are not used
 * again. */
static int comparison_begin(struct chunk_comparison *v, bool *more,
			    struct error *err)
{
	struct driver *d = &v->driver;
	bool all = false;
	int rc = pass_clear(&v->pass, d, &all, err);

	v->begun = true;
	*more = !all;
	if (rc || all)
		return rc;
	pass_close(&v->pass);
	driver_close(d);
	rc = comparison_open(v, err);
	return rc ? rc : pass_begin(&v->pass, d, err);
}

static int comparison_suspect(struct driver *d, bool *more, struct error *err)
{
	struct chunk_comparison *v = d->ctx;
	int rc = v->begun ? 0 : comparison_begin(v, more, err);

	if (!rc && *more)
		rc = pass_suspect(&v->pass, d, more, err);
	return rc ? rc : comparison_judge_cut(v, err);
}

/* Past the pipeline's mark the next run brings the newest version, even if that
 * carries an older mark than the delivered one. */
static int comparison_excuse(struct driver *d, struct error *err)
{
	const struct chunk_comparison *v = d->ctx;

	return v->marked ? verify_mark_past(&d->sides[COMPARE_SOURCE], &d->mark,
					    &d->compare, &d->suspects, err)
			 : 0;
}

static void comparison_judged(struct driver *d, const struct suspect *x)
{
	(void)d;
	(void)x;
}

static void comparison_init(struct chunk_comparison *v,
			    const struct range *range)
{
	v->terms = (struct driver_terms){ .suspect = comparison_suspect,
					  .excuse = comparison_excuse,
					  .judged = comparison_judged,
					  .letters = v->c->store };
	v->driver = (struct driver){
		.p = v->c->p, .terms = &v->terms, .ctx = v, .found = &v->found
	};
	driver_init(&v->driver);
	v->driver.progress.tell = comparison_tell;
	v->driver.progress.ctx = v;
	v->pass = (struct pass){ .wants = comparison_wants,
				 .goes_on = comparison_goes_on,
				 .scan = { .from = &v->none, .range = range },
				 .rows = &v->rows };
	pass_init(&v->pass);
}

static void comparison_release(struct chunk_comparison *v)
{
	pass_release(&v->pass);
	driver_release(&v->driver);
	free(v->column);
}

void chunk_learn_form(struct run_context *c, const struct range *range,
		      struct chunk_form *form)
{
	struct chunk_comparison v = { .c = c };
	struct error err = ERROR_INIT;

	if (form->p == c->p)
		return;
	comparison_init(&v, range);
	if (comparison_open(&v, &err))
		log_debug("how rows are compared is not known yet: %s",
			  err.message);
	else
		chunk_form_keep(form, c->p, &v.driver.compare, &v.pass.schema);
	comparison_release(&v);
}

int chunk_verify(struct run_context *c, const struct range *range,
		 struct chunk_rows *rows, struct chunk_form *form,
		 char **checksum, struct error *err)
{
	struct chunk_comparison v = { .c = c };
	char text[DIGEST_TEXT_SIZE];
	int64_t different;
	int rc;

	comparison_init(&v, range);
	rc = verify_find_mark(c->p, &v.driver.mark, &v.marked, err);
	if (!rc)
		rc = comparison_open(&v, err);
	if (!rc)
		chunk_rows_give(rows, &v.driver.compare, &v.pass);
	if (!rc && form)
		chunk_form_keep(form, c->p, &v.driver.compare, &v.pass.schema);
	if (!rc)
		rc = driver_run(&v.driver, err);
	different = differences_sum(&v.found);
	if (!rc && different)
		rc = error_set(err, ERROR_DIFFERENT,
			       "%" PRId64 " rows of the chunk are not at the "
			       "destination as the source has them, although "
			       "they were just loaded (changed there by hand, "
			       "or with a later mark?); tidemark verify %s "
			       "names them",
			       different, settings_call(c->p));
	digest_text(&v.pass.there, text);
	free(*checksum);
	*checksum = rc ? NULL : xstrdup(text);
	comparison_release(&v);
	return rc;
}
