/*
 * Every secret that enters the process (passwords of URLs, ${file:} and
 * `password:` values) is remembered here, and every text that leaves it
 * (errors, logs, JSON, state) is scrubbed of them: "***" takes their place.
 * Second line of defence: texts are built without secrets in the first place.
 */
#ifndef TIDEMARK_CORE_BASE_SECRET_H
#define TIDEMARK_CORE_BASE_SECRET_H

#include <stddef.h>

/* Remember `value` (also in its percent-encoded form). Values shorter than 4
 * bytes are not remembered: they would blank ordinary text, and url_scrub()
 * knows them by where they stand. Thread-safe. */
void secret_add(const char *value);
/* Replace every occurrence in `text` by "***", in place; and, whether it is
 * known or not, what stands where a password does: user:password@ of a URL,
 * password=... */
void secret_scrub(char *text);
void secret_forget_all(void);

#endif
