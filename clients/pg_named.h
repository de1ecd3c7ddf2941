/*
 * Statements that the server has planned, by their text. A session asks the
 * same questions for one table after the other, and the server takes longer to
 * plan them than to answer them. Names outlive pg_lay_down(). Only pg_talk.c
 * uses this.
 */
#ifndef TIDEMARK_CLIENTS_PG_NAMED_H
#define TIDEMARK_CLIENTS_PG_NAMED_H

#include <stdbool.h>

/* The texts of one session that came twice, up to a number. */
struct pg_named;

/* How to send a text. */
enum pg_named_step {
	PG_NAMED_NOT, /* send it as it is */
	PG_NAMED_PREPARE, /* prepare it by its name, then execute that */
	PG_NAMED_EXECUTE, /* it is prepared */
};

struct pg_named *pg_named_new(void);
void pg_named_free(struct pg_named *named);
/* `name` has PG_NAMED_SIZE bytes, and is set unless the step is PG_NAMED_NOT.
 * After PG_NAMED_PREPARE the text counts as prepared. */
#define PG_NAMED_SIZE 16
enum pg_named_step pg_named_step(struct pg_named *named, const char *sql,
				 char *name);
/* It was not prepared after all: an earlier statement has failed. */
void pg_named_not_yet(struct pg_named *named, const char *sql);
/* The text cannot be prepared, or the columns of its answer have changed: it is
 * never named again. */
void pg_named_forget(struct pg_named *named, const char *sql);
/* The server has dropped a name. All texts get other names. */
void pg_named_lost(struct pg_named *named);

#endif
