#include "core/sync/verify/whole_row.h"

static void verify_row_tally(void *ctx, enum compare_side side,
			     const struct batch *b, size_t row,
			     const struct compare_hash *key,
			     const struct compare_hash *all)
{
	const struct verify_tallied *to = ctx;

	(void)b;
	(void)row;
	if (!to->part || verify_part_has(to->part, key))
		tally_add(to->tally, side, key, all);
}

static void verify_row_soon(void *ctx, enum compare_side side,
			    const struct compare_hash *key)
{
	const struct verify_tallied *to = ctx;

	tally_prefetch(to->tally, side, key);
}

struct verify_look verify_tallying(const struct compare *compare,
				   struct verify_tallied *to)
{
	return (struct verify_look){ .compare = compare,
				     .row = verify_row_tally,
				     .soon = verify_row_soon,
				     .ctx = to };
}
