#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/config.h"
#include "cli/copied.h"
#include "cli/output.h"
#include "cli/sync_run.h"
#include "cli/who.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/json_text.h"
#include "core/base/nearest.h"
#include "core/sync/letters/desk.h"
#include "core/sync/letters/letters.h"
#include "core/sync/tasks/letters.h"

static void letters_add_row(struct output_table *t, const struct dead_letter *l)
{
	char attempts[24], created[CLOCK_TEXT_SIZE];
	const char *cells[] = { l->id,		 l->pipeline, l->key,
				l->category,	 attempts,    created,
				l->error_message };

	snprintf(attempts, sizeof(attempts), "%" PRId64, l->attempts);
	clock_format_utc(l->created_at, created);
	output_table_row(t, cells);
}

static void letters_print(const struct dead_letter_list *list)
{
	static const struct output_column columns[] = {
		{ "ID", false },      { "PIPELINE", false },
		{ "KEY", false },     { "CATEGORY", false },
		{ "ATTEMPTS", true }, { "SINCE", false },
		{ "ERROR", false },
	};
	struct output_table *t = output_table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < list->n; i++)
		letters_add_row(t, &list->items[i]);
	output_table_print(t);
	output_table_free(t);
}

static void letters_print_json(const struct dead_letter_list *list, bool rows)
{
	json_t *json = json_array();

	for (size_t i = 0; i < list->n; i++)
		json_array_append_new(json, letter_json(&list->items[i], rows));
	output_json(json_pack("{s:o}", "dead_letters", json), false);
}

static bool letters_is_copied(const struct arguments *args, size_t i)
{
	return args->copied && !strcmp(args->operands.items[i], args->copied);
}

/* The operands behind the action, and --pipeline. */
static void letters_words(const struct arguments *args, bool pipelines,
			  struct strlist *names, struct strlist *ids)
{
	const char *pipeline = arguments_text(args, "pipeline");

	for (size_t i = 1; i < args->operands.n; i++)
		strlist_add(pipelines || letters_is_copied(args, i) ? names
								    : ids,
			    args->operands.items[i]);
	if (pipeline)
		strlist_add(names, pipeline);
}

static int letters_list(const struct arguments *args, const struct settings *s,
			struct error *err)
{
	struct strlist names = STRLIST_INIT, ids = STRLIST_INIT;
	const struct letter_wish wish = {
		.pipelines = &names,
		.ids = &ids,
		.limit = arguments_number(args, "limit"),
	};
	struct dead_letter_list list = { NULL, 0, 0 };
	int code;

	letters_words(args, true, &names, &ids);
	code = letter_desk_find(&list, s, &wish, err);
	if (!code && arguments_has(args, "json"))
		letters_print_json(&list, false);
	else if (!code)
		letters_print(&list);
	dead_letter_list_release(&list);
	strlist_release(&names);
	strlist_release(&ids);
	return code;
}

/* Find the named letters, each of which must exist. */
static int letters_named(const struct arguments *args, const struct settings *s,
			 bool rows, struct dead_letter_list *out,
			 struct error *err)
{
	struct strlist names = STRLIST_INIT, ids = STRLIST_INIT;
	const struct letter_wish wish = {
		.pipelines = &names,
		.ids = &ids,
		.rows = rows,
		.some = true,
	};
	int code = 0;

	letters_words(args, false, &names, &ids);
	if (!names.n && !ids.n)
		code = error_set(err, ERROR_CONFIG,
				 "dead-letters %s needs an ID, or --pipeline "
				 "for all of one; \"tidemark dead-letters "
				 "list\" shows them",
				 args->operands.items[0]);
	if (!code)
		code = letter_desk_find(out, s, &wish, err);
	strlist_release(&names);
	strlist_release(&ids);
	return code;
}

static char *letters_pretty(const char *json)
{
	json_t *value = json_loads(json, JSON_ALLOW_NUL, NULL);
	char *dumped = value ? json_text_dump(value, JSON_INDENT(2)) : NULL;
	char *text = xstrdup(dumped ? dumped : json);

	free(dumped);
	json_decref(value);
	return text;
}

static void letters_print_one(const struct dead_letter *l)
{
	char *row = letters_pretty(l->row);
	char created[CLOCK_TEXT_SIZE], updated[CLOCK_TEXT_SIZE];

	clock_format_utc(l->created_at, created);
	clock_format_utc(l->updated_at, updated);
	output_line("dead letter %s of pipeline %s", l->id, l->pipeline);
	output_line("key:     %s", l->key);
	output_line("error:   %s%s%s%s (%s)", l->error_message,
		    *l->server_code ? " [" : "", l->server_code,
		    *l->server_code ? "]" : "", l->category);
	output_line("tries:   %" PRId64 ", first %s, last %s", l->attempts,
		    created, updated);
	output_line("run:     %s, attempt %s, batch %s", l->run_id,
		    l->attempt_id, l->batch_id);
	output_text(l->truncated ? "row (long values are cut):\n" : "row:\n");
	output_text(row);
	output_text("\n");
	free(row);
}

static int letters_show(const struct arguments *args, const struct settings *s,
			struct error *err)
{
	struct dead_letter_list list = { NULL, 0, 0 };
	int code = letters_named(args, s, true, &list, err);

