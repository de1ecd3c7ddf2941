/*
 * Answers that one session has got for others of this process, to the same
 * server as the same role. One session asks for many tables in one statement.
 * Whoever asks the same by pg_ahead_add() within some seconds, and may have an
 * older answer, has it then without a message.
 */
#ifndef TIDEMARK_CLIENTS_PG_SHARED_H
#define TIDEMARK_CLIENTS_PG_SHARED_H

#include "clients/pg.h"

/* From now on, pg_ahead_add() collects questions for others. It leaves out
 * those whose answers are there. */
void pg_many_begin(struct pg *pg);
/* Ask them in one message, and share the answers. Questions with the same text
 * are one statement. An answer to a question with values serves once, one
 * without values serves all. A question that fails, or waits for a lock, has
 * none. Only a lost connection is an error. */
int pg_many_ask(struct pg *pg, struct error *err);
/* May questions that are added from now on have such answers? At first they may
 * not: one that counts on being asked behind another has to be asked. */
void pg_shared_allow(struct pg *pg, bool may);
/* Tables have been altered: nobody gets an older answer. */
void pg_shared_clear(void);
/* Has the session such answers, since it was opened? */
bool pg_has_foreseen(const struct pg *pg);

#endif
