/* Pieces of the text of a URL or a config value. */
#ifndef TIDEMARK_CORE_BASE_URL_TEXT_H
#define TIDEMARK_CORE_BASE_URL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* `n` bytes with their percent escapes resolved; caller frees. */
char *url_decode(const char *text, size_t n);
/* Is the text, of `n` bytes, one reference without a value in it? A default
 * text behind ":-" is a value. */
bool expand_is_reference(const char *text, size_t n);

#endif
