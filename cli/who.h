/*
 * The person who calls a command, for those who ask later.
 */
#ifndef TIDEMARK_CLI_WHO_H
#define TIDEMARK_CLI_WHO_H

/* "ann@host". Caller frees. */
char *who_calls(void);

#endif
