/*
 * A dry run works on copies of the target's rows by the statements of the load.
 * The shown statements name the table itself.
 */
#ifndef TIDEMARK_DESTINATIONS_COMMON_RESTATE_H
#define TIDEMARK_DESTINATIONS_COMMON_RESTATE_H

/* `sql` with each `copy` replaced by `table`, both as they are quoted in it;
 * caller frees. */
char *restate(const char *sql, const char *copy, const char *table);

#endif
