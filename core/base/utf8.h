/* Texts that come from servers and files, made fit for UTF-8 outputs. */
#ifndef TIDEMARK_CORE_BASE_UTF8_H
#define TIDEMARK_CORE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the valid character at `text` (of `n` bytes): 1 to 4; 0 if there
 * is none (overlong forms, surrogates and > U+10FFFF are not valid). */
size_t utf8_char_length(const char *text, size_t n);
bool utf8_is_valid(const char *text, size_t n);
/* Every byte that is not part of a valid character becomes '?'. In place. */
void utf8_repair(char *text);
/* Largest length <= n that does not cut a character of valid text. */
size_t utf8_cut(const char *text, size_t n);

#endif
