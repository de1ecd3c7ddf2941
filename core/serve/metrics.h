/*
 * Metrics as text, in the form of OpenMetrics 1.0 or of Prometheus 0.0.4, which
 * differ in a few lines
 * (https://prometheus.io/docs/specs/om/open_metrics_spec). `pipeline` is the
 * only label that all have; no table, key or value is in it.
 */
#ifndef TIDEMARK_CORE_SERVE_METRICS_H
#define TIDEMARK_CORE_SERVE_METRICS_H

#include "core/base/strbuf.h"
#include "core/serve/board.h"

enum metrics_form { METRICS_PROMETHEUS, METRICS_OPEN };

/* The Content-Type of each. */
const char *metrics_type(enum metrics_form form);
/* As board_look() gives it; its `store_error` NULL: nothing is said of that. */
void metrics_write(struct strbuf *out, enum metrics_form form,
		   const struct board_view *view);

#endif
