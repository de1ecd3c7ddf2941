#include "cli/copied.h"

#include <stdlib.h>
#include <string.h>

#include "cli/urls.h"
#include "core/base/log.h"
#include "core/base/row_values.h"
#include "core/base/shell.h"
#include "core/base/strbuf.h"
#include "core/sync/parts/ends.h"
#include "core/sync/report/copy_name.h"
#include "core/sync/report/propose.h"

bool copied_is_url(const char *word)
{
	size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789+");

	return n > 1 && word[n] == ':';
}

/* Where SOURCE_URL stands; -1: there is none. */
static long copied_find(const struct arguments *args)
{
	for (size_t i = 0; i < args->operands.n; i++)
		if (copied_is_url(args->operands.items[i]))
			return (long)i;
	return -1;
}

/* The flags of this command, by the names that `copy` gives them. */
static const char *copied_flag(const struct arguments *args, const char *name)
{
	const struct flag *f = args->command->flags;

	if (strcmp(name, "to") != 0)
		return name;
	while (f->name && strcmp(f->name, "into") != 0)
		f++;
	return f->name ? f->name : name;
}

static int copied_check_meant(const struct arguments *args, long at,
			      struct error *err)
{
	static const struct flag flags[] = { COPIED_FLAGS };
	size_t next = (size_t)at + 1;

	if (at >= 0 && (next >= args->operands.n ||
			!copied_is_url(args->operands.items[next])))
		return error_set(err, ERROR_CONFIG,
				 "%s takes pipelines of a config file, or "
				 "SOURCE_URL and DESTINATION_URL",
				 args->command->name);
	for (size_t i = 0; at < 0 && i < sizeof(flags) / sizeof(*flags); i++) {
		const char *name = copied_flag(args, flags[i].name);

		if (arguments_has(args, name))
			return error_set(err, ERROR_CONFIG,
					 "--%s goes with SOURCE_URL and "
					 "DESTINATION_URL; a pipeline of a "
					 "config file has its own",
					 name);
	}
	return 0;
}

static void copied_fill(const struct arguments *args, long at,
			struct copy_arguments *out)
{
	out->source_url = args->operands.items[at];
	out->destination_url = args->operands.items[at + 1];
	out->table = arguments_text(args, "table");
	out->to = arguments_text(args, copied_flag(args, "to"));
	out->watermark = arguments_text(args, "watermark");
	out->mode = arguments_text(args, "mode");
	out->key = arguments_text(args, "key");
	out->lag = arguments_text(args, "lag");
	out->zero_dates = arguments_text(args, "zero-dates");
	out->state = arguments_text(args, "state");
	out->name = arguments_text(args, "name");
}

static void copied_add_word(struct strbuf *sb, const char *word)
{
	char *shown = urls_shown(word);

	shell_add_word(sb, shown);
	free(shown);
}

/* The arguments that name this pipeline on a command line: the URLs as they
 * were given, but for passwords, and the flags. */
static char *copied_call(const struct arguments *args, long at)
{
	static const struct flag flags[] = { COPIED_FLAGS };
	struct strbuf sb = STRBUF_INIT;

	copied_add_word(&sb, args->operands.items[at]);
	strbuf_addch(&sb, ' ');
	copied_add_word(&sb, args->operands.items[at + 1]);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		const char *text =
			arguments_text(args, copied_flag(args, flags[i].name));

		if (!text)
			continue;
		strbuf_addf(&sb, " --%s ", flags[i].name);
		copied_add_word(&sb, text);
	}
	return strbuf_detach(&sb);
}

/* No --watermark: the source says what it would take. */
static int copied_suggest(struct copy_arguments *c, char **watermark,
			  struct error *err)
{
	struct copy_arguments guess = *c;
	struct settings s;
	char *reason = NULL;
	int code;

	/* Any strategy will do to open the source. */
	guess.watermark = "sequence:id";
	guess.lag = NULL;
	code = settings_from_copy(&s, &guess, err);
	if (code)
		return code;
	code = propose_watermark(&s.pipelines[0], c->table, watermark, &reason,
				 err);
	if (!code) {
		log_info("no --watermark given; taking --watermark %s: %s",
			 *watermark, reason);
		c->watermark = *watermark;
	}
	free(reason);
	settings_release(&s);
	return code;
}

