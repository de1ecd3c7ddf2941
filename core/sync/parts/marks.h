/*
 * The mark of a pipeline as people see and change it (`watermark show`, `set`
 * and `reset`, `status`). The destination's own row is the truth; the state
 * store mirrors it.
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_MARKS_H
#define TIDEMARK_CORE_SYNC_PARTS_MARKS_H

#include "core/plugin/store.h"
#include "core/settings/settings.h"

struct mark {
	char *watermark; /* JSON text, or NULL: no mark */
	const char *from; /* "destination" or "state" */
	/* Why it is not the destination's own; code 0 if it is. */
	struct error unreachable;
};

void mark_init(struct mark *m);
void mark_release(struct mark *m);

/* Where the mark is, as destination_ops.recover takes it. */
void marks_target(const struct pipeline_settings *p, struct target *target);
/* The mark at the destination. */
int marks_get_destination(const struct pipeline_settings *p, struct mark *out,
			  struct error *err);
/* The destination's mark; if it cannot be asked, the mirror in the store of
 * `s`, with the reason in `unreachable`. An error only if neither answers. */
int marks_get(const struct settings *s, const struct pipeline_settings *p,
	      struct mark *out, struct error *err);

/* The mark that `text` stands for, as canonical JSON text: what `watermark
 * show` prints, with or without --json. `*out` is NULL for a null mark; caller
 * frees. CONFIG error on anything that is not a mark of this pipeline's
 * strategy and column. */
int marks_parse(const struct pipeline_settings *p, const char *text, char **out,
		struct error *err);

/* Before marks_put(). The number of rows behind a mark ("open") is true of the
 * one that stands at the destination. Another one loses it: then the next run
 * builds the table anew. */
int marks_drop_open(const struct pipeline_settings *p, char **mark,
		    struct error *err);

/* Write the mark at the destination, then its mirror. NULL clears it: the next
 * run reads everything again. */
int marks_put(const struct settings *s, const struct pipeline_settings *p,
	      const char *watermark, struct error *err);

#endif
