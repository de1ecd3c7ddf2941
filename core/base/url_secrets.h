/*
 * Where secrets stand in a URL, and in texts that quote one: the password of
 * user:password@host, and members of the query whose key names a secret. No
 * value is needed to find them, so that also a password of one character is
 * hidden without hiding that character elsewhere.
 */
#ifndef TIDEMARK_CORE_BASE_URL_SECRETS_H
#define TIDEMARK_CORE_BASE_URL_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

/* Is it the name of a secret: "password", "sslpassword", "access_token"? In
 * any case of letters, also percent-encoded. */
bool secret_is_key(const char *key, size_t n);

/* A secret of a URL: [start, end) of its text. */
struct url_span {
	size_t start, end;
	/* Of a query: where its key begins. Of user:password@: `start`. */
	size_t key;
};
struct url_spans {
	struct url_span *items;
	size_t n, capacity;
};

/* In order of appearance; caller frees `items`. In `unexpanded` text a ${...}
 * is one opaque piece. PostgreSQL's URLs are read as libpq reads them: a
 * password may hold "?" and "#", and keys may be percent-encoded. What stands
 * between the first ":" and the last "@" before the query is a password also
 * where a client would read it otherwise. */
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
