#include "core/base/log_line.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/json_text.h"
#include "core/base/secret.h"
#include "core/base/utf8.h"

/* 15 digits: what a double holds of any decimal, and no noise. */
#define LINE_NUMBERS (JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15))

void log_line_text(struct strbuf *out, const struct log_line *line)
{
	strbuf_addf(out, "%s %s ", line->time, line->level);
	if (*line->pipeline) {
		utf8_add_flat(out, line->pipeline);
		strbuf_addstr(out, ": ");
	}
	utf8_add_flat(out, line->message);
	strbuf_addch(out, '\n');
}

/* Texts of the fields come from servers, too. Caller frees. */
static char *line_clean(const char *text)
{
	char *clean = xstrfmt("%s", text);

	secret_scrub(clean);
	utf8_repair(clean);
	return clean;
}

static void line_add_field(json_t *object, const char *key, json_t *value)
{
	char *clean;

	if (!json_is_string(value)) {
		json_object_set(object, key, value);
		return;
	}
	clean = line_clean(json_string_value(value));
	json_object_set_new(object, key, json_string(clean));
	free(clean);
}

/* Every key in its order. A field never takes the place of one of ours. */
static json_t *line_object(const struct log_line *line)
{
	json_t *object =
		json_pack("{ss ss ss ss ss ss ss}", "time", line->time, "level",
			  line->level, "pipeline", line->pipeline, "run_id",
			  line->run_id, "attempt_id", line->attempt_id, "event",
			  line->event, "code", line->code);
	json_t *fields = (json_t *)line->fields;
	const char *key;
	json_t *value;

	json_object_set_new(object, "message", json_string(line->message));
	json_object_foreach(fields, key,
			    value) if (!json_object_get(object, key))
		line_add_field(object, key, value);
	return object;
}

void log_line_json(struct strbuf *out, const struct log_line *line)
{
	json_t *object = line_object(line);
	char *text = json_text_dump(object, LINE_NUMBERS);

	if (text)
		strbuf_addstr(out, text);
	strbuf_addch(out, '\n');
	free(text);
	json_decref(object);
}

/* Without quotes only what no reader can take for something else. */
static bool line_is_bare(const char *text)
{
	for (const char *at = text; *at; at++)
		if ((unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7f ||
		    strchr("=\"'\\`", *at))
			return false;
	return *text;
}

static void line_add_escaped(struct strbuf *out, const char *at, size_t n)
{
	static const char plain[] = "\"\\\n\r\t", letters[] = "\"\\nrt";
	const char *found = n == 1 ? strchr(plain, *at) : NULL;

	if (found)
		strbuf_addf(out, "\\%c", letters[found - plain]);
	else if (utf8_is_control(at, n) && utf8_code(at, n) > 0xffff)
		strbuf_addch(out, '?');
	else if (utf8_is_control(at, n))
		strbuf_addf(out, "\\u%04" PRIx32, utf8_code(at, n));
	else
		strbuf_add(out, at, n);
}

static void line_add_quoted(struct strbuf *out, const char *text)
{
	size_t left = strlen(text), n;

	if (line_is_bare(text)) {
		strbuf_addstr(out, text);
		return;
	}
	strbuf_addch(out, '"');
	for (; left; text += n, left -= n) {
		n = utf8_char_length(text, left);
		if (n) {
			line_add_escaped(out, text, n);
		} else {
			n = 1;
			strbuf_addch(out, '?');
		}
	}
	strbuf_addch(out, '"');
}

void log_line_logfmt(struct strbuf *out, const struct log_line *line)
{
	json_t *object = line_object(line), *value;
	const char *key, *between = "";

	json_object_foreach(object, key, value)
	{
		char *text = json_is_string(value)
				     ? xstrdup(json_string_value(value))
				     : json_text_dump(value, LINE_NUMBERS);

		strbuf_addf(out, "%s%s=", between, key);
		line_add_quoted(out, text ? text : "");
		free(text);
		between = " ";
	}
	strbuf_addch(out, '\n');
	json_decref(object);
}
