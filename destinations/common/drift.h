/*
 * What an existing table's columns mean for a source's: which are added or
 * widened, what is refused, and why. An engine says how each source column
 * fits (its own type rules); the policy, the problems and their wording are
 * decided here, the same for every engine. Writes nothing.
 */
#ifndef TIDEMARK_DESTINATIONS_COMMON_DRIFT_H
#define TIDEMARK_DESTINATIONS_COMMON_DRIFT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/plugin/destination.h"

enum fit {
	FIT_EXACT, /* the type that a new column would get */
	FIT_WIDER, /* another type that holds every value */
	FIT_GROWS, /* too narrow, but can be altered to `grown` */
	FIT_NARROW, /* cannot hold every value, and cannot be made to */
};

/* One for each column of target->schema, in its order. */
struct drift_column {
	const char *wanted; /* type that a new column gets */
	enum mapping mapping; /* of the source's type to `wanted` */
	const char *actual; /* type of the existing column; NULL: none */
	enum fit fit; /* of `actual`, if there is one */
	const char *grown; /* FIT_GROWS: the type to alter it to */
	bool not_null;
	bool generated; /* computed by the destination: cannot be written */
};

/* A column of the existing table that the source does not have. */
struct drift_extra {
	const char *name;
	bool not_null;
	bool has_default;
	bool generated;
};

enum drift_step { STEP_NONE, STEP_ADD, STEP_WIDEN, STEP_REFUSED };

struct drift_table {
	const struct drift_column *columns;
	const struct drift_extra *extras;
	size_t n_extras;
	bool exists;
	/* This pipeline has been prepared here before: a column that does not
	 * fit is the source's drift. Otherwise it is a stricter table of
	 * somebody else's, which is refused and never altered by type. */
	bool known;
	/* The table is Tidemark's own: an extra column was dropped at the
	 * source. */
	bool created;
};

/* Fills out->columns, out->added, out->extra, out->problems and `steps` (one
 * for each column of target->schema; all STEP_NONE when the table does not
 * exist). */
void drift_decide(const struct target *target, const struct drift_table *table,
		  enum drift_step *steps, struct inspection *out);

#endif
