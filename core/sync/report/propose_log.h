/* A cheaper way for a table without a key than to copy it whole: mode append.
 * It is right for a log, whose rows neither change nor go. Nothing but the user
 * tells whether it is one. */
#ifndef TIDEMARK_CORE_SYNC_REPORT_PROPOSE_LOG_H
#define TIDEMARK_CORE_SYNC_REPORT_PROPOSE_LOG_H

#include "core/plugin/connector.h"

/* The advice, in a sentence, if such a run would be exact by a column of the
 * table; NULL: none. Caller frees. `schema`: without a mark; `strategy` and
 * `column`: the source's suggestion. */
char *propose_log(struct connector *source, const struct source_spec *spec,
		  const struct schema *schema, enum strategy strategy,
		  const char *column);

#endif
