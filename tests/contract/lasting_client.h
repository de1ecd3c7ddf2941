/*
 * A client of an engine, one process for a whole program. It reads "LENGTH
 * PLACE\n" and LENGTH bytes of SQL. It answers "STATUS LENGTH\n" and LENGTH
 * bytes of output, and lets go of the place before it answers.
 */
#ifndef TIDEMARK_TESTS_CONTRACT_LASTING_CLIENT_H
#define TIDEMARK_TESTS_CONTRACT_LASTING_CLIENT_H

#include "core/base/strbuf.h"

/* `command` starts it, the first time. `out` gets what it says, errors too; 0
 * if it is content. */
int lasting_ask(const char *command, const char *place, const char *sql,
		struct strbuf *out);

#endif
