/* How one line of a log is written, in each of its forms. */
#ifndef TIDEMARK_CORE_BASE_LOG_LINE_H
#define TIDEMARK_CORE_BASE_LOG_LINE_H

#include "core/base/log.h"
#include "core/base/strbuf.h"

/* Texts as they are to be told, without secrets, in valid UTF-8. */
struct log_line {
	const char *time, *level;
	const char *pipeline, *run_id, *attempt_id;
	const char *event, *code, *message;
	const json_t *fields; /* or NULL */
};
/* With its end of line. */
void log_line_text(struct strbuf *out, const struct log_line *line);
void log_line_json(struct strbuf *out, const struct log_line *line);
void log_line_logfmt(struct strbuf *out, const struct log_line *line);

#endif
