/* The last day of a pipeline in steps, for pictures. */
#ifndef TIDEMARK_CORE_SERVE_PICTURES_H
#define TIDEMARK_CORE_SERVE_PICTURES_H

#include <jansson.h>

#include "core/store/series.h"

#define PICTURES_STEP_US (300 * INT64_C(1000000))
#define PICTURES_STEPS	 288

/* {"step_seconds","from","points":[{"at","lag_seconds","rows",
 * "rows_per_second","batches","batch_p50","batch_p99","failed"}]}: a point for
 * each step up to `now_us`, by its begin. The lag at its end is the time since
 * the begin of the last run that had caught up by then. New reference. */
json_t *pictures_json(const struct series *series, int64_t now_us);
/* The begin of the first step. */
int64_t pictures_since(int64_t now_us);

#endif
