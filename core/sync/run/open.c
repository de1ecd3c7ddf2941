#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/engine.h"
#include "core/base/pool.h"
#include "core/plugin/registry.h"
#include "core/sync/gate/gate.h"
#include "core/sync/parts/about.h"
#include "core/sync/parts/ends.h"
#include "core/sync/parts/foresight.h"
#include "core/sync/parts/opening.h"
#include "core/sync/parts/reach.h"
#include "core/sync/parts/stamp.h"
#include "core/sync/run/in_place.h"
#include "core/sync/run/keyless.h"
#include "core/sync/run/pre_check.h"
#include "core/sync/run/run.h"

/* With source and destination in one table, a row that still has the mark it
 * was read with is taken for unchanged. A mark may stay the same within its
 * second, or day. So this is safe once that time is over, unless the writer may
 * write any mark. */
static bool run_holds_tail(const struct run *r)
{
	const struct type *mark = &r->schema.columns[r->schema.mark].type;

	return mark->kind == TYPE_DATE || mark->digits < 6 ||
	       engine_has(r->p->source->url.engine, ENGINE_LOOSE_MARKS);
}

/* One table has one name for a column. */
static int run_check_in_place_names(const struct run *r, struct error *err)
{
	for (size_t i = 0; i < r->schema.n_columns; i++) {
		const struct column *c = &r->schema.columns[i];

		if (c->source)
			return error_set(
				err, ERROR_CONFIG,
				"pipeline %s: source and destination are the "
				"same table, and column \"%s\" would be "
				"written as \"%s\": leave out source.rename "
				"and source.casing, or name the other column "
				"under source.expressions",
				r->p->name, c->source, c->name);
	}
	return 0;
}

static int run_find_in_place(struct run *r, struct error *err)
{
	int rc;

	if (r->p->mode != LOAD_UPDATE)
		return 0;
	rc = in_place_find(r->p, r->identity, &r->target.in_place, err);
	if (!rc && r->target.in_place)
		rc = run_check_in_place_names(r, err);
	if (!rc && r->target.in_place && r->schema.mark >= 0 &&
	    run_holds_tail(r))
		r->mark.tail = TAIL_HOLD;
	return rc;
}

/* A session was opened, or `why` not: for others that wait for it. */
static void run_tell_reach(struct run *r, const struct connection *c,
			   const struct error *why)
{
	struct reach *reach = r->options->reach;

	if (!why->code) {
		reach_opened(reach, c);
		return;
	}
	*r->refused = *r->refused ? *r->refused : c;
	if (!pool_is_full(why))
		reach_refused(reach, c, r->out, why);
}

static int run_check_reach(struct run *r, const struct connection *c,
			   struct error *err)
{
	int rc = reach_check(r->options->reach, c, err);

	if (rc)
		*r->refused = c;
	return rc;
}

/* Ask about those that begin next with ours. */
static int run_foresee_source(struct run *r, struct error *err)
{
	struct foresight *f = r->options->foresight;
	const struct pipeline_settings *next[FORESIGHT_MOST];
	struct source_spec sources[FORESIGHT_MOST];
	struct watermark_spec *marks;
	struct source_wish wishes[FORESIGHT_MOST];
	size_t n = 0;
	int rc;

	if (r->source->ops->foresee)
		n = foresight_take(f, FORESIGHT_SOURCE, r->p, next);
	if (!n)
		return 0;
	marks = xcalloc(n, sizeof(*marks));
	for (size_t i = 0; i < n; i++) {
		settings_source_spec(next[i], &sources[i]);
		settings_watermark_spec(next[i], &marks[i]);
		wishes[i].source = &sources[i];
		wishes[i].mark =
			next[i]->strategy == STRATEGY_NONE ? NULL : &marks[i];
	}
	rc = r->source->ops->foresee(r->source, wishes, n, err);
	foresight_told(f, FORESIGHT_SOURCE, next, n);
	free(marks);
	return rc;
}

static int run_open_source(struct run *r, struct error *err)
{
	int rc = 0;

	r->source = ends_take_source(r->p->ends);
	if (!r->source) {
		rc = registry_open_connector(r->p->source, &r->source, err);
		run_tell_reach(r, r->p->source, err);
	}
	if (rc)
		return rc;
	stopper_start(&r->stopper, r->source);
	rc = pre_check_ask(r, err);
	if (rc || pre_check_waits(r))
		return rc;
	rc = run_foresee_source(r, err);
	if (!rc)
		rc = r->task->ops->describe(r, err);
	if (!rc)
		rc = r->source->ops->identity(r->source, &r->spec, &r->identity,
					      err);
	if (rc)
		about_table(err, r->p->source_table);
	if (!rc)
		rc = run_keyless_check(r, err);
	if (!rc)
		rc = run_find_in_place(r, err);
	if (!rc)
		rc = stamp_schema(r->p, &r->schema, &r->written, err);
	r->target.schema = &r->written;
	return rc;
}

int run_open(struct run *r, struct error *err)
{
	const struct error none = ERROR_INIT;
	struct error ignored = ERROR_INIT;
	struct opening opening;
	int rc = run_check_reach(r, r->p->source, err), opened = 0;

	if (!rc)
		rc = run_check_reach(r, r->p->destination, err);
	if (rc)
		return rc;
	r->destination = ends_take_destination(r->p->ends);
	if (r->destination)
		rc = run_open_source(r, err);
	else {
		opening_begin(&opening, r->p, &r->to);
		rc = run_open_source(r, err);
		opened = opening_end(&opening, &r->destination,
				     rc ? &ignored : err);
		run_tell_reach(r, r->p->destination,
			       r->destination ? &none
			       : rc	      ? &ignored
					      : err);
	}
	rc = rc ? rc : opened;
	stopper_add(&r->stopper, r->destination);
	if (pre_check_waits(r))
		return rc;
	if (!rc)
		rc = gate_open(&r->gate, r->p, &r->schema, err);
	if (!rc)
		adapt_init(&r->adapt, (size_t)r->p->batch_rows,
			   r->destination->ops->batch_rows,
			   r->p->batch_target_us);
	return rc;
}
