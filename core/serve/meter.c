#include "core/serve/meter.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/data/value.h"

const double meter_batch_bounds[METER_BUCKETS] = { 0.01, 0.05, 0.1, 0.25, 0.5,
						   1,	 2.5,  5,   10,	  30 };
const double meter_run_bounds[METER_BUCKETS] = { 0.05, 0.1, 0.5, 1,    5,
						 30,   60,  300, 1800, 7200 };

static void meter_observe(struct meter_histogram *h, const double *bounds,
			  int64_t us)
{
	double seconds = (double)us / (double)US_PER_SECOND;
	size_t i = 0;

	while (i < METER_BUCKETS && seconds > bounds[i])
		i++;
	h->counts[i]++;
	h->sum += seconds;
}

static struct run_counts meter_counts(const struct run_result *r)
{
	return (struct run_counts){ r->batches,		  r->rows_read,
				    r->rows_inserted,	  r->rows_updated,
				    r->rows_unchanged,	  r->rows_deleted,
				    r->rows_dead_lettered };
}

/* A batch that was told of is not untold. */
static void meter_add(int64_t *sum, int64_t *seen, int64_t now)
{
	if (now <= *seen)
		return;
	*sum += now - *seen;
	*seen = now;
}

void meter_follow(struct meter *m, const struct run_result *so_far)
{
	struct run_counts now = meter_counts(so_far);

	for (int64_t i = m->seen.batches; i < now.batches; i++)
		meter_observe(&m->batch_seconds, meter_batch_bounds,
			      so_far->last_batch_us);
	meter_add(&m->sum.batches, &m->seen.batches, now.batches);
	meter_add(&m->sum.rows_read, &m->seen.rows_read, now.rows_read);
	meter_add(&m->sum.rows_inserted, &m->seen.rows_inserted,
		  now.rows_inserted);
	meter_add(&m->sum.rows_updated, &m->seen.rows_updated,
		  now.rows_updated);
	meter_add(&m->sum.rows_unchanged, &m->seen.rows_unchanged,
		  now.rows_unchanged);
	meter_add(&m->sum.rows_deleted, &m->seen.rows_deleted,
		  now.rows_deleted);
	meter_add(&m->sum.rows_dead_lettered, &m->seen.rows_dead_lettered,
		  now.rows_dead_lettered);
	meter_add(&m->bytes, &m->seen_bytes, so_far->bytes_read);
}

/* Since when the source holds the mark back, by the holder's own word. */
static int64_t meter_holder(const struct run_result *r)
{
	const char *since =
		json_string_value(json_object_get(r->held_by, "since"));
	int64_t us;

	return since && value_parse_instant(since, &us) ? us : 0;
}

void meter_end(struct meter *m, const struct run_result *r)
{
	meter_follow(m, r);
	memset(&m->seen, 0, sizeof(m->seen));
	m->seen_bytes = 0;
	m->runs[r->outcome]++;
	if (r->outcome == OUTCOME_FAILED)
		m->failures[r->error.code]++;
	for (size_t i = 0; i < ERROR_CODES; i++)
		m->retries[i] += r->retries[i];
	/* Another's run is another's to count. */
	if (r->outcome == OUTCOME_BUSY || !r->started_us)
		return;
	meter_observe(&m->run_seconds, meter_run_bounds, r->elapsed_us);
	free(m->attempt_id);
	m->attempt_id = r->attempt_id ? xstrdup(r->attempt_id) : NULL;
	m->holder_us = meter_holder(r);
	if (!r->verified.done)
		return;
	m->verified = true;
	m->verified_us = clock_now_us();
	m->differences = differences_sum(&r->verified.found);
}

void meter_newest(struct meter *m, const char *attempt_id)
{
	if (m->attempt_id && !strcmp(m->attempt_id, attempt_id))
		return;
	m->holder_us = 0;
	m->verified = false;
}

void meter_release(struct meter *m)
{
	free(m->attempt_id);
	memset(m, 0, sizeof(*m));
}
