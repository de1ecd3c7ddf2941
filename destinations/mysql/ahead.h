/*
 * The questions of an idle run, which travel in few texts.
 */
#ifndef TIDEMARK_DESTINATIONS_MYSQL_AHEAD_H
#define TIDEMARK_DESTINATIONS_MYSQL_AHEAD_H

#include "destinations/mysql/owned.h"

extern const struct mark_statement mysql_target_read_mark; /* one's own */
extern const struct mark_statement mysql_target_read_all; /* and others' */

/* One row about the place of the target; the fault of the marks comes last. */
extern const char mysql_target_around_sql[];
#define AHEAD_AROUND_PARAMS(p)                                                 \
	(p)->database, (p)->database, (p)->table, (p)->database, (p)->table,   \
		(p)->database, (p)->table, OWNED_MARK_PARAMS(p), (p)->database
/* The pipeline's row; its parameters are the pipeline and the table. Then one
 * row of a table, by its quoted name. Caller frees. */
char *mysql_target_history_sql(const struct place *place);
char *mysql_target_rows_sql(const char *table);

/* Seconds that a load may take whose lock is wanted. The server process of a
 * client that was killed lingers a moment. */
#define MYSQL_TARGET_LOAD_WAIT 10

/* Ask what recover() asks. In a run, the questions of prepare() travel with it,
 * and what recover() asks behind that. `look`: the first one. */
struct mysql_target_look {
	const char *sql;
	int n;
	const char *const *params;
};
int mysql_target_ahead_recover(struct mysql_target *d,
			       const struct place *place,
			       const struct target *target,
			       const struct mysql_target_look *look,
			       struct error *err);
/* The parts of it, unless they are ahead still. */
int mysql_target_ahead_prepare(struct mysql_target *d,
			       const struct target *target, struct error *err);
int mysql_target_ahead_resume(struct mysql_target *d, struct error *err);

#endif