/* The end that does not answer is tried by the run once more, no oftener. */
static int copied_name(struct settings *s, bool named, bool runs,
		       struct ends *ends, struct error *err)
{
	int code = copy_name_find(s, named, ends, err);

	if (!code || !runs || err->code == ERROR_STOPPED)
		return code;
	log_debug("the tables did not say how the pipeline is called: %s",
		  err->message);
	error_clear(err);
	s->pipelines[0].retry.attempts = 1;
	return 0;
}

static void copied_replace(const struct arguments *args, long at,
			   const char *name, struct arguments *out)
{
	*out = *args;
	out->operands = (struct strlist)STRLIST_INIT;
	out->copied = name;
	for (long i = 0; i < (long)args->operands.n; i++)
		if (i == at)
			strlist_add(&out->operands, name);
		else if (at < 0 || i != at + 1)
			strlist_add(&out->operands, args->operands.items[i]);
}

static int copied_make(const struct arguments *args, long at, bool runs,
		       struct settings *s, struct ends *ends, struct error *err)
{
	struct copy_arguments c = { .call = NULL };
	char *watermark = NULL;
	int code = 0;

	copied_fill(args, at, &c);
	urls_warn(c.source_url, c.destination_url, c.state);
	if (!c.table)
		code = error_set(err, ERROR_CONFIG,
				 "%s needs --table SCHEMA.TABLE",
				 args->command->name);
	if (!code)
		c.call = copied_call(args, at);
	if (!code && !c.watermark)
		code = copied_suggest(&c, &watermark, err);
	if (!code)
		code = settings_from_copy(s, &c, err);
	if (!code && (runs || !c.name)) {
		code = copied_name(s, c.name != NULL, runs, ends, err);
		if (code)
			settings_release(s);
	}
	free((char *)c.call);
	free(watermark);
	return code;
}

/* As copied_load(), with what naming the pipeline has opened. */
static int copied_open(const struct arguments *args, bool runs,
		       struct arguments *out, struct settings *s,
		       struct ends *ends, struct error *err)
{
	long at = copied_find(args);
	int code = copied_check_meant(args, at, err);

	if (!code && at < 0)
		code = config_open(args, s, err);
	else if (!code)
		code = copied_make(args, at, runs, s, ends, err);
	if (code)
		return code;
	copied_replace(args, at, at < 0 ? NULL : s->pipelines[0].name, out);
	return 0;
}

int copied_load(const struct arguments *args, bool runs, struct arguments *out,
		struct settings *s, struct error *err)
{
	struct ends ends = { 0 };
	int code = copied_open(args, runs, out, s, &ends, err);

	ends_close(&ends);
	return code;
}

void copied_release(struct arguments *args, struct settings *s)
{
	strlist_release(&args->operands);
	settings_release(s);
}

static int copied_do(const struct arguments *args, const struct settings *s,
		     config_user use, struct error *err)
{
	const struct pipeline_settings *const *pipelines;
	size_t n;
	int code = config_select(args, 0, s, &pipelines, &n, err);

	if (code)
		return code;
	code = use(args, s, pipelines, n, err);
	free((void *)pipelines);
	return code;
}

int copied_use(const struct arguments *args, config_user use, struct error *err)
{
	struct arguments now;
	struct settings s;
	int code = copied_load(args, false, &now, &s, err);

	if (code)
		return code;
	code = copied_do(&now, &s, use, err);
	copied_release(&now, &s);
	return code;
}

/* A session that waits for another run would hold the file which that one
 * writes, and a dry run opens its ends otherwise. */
static bool copied_goes_on(const struct arguments *args)
{
	return !arguments_has(args, "wait") && !arguments_has(args, "dry-run");
}

int copied_run(const struct arguments *args, config_user use, struct error *err)
{
	struct ends ends = { 0 };
	struct arguments now;
	struct settings s;
	int code;

	row_values_show(arguments_has(args, "row-values"));
	code = copied_open(args, true, &now, &s, &ends, err);

	if (code)
		return code;
	if (copied_goes_on(args))
		s.pipelines[0].ends = &ends;
	else
		ends_close(&ends);
	code = copied_do(&now, &s, use, err);
	ends_close(&ends);
	copied_release(&now, &s);
	return code;
}
