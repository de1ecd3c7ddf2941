/* Texts that come from servers and files, made fit for UTF-8 outputs. */
#ifndef TIDEMARK_CORE_BASE_UTF8_H
#define TIDEMARK_CORE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/strbuf.h"

/* Bytes of the valid character at `text` (of `n` bytes): 1 to 4. 0 if there is
 * none: overlong forms, surrogates and code points > U+10FFFF are not valid. */
size_t utf8_char_length(const char *text, size_t n);
bool utf8_is_valid(const char *text, size_t n);
/* Every byte that is not part of a valid character becomes '?'. In place. */
void utf8_repair(char *text);
/* Does a terminal obey the valid character at `text`, of `length` bytes, or
 * does the character change how the text around it is read? Such are C0, DEL,
 * C1, marks and overrides of the writing direction, and separators of lines and
 * paragraphs. So are the byte order mark, and code points that are no
 * characters. */
bool utf8_is_control(const char *text, size_t length);
/* The number of the valid character at `text`, of `length` bytes. */
uint32_t utf8_code(const char *text, size_t length);
/* Append `text` for people, as one line: each control character is a space,
 * each byte that is not part of a character a '?'. */
void utf8_add_flat(struct strbuf *out, const char *text);
/* Append a JSON text. Control characters beyond C0, which stand in its strings
 * only, become \uXXXX. Its value stays the same. */
void utf8_add_json(struct strbuf *out, const char *json);
/* Largest length <= n that does not cut a character of valid text. */
size_t utf8_cut(const char *text, size_t n);

#endif
