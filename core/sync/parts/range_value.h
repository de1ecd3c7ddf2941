/*
 * Values of the mark column as people write them, such as --from and --to of a
 * backfill. A value that only the source can judge is let through.
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_RANGE_VALUE_H
#define TIDEMARK_CORE_SYNC_PARTS_RANGE_VALUE_H

#include "core/plugin/connector.h"

enum range_kind {
	RANGE_TIME, /* dates and timestamps */
	RANGE_NUMBER, /* whole numbers */
	RANGE_TEXT, /* by bytes */
	RANGE_OTHER /* the source's business */
};

enum range_kind range_value_kind(const struct watermark_spec *mark,
				 const struct schema *schema);
/* A copy of `text`; NULL for NULL. CONFIG naming `flag` and column. */
int range_value_read(enum range_kind kind, const char *column, const char *flag,
		     const char *text, char **out, struct error *err);
/* A time that was read: put into the words of the source's marks, which hold
 * `type`, for not every server takes all that people write. `*text` NULL stays,
 * and becomes so where it is before all that there is. `short_years`: its
 * calendar has the years 1 to 9999. CONFIG. */
int range_value_time(enum type_kind type, bool short_years, const char *column,
		     const char *flag, char **text, struct error *err);
/* <0, 0, >0; 0 where only the source knows. */
int range_value_compare(enum range_kind kind, const char *a, const char *b);

#endif
