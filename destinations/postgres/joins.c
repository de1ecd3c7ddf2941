#include "clients/pg_explain.h"
#include "destinations/postgres/postgres.h"

/* The planner has to take a table for so many times the rows of a batch, that
 * nothing but the table's index can look like the way to them. */
#define MANY_TIMES 4

/* The session looks each key up in the table's index (see postgres.c). The
 * planner reads all of the table for each row instead, or all of the stage,
 * where it takes the table for a few rows: and it does so for long after
 * somebody has emptied, vacuumed and filled it again. A table of a few rows is
 * as well read once, and so is one that only seems to be. */
int postgres_joins_choose(struct postgres_destination *d, const char *table,
			  struct error *err)
{
	int64_t rows = 0;
	int rc = pg_explain_rows(d->pg, table, &rows, err);

	if (rc || rows >= MANY_TIMES * (int64_t)d->order.n)
		return rc;
	return pg_exec(d->pg,
		       "SET LOCAL enable_hashjoin = on;\n"
		       "SET LOCAL enable_mergejoin = on;\n"
		       "SET LOCAL enable_nestloop = off",
		       err);
}
