/*
 * The existing table of a target, and its meaning. For the engines whose loads
 * keep one row a key by themselves, in tables without an index (DuckDB,
 * BigQuery). An engine fills in the facts of its catalog and of the pipeline's
 * row, and says how its types fit. The decisions are here. Names of columns are
 * case-blind in both.
 */
#ifndef TIDEMARK_DESTINATIONS_COMMON_EXISTING_H
#define TIDEMARK_DESTINATIONS_COMMON_EXISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/plugin/destination.h"
#include "destinations/common/drift.h"

struct existing_column {
	char *name;
	char *type; /* "NUMERIC(12,2)" */
	bool not_null;
	bool has_default;
	char *initial; /* BigQuery tells: the default's expression */
};

/* All zero: nothing is there. */
struct existing {
	bool name_is_table, name_is_view; /* at what people read */
	bool has_data, has_mark_table;
	bool data_is_view;
	struct existing_column *columns; /* the data table's */
	size_t n_columns;
	bool has_mark; /* this pipeline's row */
	bool known; /* it says that Tidemark made the table */
	bool created; /* and says that Tidemark made the table */
	int64_t delivered; /* rows, to the table as it is */
	struct checkpoint mark;

	/* DuckDB tells: */
	bool has_schema; /* surely there */
	bool has_stage; /* the table that a refresh fills */
	bool mark_is_view; /* at the name of the table of marks */
	bool indexed; /* the data table has a key, an index or a check */

	/* BigQuery tells: */
	int64_t rows; /* in the data table */
	char *identity; /* the data table's time of creation */
	char *view; /* the query of the view at what people read */
	int64_t written_us; /* when the pipeline's row was written last */
};
void existing_release(struct existing *e);
/* A column's index; -1: none. */
long existing_find(const struct existing *e, const char *name);

/* Names, kinds and owners of what is there. */
void existing_check_place(const struct existing *e, const struct target *target,
			  struct problems *out);
/* May the table hold a key twice, because others filled it? Worth a look if
 * `found` is of use so far. The second function has the words for a repeat. */
bool existing_may_repeat(const struct existing *e, const struct target *target,
			 const struct inspection *found);
void existing_refuse_repeat(const struct target *target, struct problems *out);
/* The mark says that rows are there, and nothing that they are: it is worth a
 * look. */
bool existing_may_be_emptied(const struct existing *e,
			     const struct inspection *found);

/* Everything is yet to come: the row that will be put has no mark. True: what
 * the mark was about is not there any more. */
bool existing_start_over(struct existing *e);
/* The row that will be put is this refresh's own, and otherwise as it is. */
void existing_take_over(struct existing *e, const char *refresh_id);
/* The type of a column; NULL: none. */
const char *existing_type(const struct existing *e, const char *name);

/* Decides into `found`; `exists`: the table stays. */
void existing_drift(struct drift *out, const struct existing *e,
		    const struct target *target, bool exists,
		    const struct drift_types *types, struct inspection *found);

#endif
