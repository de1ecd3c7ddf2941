/*
 * Earlier runs, as the state store remembers them (`runs list`, `runs show`).
 */
#ifndef TIDEMARK_CORE_SYNC_LEDGER_HISTORY_H
#define TIDEMARK_CORE_SYNC_LEDGER_HISTORY_H

#include <jansson.h>

#include "core/settings/settings.h"
#include "core/store/history.h"
#include "core/store/hooks.h"

/* At most so many attempts of a run are looked up, the newest. */
#define HISTORY_ATTEMPTS 100

struct history_run {
	struct run_record run;
	struct attempt_list attempts; /* newest first */
	struct batch_list batches; /* only when shown */
	struct hook_list hooks; /* the same */
	bool shown;
};
struct history {
	struct history_run *runs; /* newest first */
	size_t n;
};

/* The newest `limit` runs of each of the pipelines, or of all (n == 0). To be
 * released in any case. */
int history_list(struct history *out, const struct settings *s,
		 const struct pipeline_settings *const *pipelines, size_t n,
		 int64_t limit, struct error *err);
/* One run with its batches; the first characters of its id are enough. CONFIG
 * if there is none, or several begin so. */
int history_show(struct history *out, const struct settings *s,
		 const char *run_id, struct error *err);
void history_release(struct history *h);
/* New reference. */
json_t *history_run_json(const struct history_run *r);

/* CONFIG: there is no such run. */
int history_no_run(const char *run_id, struct error *err);

#endif
