/* A question to the person at the terminal. */
#ifndef TIDEMARK_CLI_ASK_H
#define TIDEMARK_CLI_ASK_H

#include <stdbool.h>

/* Somebody is there to answer: stdin and stderr are a terminal. */
bool ask_is_possible(void);
/* Put it on stderr, with " [y/N] " behind, and wait for a line. True for y or
 * yes alone; a stop that is requested meanwhile is a no. */
bool ask_yes(const char *question);

#endif
