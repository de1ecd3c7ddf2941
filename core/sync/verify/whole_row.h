/*
 * What a look at whole tables does with each row of either side: counts it and
 * sums it up in the tally.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_WHOLE_ROW_H
#define TIDEMARK_CORE_SYNC_VERIFY_WHOLE_ROW_H

#include "core/sync/verify/part.h"
#include "core/sync/verify/reading.h"
#include "core/sync/verify/tally.h"

struct verify_tallied {
	struct tally *tally;
	const struct verify_part *part; /* rows of it alone; NULL: all */
};

/* `to` outlives the look. */
struct verify_look verify_tallying(const struct compare *compare,
				   struct verify_tallied *to);

#endif
