/*
 * Places of secrets in a URL and in texts that quote one. A secret is the
 * password of user:password@host, or a member of the query whose key names a
 * secret. They are found without knowing a value. So a password of one
 * character is hidden, too, and the same character elsewhere is not.
 */
#ifndef TIDEMARK_CORE_BASE_URL_SECRETS_H
#define TIDEMARK_CORE_BASE_URL_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

/* Is it the name of a secret: "password", "sslpassword", "access_token"? Case
 * does not count, and it may be percent-encoded. */
bool secret_is_key(const char *key, size_t n);

/* A secret of a URL: [start, end) of its text. */
struct url_span {
	size_t start, end;
	/* Where a query's key begins. For user:password@: `start`. */
	size_t key;
};
struct url_spans {
	struct url_span *items;
	size_t n, capacity;
};

/* In order of appearance; caller frees `items`. In `unexpanded` text a ${...}
 * is one opaque piece. URLs of ENGINE_LIBPQ_URL are read as libpq reads them: a
 * password may hold "?" and "#", and keys may be percent-encoded. The text
 * between the first ":" and the last "@" before the query counts as a password,
 * even where a client would read it otherwise. An unknown scheme is read as if
 * it were libpq's, which hides more. */
struct url_spans url_find_secrets(const char *text, bool unexpanded);
/* The text with "***" for each; caller frees. */
char *url_masked(const char *text, const struct url_spans *spans);
/* The same in place, for a word that may be a URL: "*" takes the place of a
 * secret that is shorter than the mask. References (${VAR}) stay. Returns
 * whether there was a secret. */
bool url_wipe(char *word);
/* Mask user:password@ behind "://", and KEY=VALUE, wherever they stand in a
 * text; in place. References stay. */
void url_scrub(char *text);

#endif
