/*
 * Every secret that enters the process is remembered here: passwords of URLs,
 * and values of ${file:} and `password:`. Every text that leaves the process
 * (errors, logs, JSON, state) is scrubbed of them: "***" takes their place.
 * This is the second line of defence, because texts are built without secrets
 * in the first place.
 */
#ifndef TIDEMARK_CORE_BASE_SECRET_H
#define TIDEMARK_CORE_BASE_SECRET_H

#include <stddef.h>

/* Remember `value` (also in its percent-encoded form). Values shorter than 4
 * bytes are not remembered, because they would blank ordinary text. url_scrub()
 * finds them by their place. Thread-safe. */
void secret_add(const char *value);
/* Replace every occurrence in `text` by "***", in place. The same happens to
 * unknown text at the place of a password: in user:password@ of a URL, and
 * behind password=. */
void secret_scrub(char *text);
void secret_forget_all(void);

#endif
