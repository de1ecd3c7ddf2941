/*
 * The mark of a pass that is under way. It says how far the pass has come, and
 * holds the current row's mark where the mark column is not delivered. For
 * every connector that pages by (mark, key).
 */
#ifndef TIDEMARK_CONNECTORS_COMMON_RUNNING_MARK_H
#define TIDEMARK_CONNECTORS_COMMON_RUNNING_MARK_H

#include "core/plugin/connector.h"

struct running_mark {
	struct watermark at;
	struct vector hidden; /* one row; without validity: none is hidden */
	size_t n_columns; /* delivered; this one and beyond is `hidden` */
};

/* Where `scan` begins; nothing is hidden. Release first. */
void running_mark_begin(struct running_mark *m, const struct scan *scan);
/* The mark column, of this kind, is read but not delivered. */
void running_mark_hide(struct running_mark *m, enum type_kind kind);
void running_mark_release(struct running_mark *m);
/* Text of a column of row `row`, or of the hidden mark. Caller frees. */
char *running_mark_text(const struct running_mark *m, const struct batch *b,
			size_t row, size_t column);
/* Value (of column `mark`) and key become those of row `row`. */
void running_mark_advance(struct running_mark *m, const struct batch *b,
			  size_t row, size_t mark);
/* Note rows of a batch that do not move the value. They are in the order of
 * their marks (column `mark`, -1: none), so the last one may be the highest
 * delivered. */
void running_mark_ahead(struct running_mark *m, const struct batch *b,
			long mark);
/* The batch's watermark becomes this one. */
void running_mark_hand_over(const struct running_mark *m, struct batch *b);

#endif
