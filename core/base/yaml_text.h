/*
 * Texts for a config file. config.h reads back the same text, whatever it
 * holds. Used where a file is written from a server's names.
 */
#ifndef TIDEMARK_CORE_BASE_YAML_TEXT_H
#define TIDEMARK_CORE_BASE_YAML_TEXT_H

#include "core/base/strbuf.h"

/* Append a scalar that is valid UTF-8. References (${VAR}) stay references. */
void yaml_add_scalar(struct strbuf *sb, const char *text);
/* The same for a text that is not the user's: ${ in it is no reference. */
void yaml_add_literal(struct strbuf *sb, const char *text);
/* Append a line with a comment, of any bytes. There ${ is no reference either,
 * for somebody may take the line out of its comment. */
void yaml_add_comment(struct strbuf *sb, const char *indent, const char *text);

#endif
