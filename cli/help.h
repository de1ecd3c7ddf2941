/* Help texts from the command table, on stdout. */
#ifndef TIDEMARK_CLI_HELP_H
#define TIDEMARK_CLI_HELP_H

#include "cli/args.h"

void help_overview(const struct syntax *s);
void help_command(const struct syntax *s, const struct command *c);
/* All of it as the page docs/commands.md. */
void help_reference(const struct syntax *s);

#endif
