#include "core/base/log.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/secret.h"
#include "core/base/strbuf.h"

static const char *const log_level_names[] = { "debug", "info", "warn",
					       "error" };

static atomic_int log_threshold = LOG_INFO;
static atomic_bool log_json;
static void (*log_before)(void);
static void (*log_after)(void);
static _Thread_local char log_pipeline[128];

void log_set_level(enum log_level level)
{
	atomic_store(&log_threshold, (int)level);
}

enum log_level log_get_level(void)
{
	return (enum log_level)atomic_load(&log_threshold);
}

void log_set_json(bool json)
{
	atomic_store(&log_json, json);
}

bool log_is_json(void)
{
	return atomic_load(&log_json);
}

void log_set_pipeline(const char *name)
{
	snprintf(log_pipeline, sizeof(log_pipeline), "%s", name);
}

void log_set_hooks(void (*before)(void), void (*after)(void))
{
	log_before = before;
	log_after = after;
}

static void log_line_json(struct strbuf *line, const char *time,
			  enum log_level level, const char *message)
{
	json_t *object = json_pack("{s:s, s:s, s:s, s:s}", "time", time,
				   "level", log_level_names[level], "pipeline",
				   log_pipeline, "message", message);
	char *text = json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER);

	strbuf_addstr(line, text ? text : "{}");
	free(text);
	json_decref(object);
}

static void log_line_text(struct strbuf *line, const char *time,
			  enum log_level level, const char *message)
{
	strbuf_addf(line, "%s %s ", time, log_level_names[level]);
	if (log_pipeline[0])
		strbuf_addf(line, "%s: ", log_pipeline);
	strbuf_addstr(line, message);
}

/* One write(2) a line, so that lines of threads never mix. A log that cannot
 * be written is nowhere to be reported. */
static void log_write(const struct strbuf *line)
{
	if (write(STDERR_FILENO, line->data, line->len) < 0)
		return;
}

__attribute__((format(printf, 2, 0))) static void
log_vline(enum log_level level, const char *fmt, va_list ap)
{
	struct strbuf message = STRBUF_INIT, line = STRBUF_INIT;
	char time[CLOCK_TEXT_SIZE];

	if ((int)level < atomic_load(&log_threshold))
		return;
	clock_format_utc(clock_now_us(), time);
	strbuf_vaddf(&message, fmt, ap);
	if (message.len)
		secret_scrub(message.data);
	if (log_is_json())
		log_line_json(&line, time, level, message.data);
	else
		log_line_text(&line, time, level, message.data);
	strbuf_addch(&line, '\n');
	if (log_before)
		log_before();
	log_write(&line);
	if (log_after)
		log_after();
	strbuf_release(&message);
	strbuf_release(&line);
}

void log_debug(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_vline(LOG_DEBUG, fmt, ap);
	va_end(ap);
}

void log_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_vline(LOG_INFO, fmt, ap);
	va_end(ap);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_vline(LOG_WARN, fmt, ap);
	va_end(ap);
}

void log_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_vline(LOG_ERROR, fmt, ap);
	va_end(ap);
}
