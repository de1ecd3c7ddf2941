/*
 * Texts as a config file takes them: what is written here is read back by
 * config.h as it was, whatever it holds. Used where a file is written from
 * names of servers.
 */
#ifndef TIDEMARK_CORE_BASE_YAML_TEXT_H
#define TIDEMARK_CORE_BASE_YAML_TEXT_H

#include "core/base/strbuf.h"

/* Append a scalar that is valid UTF-8. References (${VAR}) stay references. */
void yaml_add_scalar(struct strbuf *sb, const char *text);
/* The same of a text that is not the user's: ${ in it is no reference. */
void yaml_add_literal(struct strbuf *sb, const char *text);
/* Append a line with a comment, of any bytes; also there ${ is no reference,
 * for somebody may take the line out of its comment. */
void yaml_add_comment(struct strbuf *sb, const char *indent, const char *text);

#endif
