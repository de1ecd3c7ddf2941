#include "core/sync/parts/difference.h"

const char *difference_name(enum difference kind)
{
	static const char *const names[DIFFERENCE_KINDS] = {
		[DIFFERENCE_MISSING] = "missing",
		[DIFFERENCE_EXTRA] = "extra",
		[DIFFERENCE_DIFFERENT] = "different",
	};

	return names[kind];
}

int64_t differences_sum(const struct differences *d)
{
	int64_t sum = 0;

	for (int kind = 0; kind < DIFFERENCE_KINDS; kind++)
		sum += d->of[kind];
	return sum;
}
