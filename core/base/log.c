#include "core/base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/json_text.h"
#include "core/base/secret.h"
#include "core/base/strbuf.h"
#include "core/base/utf8.h"

static atomic_int log_level = LOG_INFO;
static atomic_bool log_json;
static void (*log_before)(void);
static void (*log_after)(void);
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t log_pipeline_key;
static pthread_once_t log_once = PTHREAD_ONCE_INIT;

static const char *const log_names[] = {
	[LOG_DEBUG] = "debug", [LOG_INFO] = "info",   [LOG_WARN] = "warn",
	[LOG_ERROR] = "error", [LOG_SILENT] = "none",
};

static void log_make_key(void)
{
	pthread_key_create(&log_pipeline_key, free);
}

static const char *log_pipeline(void)
{
	const char *name;

	pthread_once(&log_once, log_make_key);
	name = pthread_getspecific(log_pipeline_key);
	return name ? name : "";
}

void log_set_level(enum log_level level)
{
	atomic_store(&log_level, (int)level);
}

void log_set_json(bool json)
{
	atomic_store(&log_json, json);
}

enum log_level log_get_level(void)
{
	return (enum log_level)atomic_load(&log_level);
}

bool log_is_json(void)
{
	return atomic_load(&log_json);
}

void log_set_pipeline(const char *name)
{
	pthread_once(&log_once, log_make_key);
	free(pthread_getspecific(log_pipeline_key));
	pthread_setspecific(log_pipeline_key,
			    name && *name ? xstrdup(name) : NULL);
}

void log_set_hooks(void (*before)(void), void (*after)(void))
{
	pthread_mutex_lock(&log_lock);
	log_before = before;
	log_after = after;
	pthread_mutex_unlock(&log_lock);
}

static void log_text_line(struct strbuf *line, const char *time,
			  enum log_level level, const char *message)
{
	const char *pipeline = log_pipeline();

	strbuf_addf(line, "%s %s ", time, log_names[level]);
	if (*pipeline) {
		utf8_add_flat(line, pipeline);
		strbuf_addstr(line, ": ");
	}
	utf8_add_flat(line, message);
	strbuf_addch(line, '\n');
}

static void log_json_line(struct strbuf *line, const char *time,
			  enum log_level level, const char *message)
{
	json_t *object =
		json_pack("{ssssss}", "time", time, "level", log_names[level],
			  "pipeline", log_pipeline());
	char *text;

	json_object_set_new(object, "message", json_string(message));
	text = json_text_dump(object, JSON_COMPACT);
	if (text)
		strbuf_addstr(line, text);
	strbuf_addch(line, '\n');
	free(text);
	json_decref(object);
}

static void log_write(const struct strbuf *line)
{
	size_t done = 0;

	pthread_mutex_lock(&log_lock);
	if (log_before)
		log_before();
	while (done < line->len) {
		ssize_t n = write(STDERR_FILENO, line->data + done,
				  line->len - done);

		/* There is nowhere left to report this to. */
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (log_after)
		log_after();
	pthread_mutex_unlock(&log_lock);
}

static void log_vline(enum log_level level, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

static void log_vline(enum log_level level, const char *fmt, va_list ap)
{
	struct strbuf message = STRBUF_INIT, line = STRBUF_INIT;
	char time[CLOCK_TEXT_SIZE];

	if (level < log_get_level())
		return;
	clock_format_utc(clock_now_us(), time);
	strbuf_vaddf(&message, fmt, ap);
	/* The memory is owned, because even an empty text is cleaned in
	 * place. */
	strbuf_addch(&message, '\0');
	secret_scrub(message.data);
	utf8_repair(message.data);
	if (log_is_json())
		log_json_line(&line, time, level, message.data);
	else
		log_text_line(&line, time, level, message.data);
	log_write(&line);
	strbuf_release(&line);
	strbuf_release(&message);
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
