#include "clients/pg_explain.h"
#include "destinations/postgres/postgres.h"

/* The session looks each key up in the table's index (see postgres.c). If the
 * planner takes the table for a few rows, it reads all of the table for each
 * row instead, or all of the stage. It does so for long after somebody has
 * emptied, vacuumed and filled the table again. A table of a few rows may as
 * well be read once, and so may one that only seems small. */
int postgres_joins_choose(struct postgres_destination *d, const char *table,
			  struct error *err)
{
	bool small = false;
	int rc = pg_explain_seems_small(d->pg, table, d->order.n, &small, err);

	if (rc || !small)
		return rc;
	return pg_exec(d->pg,
		       "SET LOCAL enable_hashjoin = on;\n"
		       "SET LOCAL enable_mergejoin = on;\n"
		       "SET LOCAL enable_nestloop = off",
		       err);
}
