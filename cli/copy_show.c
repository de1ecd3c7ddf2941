#include "cli/copy_show.h"

#include <string.h>

#include "cli/config.h"
#include "cli/copied.h"
#include "cli/output.h"
#include "cli/row_text.h"
#include "cli/urls.h"
#include "core/base/alloc.h"
#include "core/base/row_values.h"
#include "core/base/utf8.h"
#include "core/sync/report/show.h"

/* So many bytes are written at once. */
#define COPY_SHOW_BUFFER ((size_t)1 << 16)

struct shown {
	bool csv;
	bool terminal; /* control characters are not for it */
	struct strbuf text;
};

/* Does the reader want more? */
static bool shown_flush(struct shown *s)
{
	if (s->text.len)
		output_bytes(s->text.data, s->text.len);
	strbuf_reset(&s->text);
	return !output_has_failed();
}

static bool shown_begin(void *ctx, const struct schema *schema)
{
	struct shown *s = ctx;

	if (s->csv)
		row_text_csv_names(&s->text, schema);
	return shown_flush(s);
}

/* JSON has no control characters. */
static void shown_calm(struct strbuf *text, size_t from)
{
	for (size_t i = from; i < text->len;) {
		size_t n = utf8_char_length(text->data + i, text->len - i);

		if ((!n || utf8_is_control(text->data + i, n)) &&
		    text->data[i] != '\n')
			memset(text->data + i, ' ', n ? n : 1);
		i += n ? n : 1;
	}
}

static bool shown_rows(void *ctx, const struct batch *b)
{
	struct shown *s = ctx;
	bool more = true;

	for (size_t row = 0; more && row < b->n_rows; row++) {
		size_t from = s->text.len;

		if (s->csv)
			row_text_csv(&s->text, b, row);
		else
			row_text_json(&s->text, b, row);
		if (s->csv && s->terminal)
			shown_calm(&s->text, from);
		if (s->text.len >= COPY_SHOW_BUFFER)
			more = shown_flush(s);
	}
	return shown_flush(s);
}

bool copy_show_is_meant(const struct arguments *args)
{
	return args->operands.n == 2 && !strcmp(args->operands.items[1], "-");
}

int first_look_check(const struct arguments *args, struct error *err)
{
	static const char *const flags[] = { "limit", "since" };

	if (arguments_has(args, "format"))
		return error_set(err, ERROR_CONFIG,
				 "--format is for rows on standard output; "
				 "write - in place of DESTINATION_URL");
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (arguments_has(args, flags[i]) &&
		    !arguments_has(args, "dry-run"))
			return error_set(
				err, ERROR_CONFIG,
				"--%s is for a first look, and a mark must not "
				"pass rows that were left out: add --dry-run, "
				"or look at the rows with tidemark copy "
				"PIPELINE -; a load is bounded by "
				"--max-batches",
				flags[i]);
	return 0;
}

static int show_check_flags(const struct arguments *args, struct error *err)
{
	static const char *const loads[] = {
		"to",	       "mode",	       "lag",	      "state",
		"name",	       "max-batches",  "max-seconds", "watch",
		"wait",	       "full-refresh", "verify",      "dry-run",
		"metrics-file"
	};
	const char *format = arguments_text(args, "format");

	for (size_t i = 0; i < ARRAY_SIZE(loads); i++)
		if (arguments_has(args, loads[i]))
			return error_set(err, ERROR_CONFIG,
					 "copy to - loads nothing; leave out "
					 "--%s",
					 loads[i]);
	if (format && strcmp(format, "ndjson") != 0 &&
	    strcmp(format, "csv") != 0)
		return error_set(err, ERROR_CONFIG,
				 "--format is ndjson or csv, found \"%.80s\"",
				 format);
	if (format && !strcmp(format, "csv") && arguments_has(args, "json"))
		return error_set(err, ERROR_CONFIG,
				 "--json and --format csv exclude each other");
	return 0;
}

/* A pipeline has a destination. This one is never opened. */
static int show_from_url(const struct arguments *args, struct settings *s,
			 struct error *err)
{
	const char *mark = arguments_text(args, "watermark");
	const struct copy_arguments c = {
		.source_url = args->operands.items[0],
		.destination_url = "sqlite:/dev/stdout",
		.table = arguments_text(args, "table"),
		.to = "rows",
		.key = arguments_text(args, "key"),
		.zero_dates = arguments_text(args, "zero-dates"),
		.watermark = mark ? mark : "sequence:-",
		.call = "",
	};

	urls_warn(c.source_url, NULL, NULL);
	if (!mark && arguments_has(args, "since"))
		return error_set(err, ERROR_CONFIG,
				 "--since needs the column that it is about: "
				 "--watermark timestamp:COLUMN or "
				 "sequence:COLUMN");
	return settings_from_copy(s, &c, err);
}

static int show_from_config(const struct arguments *args, struct settings *s,
			    struct error *err)
{
	static const struct flag flags[] = { COPIED_FLAGS };

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (arguments_has(args, flags[i].name))
			return error_set(err, ERROR_CONFIG,
					 "--%s goes with SOURCE_URL; a "
					 "pipeline of a config file has its "
					 "own",
					 flags[i].name);
	return config_open(args, s, err);
}

static const struct pipeline_settings *
show_pipeline(const struct arguments *args, const struct settings *s,
	      struct error *err)
{
	const struct pipeline_settings *p;

	if (!s->n_pipelines || s->pipelines[0].call)
		return s->pipelines;
	p = settings_pipeline(s, args->operands.items[0], err);
	return p && settings_fault(p, err) ? NULL : p;
}

/* A reader such as head that has enough is no fault. */
static int show_finish(int code, struct error *err)
{
	struct error ignored = ERROR_INIT;

	if (!output_is_broken())
		return code;
	output_finish(&ignored);
	error_clear(err);
	return 0;
}

int copy_show(const struct arguments *args, struct error *err)
{
	const char *format = arguments_text(args, "format");
	struct shown shown = { .csv = format && !strcmp(format, "csv"),
			       .terminal = output_is_terminal() };
	const struct show_options options = {
		.limit = arguments_number(args, "limit"),
		.since = arguments_text(args, "since"),
		.begin = shown_begin,
		.rows = shown_rows,
		.ctx = &shown,
	};
	const struct pipeline_settings *p;
	struct settings s = { 0 };
	int code = show_check_flags(args, err);

	row_values_show(arguments_has(args, "row-values"));
	if (!code)
		code = copied_is_url(args->operands.items[0])
			       ? show_from_url(args, &s, err)
			       : show_from_config(args, &s, err);
	if (code)
		return code;
	p = show_pipeline(args, &s, err);
	code = p ? show_rows(p, &options, err) : -(int)err->code;
	strbuf_release(&shown.text);
	settings_release(&s);
	return show_finish(code, err);
}
