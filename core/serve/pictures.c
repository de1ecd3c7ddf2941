#include "core/serve/pictures.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/json_text.h"

struct picture {
	int64_t rows, failed;
	int64_t *loads; /* µs */
	size_t batches, room;
	int64_t caught_up; /* the newest begin that has; 0: none */
};

int64_t pictures_since(int64_t now_us)
{
	int64_t last = now_us - now_us % PICTURES_STEP_US;

	return last - (PICTURES_STEPS - 1) * PICTURES_STEP_US;
}

/* The step of a time; what lies before the first counts for the first. */
static size_t pictures_step(int64_t since, int64_t at)
{
	int64_t step = (at - since) / PICTURES_STEP_US;

	if (step < 0)
		return 0;
	return step < PICTURES_STEPS ? (size_t)step : PICTURES_STEPS - 1;
}

static void pictures_sort(struct picture *steps, const struct series *series,
			  int64_t since)
{
	for (size_t i = 0; i < series->n_attempts; i++) {
		const struct series_attempt *a = &series->attempts[i];
		int64_t end = a->ended_at ? a->ended_at : a->started_at;
		struct picture *p = &steps[pictures_step(since, end)];

		p->failed += a->failed;
		if (a->caught_up && a->started_at > p->caught_up)
			p->caught_up = a->started_at;
	}
	for (size_t i = 0; i < series->n_batches; i++) {
		const struct series_batch *b = &series->batches[i];
		struct picture *p = &steps[pictures_step(since, b->at)];

		p->loads = xgrow(p->loads, &p->room, p->batches + 1,
				 sizeof(*p->loads));
		p->loads[p->batches++] = b->load_us;
		p->rows += b->rows;
	}
}

static int pictures_compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The value that so many of a hundred are not above; sorted. */
static json_t *pictures_quantile(const struct picture *p, size_t percent)
{
	size_t at = (p->batches * percent + 99) / 100;

	if (!p->batches)
		return json_null();
	return json_real((double)p->loads[at ? at - 1 : 0] /
			 (double)US_PER_SECOND);
}

static json_t *pictures_seconds(int64_t us)
{
	return json_real((double)us / (double)US_PER_SECOND);
}

static json_t *pictures_point(struct picture *p, int64_t at, int64_t length,
			      int64_t caught_up)
{
	if (p->batches)
		qsort(p->loads, p->batches, sizeof(*p->loads),
		      pictures_compare);
	return json_pack("{s:o, s:o, s:I, s:o, s:I, s:o, s:o, s:I}", "at",
			 json_text_time(at), "lag_seconds",
			 caught_up ? pictures_seconds(at + length - caught_up)
				   : json_null(),
			 "rows", (json_int_t)p->rows, "rows_per_second",
			 json_real((double)p->rows * (double)US_PER_SECOND /
				   (double)length),
			 "batches", (json_int_t)p->batches, "batch_p50",
			 pictures_quantile(p, 50), "batch_p99",
			 pictures_quantile(p, 99), "failed",
			 (json_int_t)p->failed);
}

json_t *pictures_json(const struct series *series, int64_t now_us)
{
	struct picture *steps = xcalloc(PICTURES_STEPS, sizeof(*steps));
	int64_t since = pictures_since(now_us), caught_up = 0;
	json_t *points = json_array();

	pictures_sort(steps, series, since);
	for (size_t i = 0; i < PICTURES_STEPS; i++) {
		int64_t at = since + (int64_t)i * PICTURES_STEP_US;
		int64_t length = now_us - at < PICTURES_STEP_US
					 ? now_us - at + 1
					 : PICTURES_STEP_US;

		if (steps[i].caught_up > caught_up)
			caught_up = steps[i].caught_up;
		json_array_append_new(
			points,
			pictures_point(&steps[i], at, length, caught_up));
		free(steps[i].loads);
	}
	free(steps);
	return json_pack("{s:i, s:o, s:o}", "step_seconds",
			 (int)(PICTURES_STEP_US / US_PER_SECOND), "from",
			 json_text_time(since), "points", points);
}
