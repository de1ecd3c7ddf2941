/* The words that may stand at the end of a command line, from the tables of
 * commands and flags, and from the config file. No connection is made, and
 * nothing is written. */
#ifndef TIDEMARK_CLI_COMPLETE_H
#define TIDEMARK_CLI_COMPLETE_H

#include "cli/args.h"
#include "core/base/strbuf.h"

/* In place of words: names of files. */
#define COMPLETE_FILES ":file"

/* `words` is a line so far, the program's name first; the last word, which may
 * be empty, is to be completed. Appends a line for each candidate: the word, a
 * tab, and words about it. All are given, whatever the last word begins with.
 */
void complete_words(const struct syntax *s, const struct strlist *words,
		    struct strbuf *out);

#endif
