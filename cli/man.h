/* The man page from the command table, on stdout. */
#ifndef TIDEMARK_CLI_MAN_H
#define TIDEMARK_CLI_MAN_H

#include "cli/args.h"

/* tidemark(1), in the macros of man(7). */
void man_page(const struct syntax *s);

#endif
