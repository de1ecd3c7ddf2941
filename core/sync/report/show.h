/*
 * The rows of a pipeline as a run would load them: with the target's names,
 * expressions computed, `where` applied. It reads the source alone. No state,
 * no mark and no lease is touched.
 *
 * Rows come in the order of the key, or with `since` of the mark and the key. A
 * table without a key has no order.
 */
#ifndef TIDEMARK_CORE_SYNC_REPORT_SHOW_H
#define TIDEMARK_CORE_SYNC_REPORT_SHOW_H

#include "core/settings/settings.h"

struct show_options {
	int64_t limit; /* at most so many rows; 0: all */
	const char *since; /* rows whose mark is this or more; NULL: all */
	/* Called once before all rows, then with each batch. It returns false
	 * when nobody wants more. */
	bool (*begin)(void *ctx, const struct schema *schema);
	bool (*rows)(void *ctx, const struct batch *b);
	void *ctx;
};

/* CONFIG: `since` is no value of the mark, or there is none. STOPPED after a
 * signal. */
int show_rows(const struct pipeline_settings *p, const struct show_options *o,
	      struct error *err);

#endif
