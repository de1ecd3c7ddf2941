/*
 * How a mark column writes its dates. SQLite has no type for them: they are
 * texts, put in order and compared as such, so that an index serves. That is
 * the order of time only as long as all are written alike:
 *
 *   2024-01-31                       a day
 *   2024-01-31 12:00:00[.123456]     CURRENT_TIMESTAMP, datetime(), ...
 *   2024-01-31T12:00:00.123Z         with Z the fraction has to be of one
 *                                    length: "00Z" sorts behind "00.5Z"
 *   2024-01-31 12:00:00[.5]+00:00    what Tidemark and Python write
 *
 * and infinity, -infinity. The notation is that of the greatest value there
 * is. A row written otherwise is a DATA error that names it: those that sort
 * above the mark are found when they are read, those that sort below it though
 * they are later (numbers; "2024-01-31 13" below "2024-01-31T09") are looked
 * for before each pass, by the index. (A text that is no date and lies among
 * them, such as '1999x', is only seen when it is read.) A mark's value in a
 * watermark is the text as it is stored, so that nothing is lost on the way.
 */
#ifndef TIDEMARK_CONNECTORS_SQLITE_NOTATION_H
#define TIDEMARK_CONNECTORS_SQLITE_NOTATION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/strbuf.h"
#include "core/data/type.h"

struct notation {
	char separator; /* ' ' or 'T'; 0: days alone */
	char zone[8]; /* "", "Z", "+00:00", ... */
	int digits; /* of the fraction, where it has to be of one length; -1 */
	int64_t zone_us; /* east of UTC */
};

/* That of a text; false if it is none of the above. The two infinities are
 * told by notation_is_endless alone. */
bool notation_of(const char *text, struct notation *out);
bool notation_is_endless(const char *text);
/* Of a column without values. */
void notation_default(enum type_kind kind, struct notation *out);
/* Is this text written so? */
bool notation_fits(const struct notation *n, const char *text);
/* Instants, or somebody's wall clock? */
bool notation_is_instant(const struct notation *n);
/* Append µs (UTC; without a zone: of the wall clock) in this notation, cut to
 * its digits. */
void notation_print(struct strbuf *sb, const struct notation *n, int64_t us);
/* The value of a text that fits, in the same µs. */
bool notation_parse(const char *text, int64_t *out_us);
/* Append a mark's value, which may have been set by hand in another form. */
void notation_convert(struct strbuf *sb, const struct notation *n,
		      const char *text);

#endif
