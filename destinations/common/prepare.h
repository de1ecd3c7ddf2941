/*
 * The steps that make a target ready, behind a plan that says that there is
 * something to write. They run in one hold and in one order, whatever the
 * engine.
 */
#ifndef TIDEMARK_DESTINATIONS_COMMON_PREPARE_H
#define TIDEMARK_DESTINATIONS_COMMON_PREPARE_H

#include "destinations/common/plan.h"

/* An engine brings these. */
struct prepare_engine {
	/* Begin: no other writer changes the table or the pipeline's row until
	 * let_go. Plan again, for another may have been quicker. */
	int (*hold)(struct plan *plan, struct error *err);
	/* One statement of the plan's. */
	int (*run)(struct plan *plan, const char *sql, struct error *err);
	/* The number of statements before the pipeline's row. Where each
	 * commits by itself, they only make the table of the marks. The mark
	 * is forgotten before a column is added, for it would seem to cover
	 * that column. The row says that a table is Tidemark's before that
	 * is made. */
	size_t (*before_row)(const struct plan *plan);
	/* Behind those: remember what the table is like by now. */
	int (*made)(struct plan *plan, struct error *err);
	/* The pipeline's row, anew if it is `due`. */
	int (*row)(struct plan *plan, bool due, struct error *err);
	/* For a writer with a fence; and for a refresh. */
	int (*claim)(struct plan *plan, struct error *err);
	int (*take_over)(struct plan *plan, struct error *err);
	/* End, well if `rc` is 0. The code of all. */
	int (*let_go)(struct destination *d, int rc, struct error *err);
};

int prepare_write(struct plan *plan, const struct prepare_engine *engine,
		  struct error *err);
/* For `run`: `sql` has failed with `rc`, and what does not pass is a matter of
 * the table. */
int prepare_blame(int rc, const char *sql, struct error *err);

#endif
