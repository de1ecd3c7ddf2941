/*
 * Logs and progress go to stderr; results never do. One line each, in one of
 * three forms:
 * - text: `2026-01-31T12:00:00.000000Z info orders: message`
 * - JSON: an object with "time", "level", "pipeline", "run_id", "attempt_id",
 *   "event", "code" and "message", and the fields of the event behind them
 * - logfmt: the same keys and values as key=value
 * A text that is not known is "". Every line passes secret_scrub().
 * Thread-safe: one write(2) a line.
 */
#ifndef TIDEMARK_CORE_BASE_LOG_H
#define TIDEMARK_CORE_BASE_LOG_H

#include <jansson.h>
#include <stdbool.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_SILENT };
enum log_format { LOG_TEXT, LOG_JSON, LOG_LOGFMT };

void log_set_level(enum log_level level); /* default LOG_INFO */
enum log_level log_get_level(void);
void log_set_format(enum log_format format); /* default LOG_TEXT */
/* "text", "json", "logfmt"; false: no such format. */
bool log_format_parse(const char *name, enum log_format *out);
/* For programs, JSON or logfmt: they get more fields and events. */
bool log_is_for_programs(void);
void log_set_json(bool json); /* JSON, or text */
bool log_is_json(void);

/* A name put before every line of this thread ("" for none); copied. The lines
 * belong to no run from then on. */
void log_set_pipeline(const char *name);
/* The run and attempt that this thread's lines belong to; copied, NULL is "".
 */
void log_set_run(const char *run_id, const char *attempt_id);

/* A copy of the names that this thread's lines have, with that pipeline, for a
 * thread that helps it. */
struct log_place;
struct log_place *log_place_copy(const char *pipeline);
/* Takes the copy over. */
void log_place_use(struct log_place *place);
void log_place_free(struct log_place *place);

void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* An event, for programs; in text only the message is written. */
struct log_event {
	const char *name; /* "run_ended"; NULL is "" */
	const char *code; /* an error's; NULL is "" */
	json_t *fields; /* texts, numbers, booleans; borrowed, or NULL */
};
void log_event(enum log_level level, const struct log_event *event,
	       const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Called before and after each line is written, so that a live progress line
 * can be taken away and drawn again; NULL to unset. */
void log_set_hooks(void (*before)(void), void (*after)(void));

#endif
