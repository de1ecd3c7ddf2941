/*
 * The person who calls a command, for those who ask later.
 */
#ifndef TIDEMARK_CLI_WHO_H
#define TIDEMARK_CLI_WHO_H

#include "core/plugin/store.h"
#include "core/settings/settings.h"

/* "ann@host". Caller frees. */
char *who_calls(void);
/* Have it noted in the state store that the caller has done something. */
typedef int (*who_note)(struct store *store, const char *who, const void *what,
			struct error *err);
void who_has_done(const struct settings *s, who_note note, const void *what);

#endif
