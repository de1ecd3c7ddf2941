/* URLs on a command line, which everybody who lists processes can read. */
#ifndef TIDEMARK_CLI_URLS_H
#define TIDEMARK_CLI_URLS_H

#include "core/base/error.h"

/* CONFIG error if `url` (not expanded; may be NULL) holds a password; `what`
 * names it: "SOURCE_URL". The password itself is never shown. */
int urls_refuse_password(const char *what, const char *url, struct error *err);

#endif
