#include "core/base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log_line.h"
#include "core/base/secret.h"
#include "core/base/strbuf.h"
#include "core/base/utf8.h"

static atomic_int log_level = LOG_INFO;
static atomic_int log_form = LOG_TEXT;
static void (*log_before)(void);
static void (*log_after)(void);
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t log_place_key;
static pthread_once_t log_once = PTHREAD_ONCE_INIT;

static const char *const log_names[] = {
	[LOG_DEBUG] = "debug", [LOG_INFO] = "info",   [LOG_WARN] = "warn",
	[LOG_ERROR] = "error", [LOG_SILENT] = "none",
};

struct log_place {
	char *pipeline, *run_id, *attempt_id; /* NULL: none */
};

static void log_place_clear(struct log_place *place)
{
	free(place->pipeline);
	free(place->run_id);
	free(place->attempt_id);
	*place = (struct log_place){ NULL, NULL, NULL };
}

void log_place_free(struct log_place *place)
{
	log_place_clear(place);
	free(place);
}

static void log_place_end(void *arg)
{
	log_place_free(arg);
}

static void log_make_key(void)
{
	pthread_key_create(&log_place_key, log_place_end);
}

/* This thread's, or NULL. */
static struct log_place *log_place_here(void)
{
	pthread_once(&log_once, log_make_key);
	return pthread_getspecific(log_place_key);
}

static struct log_place *log_place_make(void)
{
	struct log_place *place = log_place_here();

	if (!place) {
		place = xcalloc(1, sizeof(*place));
		pthread_setspecific(log_place_key, place);
	}
	return place;
}

struct log_place *log_place_copy(const char *pipeline)
{
	const struct log_place *from = log_place_here();
	struct log_place *to = xcalloc(1, sizeof(*to));

	to->pipeline = xstrdup(pipeline);
	if (from) {
		to->run_id = xstrdup(from->run_id);
		to->attempt_id = xstrdup(from->attempt_id);
	}
	return to;
}

void log_place_use(struct log_place *place)
{
	struct log_place *before = log_place_here();

	if (before)
		log_place_free(before);
	pthread_setspecific(log_place_key, place);
}

void log_set_level(enum log_level level)
{
	atomic_store(&log_level, (int)level);
}

void log_set_format(enum log_format format)
{
	atomic_store(&log_form, (int)format);
}

bool log_format_parse(const char *name, enum log_format *out)
{
	static const char *const names[] = { "text", "json", "logfmt" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i])) {
			*out = (enum log_format)i;
			return true;
		}
	return false;
}

void log_set_json(bool json)
{
	log_set_format(json ? LOG_JSON : LOG_TEXT);
}

enum log_level log_get_level(void)
{
	return (enum log_level)atomic_load(&log_level);
}

bool log_is_json(void)
{
	return atomic_load(&log_form) == LOG_JSON;
}

bool log_is_for_programs(void)
{
	return atomic_load(&log_form) != LOG_TEXT;
}

void log_set_pipeline(const char *name)
{
	struct log_place *place = log_place_make();
	char *copy = name && *name ? xstrdup(name) : NULL;

	log_place_clear(place);
	place->pipeline = copy;
}

void log_set_run(const char *run_id, const char *attempt_id)
{
	struct log_place *place = log_place_make();
	char *run = xstrdup(run_id), *attempt = xstrdup(attempt_id);

	free(place->run_id);
	free(place->attempt_id);
	place->run_id = run;
	place->attempt_id = attempt;
}

void log_set_hooks(void (*before)(void), void (*after)(void))
{
	pthread_mutex_lock(&log_lock);
	log_before = before;
	log_after = after;
	pthread_mutex_unlock(&log_lock);
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

static const char *log_text_of(const char *text)
{
	return text ? text : "";
}

static void log_add_line(struct strbuf *out, const struct log_line *line)
{
	switch ((enum log_format)atomic_load(&log_form)) {
	case LOG_TEXT:
		log_line_text(out, line);
		return;
	case LOG_JSON:
		log_line_json(out, line);
		return;
	case LOG_LOGFMT:
		log_line_logfmt(out, line);
		return;
	}
}

static void log_vline(enum log_level level, const struct log_event *event,
		      const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

static void log_vline(enum log_level level, const struct log_event *event,
		      const char *fmt, va_list ap)
{
	static const struct log_place nowhere = { NULL, NULL, NULL };
	const struct log_place *place = log_place_here();
	struct strbuf message = STRBUF_INIT, out = STRBUF_INIT;
	struct log_line line = { .level = log_names[level] };
	char time[CLOCK_TEXT_SIZE];

	if (level < log_get_level())
		return;
	place = place ? place : &nowhere;
	clock_format_utc(clock_now_us(), time);
	strbuf_vaddf(&message, fmt, ap);
	/* The memory is owned, because even an empty text is cleaned in
	 * place. */
	strbuf_addch(&message, '\0');
	secret_scrub(message.data);
	utf8_repair(message.data);
	line.time = time;
	line.pipeline = log_text_of(place->pipeline);
	line.run_id = log_text_of(place->run_id);
	line.attempt_id = log_text_of(place->attempt_id);
	line.event = log_text_of(event ? event->name : NULL);
	line.code = log_text_of(event ? event->code : NULL);
	line.fields = event ? event->fields : NULL;
	line.message = message.data;
	log_add_line(&out, &line);
	log_write(&out);
	strbuf_release(&out);
	strbuf_release(&message);
}

void log_event(enum log_level level, const struct log_event *event,
	       const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_vline(level, event, fmt, ap);
	va_end(ap);
}

void log_debug(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_vline(LOG_DEBUG, NULL, fmt, ap);
	va_end(ap);
}

void log_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_vline(LOG_INFO, NULL, fmt, ap);
	va_end(ap);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_vline(LOG_WARN, NULL, fmt, ap);
	va_end(ap);
}

void log_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_vline(LOG_ERROR, NULL, fmt, ap);
	va_end(ap);
}
