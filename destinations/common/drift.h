/*
 * The meaning of an existing table's columns for a source's columns: which are
 * added or widened, which are refused, and why. An engine says how each source
 * column fits (its own type rules). The policy, the problems and their wording
 * are decided here, the same for every engine. Writes nothing.
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

/* A column of the table as it is. */
struct table_column {
	const char *name, *type; /* not owned */
	bool not_null;
	bool has_default;
	bool generated; /* computed by the destination: cannot be written */
	bool ours; /* a raw table's, and no column of any source */
};

struct drift_table {
	const struct table_column *columns;
	size_t n_columns;
	bool exists;
	/* This pipeline has been prepared here before: a column that does not
	 * fit is the source's drift. Otherwise it is a stricter table of
	 * somebody else's, which is refused and never altered by type. */
	bool known;
	/* The table is Tidemark's own: an extra column was dropped at the
	 * source. */
	bool created;
	bool case_blind; /* names that differ by case are one */
};

/* One column of the source, and its fate. */
struct drift_column {
	const char *wanted; /* type that a new column gets; the engine's */
	enum mapping mapping; /* from the source's type to `wanted` */
	const char *actual; /* type of the existing column; NULL: none */
	enum fit fit; /* how `actual` fits, if there is one */
	const char *grown; /* FIT_GROWS: the type to alter it to */
	bool not_null;
	bool generated;
};

/* An engine's types. */
struct drift_types {
	const void *context;
	/* Set `wanted` and `mapping`; and if `actual` is set `fit`, and for
	 * FIT_GROWS `*grown`, which is freed here. */
	void (*fit)(const void *context, size_t column,
		    struct drift_column *out, char **grown);
};

enum drift_step { STEP_NONE, STEP_ADD, STEP_WIDEN, STEP_REFUSED };

/* The decision for each column of target->schema, in its order. */
struct drift {
	struct drift_column *columns;
	enum drift_step *steps; /* all STEP_NONE if there is no table */
	char **grown; /* the columns' `grown` are these */
	size_t n;
};

/* NULL: no such column. */
const struct table_column *drift_find(const struct drift_table *table,
				      const char *name);
/* Fills `out`, and in `found` columns, added, extra and problems. */
void drift_make(struct drift *out, const struct drift_table *table,
		const struct target *target, const struct drift_types *types,
		struct inspection *found);
bool drift_has(const struct drift *d, enum drift_step step);
void drift_release(struct drift *d);

#endif
