/*
 * How values of our types live in SQLite. It has five kinds of value of its
 * own, and a column's declared type only nudges them (its affinity). Whole
 * numbers are INTEGER, floats REAL, bytes BLOB. All else is TEXT in the form of
 * core/data/value.h. An instant has "+00:00" behind it, which SQLite's own date
 * functions read.
 */
#ifndef TIDEMARK_DESTINATIONS_SQLITE_TYPES_H
#define TIDEMARK_DESTINATIONS_SQLITE_TYPES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/data/type.h"
#include "core/plugin/destination.h"
#include "destinations/common/drift.h"

/* Declared type of a new column, and how well it holds the source's. */
const char *sqlite_target_type_declared(enum type_kind kind);
enum mapping sqlite_target_type_mapping(enum type_kind kind);
/* Does a column declared as `declared` hold every value as it is? FIT_GROWS:
 * sqlite_target_type_declared() does, and all that the column has now. */
enum fit sqlite_target_type_fit(enum type_kind kind, const char *declared,
				bool strict);

/* How versions (values of the mark column) are compared. */
enum version_order {
	VERSION_NONE, /* there is no mark column */
	VERSION_VALUE, /* by SQLite itself: numbers stored as such */
	VERSION_INSTANT, /* dates and timestamps as text, in any notation */
	VERSION_NUMBER, /* numbers as text */
	VERSION_TEXT /* by bytes */
};
/* `declared`: of the mark column in the target. */
enum version_order sqlite_target_type_version(enum type_kind kind,
					      const char *declared);
/* Can a version be read? One that cannot compares as equal. */
bool sqlite_target_version_is_readable(enum version_order order,
				       const char *text);
/* Is version a as new as b, or newer? NULL is older than any. */
bool sqlite_target_version_is_current(enum version_order order, const char *a,
				      size_t n_a, const char *b, size_t n_b);

#endif
