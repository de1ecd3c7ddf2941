/*
 * Columns that the source has no longer (dropped, renamed or left out under
 * source.columns) and that the destination keeps, with old values. The mark
 * remembers them, so that a run tells of each once, while `check` and `verify`
 * name them as long as the destination has them.
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_KEPT_H
#define TIDEMARK_CORE_SYNC_PARTS_KEPT_H

#include "core/data/watermark.h"
#include "core/plugin/problem.h"
#include "core/settings/settings.h"

/* Add to `gone` the columns that the stored mark `seen` has and the source `s`
 * does not have. Log those that no run has told before. Names that `gone` has
 * already stay: a mark that prepare has cleared knows nothing of them. */
void kept_note(const struct pipeline_settings *p, const struct watermark *seen,
	       const struct schema *s, struct strlist *gone);
/* Append the kept columns that are among the destination's columns `there`. */
void kept_find(const struct watermark *seen, const struct schema *s,
	       const struct strlist *there, struct strlist *out);
/* The same, as what `check` says. */
void kept_inspect(const struct pipeline_settings *p,
		  const struct watermark *seen, const struct schema *s,
		  const struct strlist *there, struct problems *out);

#endif
