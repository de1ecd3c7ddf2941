/*
 * How the rows of one key may differ between the two sides of a comparison, and
 * how many keys of each kind were found.
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_DIFFERENCE_H
#define TIDEMARK_CORE_SYNC_PARTS_DIFFERENCE_H

#include <stdint.h>

enum difference {
	DIFFERENCE_MISSING, /* the destination has fewer rows of the key */
	DIFFERENCE_EXTRA, /* it has more of them: one too many is one more */
	DIFFERENCE_DIFFERENT, /* as many, with other values */
	DIFFERENCE_KINDS
};

/* "missing", "extra" or "different": in JSON and in tables. */
const char *difference_name(enum difference kind);

struct differences {
	int64_t of[DIFFERENCE_KINDS];
	int64_t unsettled; /* keys that differ, and are excused */
};

/* Without those that are excused. */
int64_t differences_sum(const struct differences *d);

#endif
