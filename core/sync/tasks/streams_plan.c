#include "core/sync/tasks/streams_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/engine.h"
#include "core/data/value.h"
#include "core/plugin/registry.h"
#include "core/sync/ledger/ledger.h"
#include "core/sync/parts/range.h"

/* With `streams: auto`: smaller tables are loaded before it pays. */
#define STREAMS_LEAST_ROWS 1000000
#define STREAMS_AUTO_MOST  4
/* Each range costs some sessions. */
#define STREAMS_RANGE_ROWS  200000
#define STREAMS_RANGE_LEAST 1000
/* For each stream. */
#define STREAMS_RANGES_LEAST 2
#define STREAMS_RANGES_MOST  64

void streams_config(const struct pipeline_settings *p,
		    char out[STREAMS_CONFIG_SIZE])
{
	char id[DIGEST_TEXT_SIZE];

	ledger_run_id(p, "streams", id);
	snprintf(out, STREAMS_CONFIG_SIZE, STREAMS_CONFIG "%s", id);
}

static enum type_kind streams_kind(const struct run *r)
{
	return r->schema.mark < 0 ? TYPE_NATIVE
				  : r->schema.columns[r->schema.mark].type.kind;
}

static bool streams_is_number(enum type_kind kind)
{
	return kind == TYPE_INT16 || kind == TYPE_INT32 || kind == TYPE_INT64;
}

static bool streams_is_time(enum type_kind kind)
{
	return kind == TYPE_DATE || kind == TYPE_TIMESTAMP ||
	       kind == TYPE_TIMESTAMPTZ;
}

/* A mark as a number: its value, µs or days. False: it has none, or none
 * beside it. */
static bool streams_number(enum type_kind kind, const char *text, int64_t *out)
{
	char *end;

	if (streams_is_time(kind)) {
		if (!value_parse_instant(text, out) || *out == INT64_MIN ||
		    *out == INT64_MAX)
			return false;
		if (kind == TYPE_DATE)
			*out = *out / US_PER_DAY - (*out % US_PER_DAY < 0);
	} else {
		errno = 0;
		*out = strtoll(text, &end, 10);
		if (errno || end == text || *end)
			return false;
	}
	return *out > INT64_MIN / 2 && *out < INT64_MAX / 2;
}

static char *streams_text(enum type_kind kind, int64_t number)
{
	struct strbuf sb = STRBUF_INIT;

	if (kind == TYPE_DATE)
		value_print_date(&sb, (int32_t)number);
	else if (streams_is_time(kind))
		value_print_timestamp(&sb, number, kind == TYPE_TIMESTAMPTZ);
	else
		strbuf_addf(&sb, "%" PRId64, number);
	return strbuf_detach(&sb);
}

/* A run that is bounded, or whose rows are counted first, goes in one line. */
static const char *streams_why_run(const struct run *r)
{
	const struct pipeline_settings *p = r->p;

	if (r->target.refresh)
		return "the table that a refresh fills aside has one writer";
	if (r->options->max_batches || r->options->max_us)
		return "the run is bounded";
	if (!r->store || !r->options->lease.state)
		return "there is no state store";
	if (p->mode != LOAD_UPSERT && p->mode != LOAD_DELETE_INSERT)
		return "its mode is neither upsert nor delete_insert";
	if (p->gate.min_rows || p->gate.max_rows)
		return "its gate counts rows";
	return NULL;
}

/* Ranges of the key have no rows without one, and where there is a key each row
 * has it. */
static bool streams_has_key(const struct schema *s)
{
	return s->n_key && !s->columns[s->key[0]].nullable;
}

static const char *streams_why_table(const struct run *r)
{
	enum type_kind kind = streams_kind(r);

	if (engine_has(r->p->destination->url.engine, ENGINE_ONE_WRITER) &&
	    !engine_has(r->p->destination->url.engine, ENGINE_TURNS))
		return "its destination has one writer";
	if (r->p->strategy != STRATEGY_XMIN &&
	    ((!streams_is_number(kind) && !streams_is_time(kind)) ||
	     engine_has(r->p->source->url.engine, ENGINE_LOOSE_MARKS)))
		return "its mark cannot be cut into ranges";
	if (r->p->strategy == STRATEGY_XMIN && !streams_has_key(&r->schema))
		return "the first column of its key may be NULL";
	if (r->p->nulls == NULLS_INCLUDE)
		return "rows without a mark belong to it";
	return NULL;
}

static size_t streams_auto(const struct run *r)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (r->schema.row_estimate < STREAMS_LEAST_ROWS || cores < 4)
		return 1;
	return cores / 2 < STREAMS_AUTO_MOST ? (size_t)cores / 2
					     : STREAMS_AUTO_MOST;
}

