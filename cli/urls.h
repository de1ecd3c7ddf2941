/* URLs on a command line, which everybody who lists processes can read. */
#ifndef TIDEMARK_CLI_URLS_H
#define TIDEMARK_CLI_URLS_H

/* The words of the command line. A word with a secret is a copy: the secret
 * itself is wiped from `argv`, which the list of processes shows, and is
 * remembered. Call it before anything else. Caller frees with urls_free(). */
char **urls_take(int argc, char **argv);
void urls_free(int argc, char **words, char **argv);
/* One warning if one of the URLs (not expanded; may be NULL) holds a password;
 * it shows none. */
void urls_warn(const char *source, const char *destination, const char *state);
/* `word` without its secrets, if it is a URL; caller frees. */
char *urls_shown(const char *word);

#endif
