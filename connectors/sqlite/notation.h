/*
 * The notation in which a mark column writes its dates. SQLite has no type for
 * dates. They are texts, and are ordered and compared as texts, so that an
 * index serves. This order is the order of time only as long as all are written
 * alike:
 *
 *   2024-01-31                       a day
 *   2024-01-31 12:00:00[.123456]     CURRENT_TIMESTAMP, datetime(), ...
 *   2024-01-31T12:00:00.123Z         with Z the fraction has to be of one
 *                                    length: "00Z" sorts behind "00.5Z"
 *   2024-01-31 12:00:00[.5]+00:00    as Tidemark and Python write
 *
 * and infinity, -infinity. The notation is that of the greatest value in the
 * column. A row in another notation is a DATA error that names it. A run finds
 * it when it reads the row, if the row sorts above the mark. Some rows sort
 * below the mark though they are later: numbers, and "2024-01-31 13", which
 * sorts below "2024-01-31T09". The index is searched for these before each
 * pass. A text among them that is no date, such as '1999x', is only seen when
 * it is read. A mark's value in a watermark is the text as it is stored, so
 * that nothing is lost on the way.
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
	int digits; /* fraction's length, if it has to be fixed; -1 */
	int64_t zone_us; /* east of UTC */
};

/* The notation of a text; false if it is none of the above. Only
 * sqlite_source_notation_is_endless() knows the two infinities. */
bool sqlite_source_notation_of(const char *text, struct notation *out);
bool sqlite_source_notation_is_endless(const char *text);
/* The notation for a column without values. */
void sqlite_source_notation_default(enum type_kind kind, struct notation *out);
/* Is this text written so? */
bool sqlite_source_notation_fits(const struct notation *n, const char *text);
/* Instants, or somebody's wall clock? */
bool sqlite_source_notation_is_instant(const struct notation *n);
/* Append µs (UTC; without a zone: of the wall clock) in this notation, cut to
 * its digits. */
void sqlite_source_notation_print(struct strbuf *sb, const struct notation *n,
				  int64_t us);
/* The value of a text that fits, in the same µs. */
bool sqlite_source_notation_parse(const char *text, int64_t *out_us);
/* Append a mark's value, which may have been set by hand in another form. */
void sqlite_source_notation_convert(struct strbuf *sb, const struct notation *n,
				    const char *text);

#endif