size_t streams_count(const struct run *r, const char **why)
{
	int64_t asked = r->p->streams;

	*why = NULL;
	if (r->from.value || asked == 1)
		return 1;
	*why = r->p->hooks.before.n ? "load.before comes in front of its "
				      "first row"
				    : streams_why_run(r);
	if (!*why && r->p->query)
		*why = "a query is run once";
	if (!*why)
		*why = streams_why_table(r);
	if (*why)
		return 1;
	return asked ? (size_t)asked : streams_auto(r);
}

/* Twice as many ranges as streams, or more of a size that is soon done again,
 * but not too many. */
static int64_t streams_rows(const struct run *r, size_t n)
{
	int64_t all = r->schema.row_estimate, streams = (int64_t)n;
	int64_t most = all / (streams * STREAMS_RANGES_MOST);
	int64_t rows = all > 0 ? all / (streams * STREAMS_RANGES_LEAST)
			       : STREAMS_RANGE_ROWS;

	if (most < STREAMS_RANGE_ROWS)
		most = STREAMS_RANGE_ROWS;
	if (rows > most)
		rows = most;
	return rows > STREAMS_RANGE_LEAST ? rows : STREAMS_RANGE_LEAST;
}

void streams_plan_init(struct streams_plan *plan, const struct run *r, size_t n)
{
	memset(plan, 0, sizeof(*plan));
	plan->r = r;
	plan->rows = streams_rows(r, n);
	plan->by_key = r->p->strategy == STRATEGY_XMIN;
	plan->kind = streams_kind(r);
	schema_init(&plan->schema);
}

void streams_plan_release(struct streams_plan *plan)
{
	if (plan->source)
		plan->source->ops->close(plan->source);
	schema_release(&plan->schema);
	free(plan->column);
	free(plan->settled);
	free(plan->from);
	free(plan->end);
	memset(plan, 0, sizeof(*plan));
}

bool streams_plan_aim(struct streams_plan *plan, const char *settled,
		      const struct chunk *last)
{
	int64_t number = 0;

	if (!settled ||
	    (!plan->by_key && !streams_number(plan->kind, settled, &number)))
		return false;
	plan->settled = xstrdup(settled);
	/* A range ends before its last value, and the settled one is in. */
	if (!plan->by_key)
		plan->end = streams_text(plan->kind, number + 1);
	if (last) {
		plan->n = last->number;
		plan->from = xstrdup(last->range_to);
		plan->whole = !plan->from ||
			      (plan->end && !strcmp(plan->from, plan->end));
	}
	return true;
}

static int plan_open(struct streams_plan *plan, struct error *err)
{
	const struct pipeline_settings *p = plan->r->p;
	int rc = registry_open_connector(p->source, &plan->source, err);

	plan->spec = plan->r->spec;
	if (!rc)
		rc = range_describe(plan->source, p, &plan->spec, &plan->mark,
				    &plan->column, &plan->schema, err);
	return rc ? rc
		  : range_settle(plan->source, &plan->spec, &plan->mark,
				 &plan->schema, err);
}

static void plan_add(struct streams_plan *plan, const char *id, const char *to,
		     int64_t rows, struct chunk_list *out)
{
	char config[STREAMS_CONFIG_SIZE];
	struct chunk *c;

	streams_config(plan->r->p, config);
	out->items = xgrow(out->items, &out->capacity, out->n + 1,
			   sizeof(*out->items));
	c = &out->items[out->n++];
	memset(c, 0, sizeof(*c));
	c->number = ++plan->n;
	c->chunk_id =
		xstrfmt("%s/%s/%" PRId64, plan->r->p->name, id, c->number);
	c->backfill_id = xstrdup(id);
	c->pipeline = xstrdup(plan->r->p->name);
	c->config = xstrdup(config);
	c->column = xstrdup(plan->column ? plan->column : plan->r->mark.column);
	c->window_to = xstrdup(plan->settled);
	c->range_from = xstrdup(plan->from);
	c->range_to = xstrdup(to);
	c->rows = rows;
	c->state = xstrdup(CHUNK_QUEUED);
	c->holder = xstrdup("");
	c->queued_at = clock_now_us();
}

int streams_plan_next(struct streams_plan *plan, const char *id,
		      struct chunk_list *out, struct error *err)
{
	const struct range rest = { plan->from, plan->end, false };
	struct range_cut cut = { NULL, 0 };
	int rc = plan->source || plan->whole ? 0 : plan_open(plan, err);

	if (rc || plan->whole)
		return rc;
	rc = plan->source->ops->cut(plan->source, &plan->spec, &plan->mark,
				    &rest, plan->rows, &cut, err);
	if (rc)
		return rc;
	plan->whole = !cut.end;
	plan_add(plan, id, cut.end ? cut.end : plan->end, cut.rows, out);
	free(plan->from);
	plan->from = cut.end;
	return 0;
}
