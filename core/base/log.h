/*
 * Logs and progress go to stderr; results never do. Text lines read
 * `2026-01-31T12:00:00.000000Z info orders: message`; `--log-format json`
 * gives one object a line ({"time","level","pipeline","message"}). Every line
 * passes secret_scrub(). Thread-safe: one write(2) a line.
 */
#ifndef TIDEMARK_CORE_BASE_LOG_H
#define TIDEMARK_CORE_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_SILENT };

void log_set_level(enum log_level level); /* default LOG_INFO */
void log_set_json(bool json);
enum log_level log_get_level(void);
bool log_is_json(void);

/* A name put before every line of this thread ("" for none); copied. */
void log_set_pipeline(const char *name);

void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Called before and after each line is written, so that a live progress line
 * can be taken away and drawn again; NULL to unset. */
void log_set_hooks(void (*before)(void), void (*after)(void));

#endif
