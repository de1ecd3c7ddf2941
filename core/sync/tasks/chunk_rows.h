/*
 * A chunk is compared by the rows that it has read for its load, and the range
 * is not read a second time. They are hashed as they are loaded, in the form in
 * which both sides are compared. The form depends on the columns of both. So
 * the worker keeps it, from its first chunk on. It holds if the chunk's own
 * comparison finds the same.
 */
#ifndef TIDEMARK_CORE_SYNC_TASKS_CHUNK_ROWS_H
#define TIDEMARK_CORE_SYNC_TASKS_CHUNK_ROWS_H

#include "core/sync/verify/pass.h"

/* How the rows of a pipeline were compared last. All zero: not yet. */
struct chunk_form {
	const struct pipeline_settings *p; /* not owned; NULL: not yet */
	struct compare compare;
	struct schema source;
};

void chunk_form_release(struct chunk_form *f);
/* Both are copied. */
void chunk_form_keep(struct chunk_form *f, const struct pipeline_settings *p,
		     const struct compare *compare,
		     const struct schema *source);

/* All zero: there are none. */
struct chunk_rows {
	const struct chunk_form *form; /* NULL: none are kept */
	struct roster roster;
	struct pass_known known;
	struct digest_rows slots;
};

void chunk_rows_release(struct chunk_rows *x);
/* A try begins with rows of `schema`; those of an earlier one are forgotten.
 * `all`: with the first row of the range. `form` outlives the rows. */
void chunk_rows_begin(struct chunk_rows *x, const struct chunk_form *form,
		      const struct pipeline_settings *p,
		      const struct schema *schema, bool all);
/* The rows of `b` were read, and loaded. */
void chunk_rows_add(struct chunk_rows *x, const struct batch *b);
/* `pass` is about to clear rows that are compared like this: it begins with
 * these, if they were hashed in the same form. */
void chunk_rows_give(struct chunk_rows *x, const struct compare *compare,
		     struct pass *pass);

#endif