	if (!code && arguments_has(args, "json"))
		letters_print_json(&list, true);
	for (size_t i = 0; !code && !arguments_has(args, "json") && i < list.n;
	     i++)
		letters_print_one(&list.items[i]);
	dead_letter_list_release(&list);
	return code;
}

static int letters_discard(const struct arguments *args,
			   const struct settings *s, struct error *err)
{
	struct dead_letter_list list = { NULL, 0, 0 };
	int code = letters_named(args, s, false, &list, err);
	char *who = who_calls();

	if (!code)
		code = letter_desk_discard(s, &list, who, err);
	free(who);
	if (!code && arguments_has(args, "json")) {
		letters_print_json(&list, false);
	} else if (!code) {
		for (size_t i = 0; i < list.n; i++)
			output_line("%s discarded: row %s of %s stays away "
				    "until it changes at the source",
				    list.items[i].id, list.items[i].key,
				    list.items[i].pipeline);
	}
	dead_letter_list_release(&list);
	return code;
}

static int letters_note_replay(struct store *store, const char *who,
			       const void *what, struct error *err)
{
	return letter_desk_note(store, what, who, "replay", err);
}

static int letters_replay(const struct arguments *args,
			  const struct settings *s, struct error *err)
{
	struct dead_letter_list list = { NULL, 0, 0 };
	struct letters_task task;
	const struct pipeline_settings **pipelines = NULL;
	size_t n = 0;
	int code = letters_named(args, s, false, &list, err);

	letters_task_init(&task, &list);
	if (!code)
		code = letter_desk_pipelines(s, &list, &pipelines, &n, err);
	if (!code)
		code = sync_run(args, s, pipelines, n, &task.task, err);
	if (!code)
		who_has_done(s, letters_note_replay, &list);
	free((void *)pipelines);
	dead_letter_list_release(&list);
	return code;
}

static const struct {
	const char *name;
	int (*run)(const struct arguments *args, const struct settings *s,
		   struct error *err);
} letters_actions[] = {
	{ "list", letters_list },
	{ "show", letters_show },
	{ "replay", letters_replay },
	{ "discard", letters_discard },
};

static int letters_unknown(const char *word, struct error *err)
{
	const char *names[ARRAY_SIZE(letters_actions)], *near;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		names[i] = letters_actions[i].name;
	near = nearest_name(word, names, ARRAY_SIZE(names));
	error_set(err, ERROR_CONFIG,
		  "dead-letters does not know \"%s\"; it takes list, show, "
		  "replay or discard",
		  word);
	if (near)
		error_hint(err, "(did you mean \"%s\"?)", near);
	return -(int)err->code;
}

/* A flag of another action is refused. It could be taken for something else: a
 * discard of the newest few, say. */
static int letters_check_flags(const struct arguments *args, const char *word,
			       struct error *err)
{
	static const struct {
		const char *flag, *action;
	} of[] = { { "limit", "list" }, { "wait", "replay" } };

	for (size_t i = 0; i < ARRAY_SIZE(of); i++)
		if (arguments_has(args, of[i].flag) &&
		    strcmp(word, of[i].action) != 0)
			return error_set(err, ERROR_CONFIG,
					 "--%s is for dead-letters %s; "
					 "nothing is done",
					 of[i].flag, of[i].action);
	return 0;
}

static int letters_run(const struct arguments *args, struct error *err)
{
	const char *word = args->operands.n ? args->operands.items[0] : "list";
	struct arguments now;
	struct settings s;
	size_t i = 0;
	int code;

	while (i < ARRAY_SIZE(letters_actions) &&
	       strcmp(letters_actions[i].name, word) != 0)
		i++;
	if (i == ARRAY_SIZE(letters_actions))
		return letters_unknown(word, err);
	code = letters_check_flags(args, word, err);
	if (code)
		return code;
	code = copied_load(args, false, &now, &s, err);
	if (code)
		return code;
	code = letters_actions[i].run(&now, &s, err);
	copied_release(&now, &s);
	return code;
}

static const struct flag letters_flags[] = {
	COPIED_FLAGS,
	{ "pipeline", 0, FLAG_TEXT, "PIPELINE",
	  "the letters of this one; beside IDs: those must be of it" },
	{ "limit", 0, FLAG_COUNT, "N", "list: the newest N (default: all)" },
	{ "wait", 0, FLAG_DURATION, "DURATION",
	  "replay: for a run of the pipeline to end" },
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_dead_letters = {
	.name = "dead-letters",
	.operands = "[list [PIPELINE...] | show ID | replay ID... | "
		    "discard ID...] [SOURCE_URL DESTINATION_URL --table T]",
	.max_operands = OPERANDS_ANY,
	.summary = "rows that the destination refused, kept aside",
	.details = "Under on_bad_row: dead_letter they are kept while the "
		   "others are loaded. replay\n"
		   "reads each row from the source by its key, as it is today, "
		   "and loads it. A row\n"
		   "that goes in leaves the list. A row that is refused again "
		   "(exit 5), or is not\n"
		   "found, stays on it. A row that was mended at the source "
		   "and is loaded by a run\n"
		   "leaves the list by itself. discard only forgets the "
		   "letter: the row stays away\n"
		   "until it changes at the source.",
	.example = "tidemark dead-letters replay --pipeline orders",
	.flags = letters_flags,
	.run = letters_run,
};
