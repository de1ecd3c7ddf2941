/*
 * Triggers at the target that may move the mark's column there. A row that
 * looks newer at the target is left as it is, so the next change of the source
 * would stay away. No engine says what a trigger does: it is told by the
 * column's name in its text.
 */
#ifndef TIDEMARK_DESTINATIONS_COMMON_MARK_MOVED_H
#define TIDEMARK_DESTINATIONS_COMMON_MARK_MOVED_H

#include "core/plugin/destination.h"

/* The mark's column if moving it there matters in this mode; else NULL. */
const char *mark_moved_column(const struct target *target);
/* `what`: "trigger stamp", or another that moves it. */
void mark_moved_report(const struct target *target, const char *what,
		       struct problems *out);

#endif
