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
#include "core/base/nearest.h"
#include "core/store/controls.h"
#include "core/sync/ledger/history.h"
#include "core/sync/tasks/replay.h"

#define RUNS_LIMIT 20

static void runs_add_row(struct output_table *t, const struct history_run *r)
{
	const struct attempt *last =
		r->attempts.n ? &r->attempts.items[0] : NULL;
	char when[CLOCK_TEXT_SIZE], n[24], rows[24];
	char *from = output_watermark(r->run.window_from);
	char *to = output_watermark(r->run.window_to);
	const char *cells[] = { r->run.run_id,
				r->run.pipeline,
				r->run.state,
				when,
				n,
				rows,
				from,
				to,
				NULL };

	clock_format_utc(last ? last->started_at : r->run.created_at, when);
	snprintf(n, sizeof(n), "%zu%s", r->attempts.n,
		 r->attempts.n == HISTORY_ATTEMPTS ? "+" : "");
	snprintf(rows, sizeof(rows), "%" PRId64, last ? last->rows_read : 0);
	cells[8] = last ? last->error_message : NULL;
	output_table_row(t, cells);
	free(from);
	free(to);
}

static void runs_print(const struct history *h)
{
	static const struct output_column columns[] = {
		{ "RUN", false },     { "PIPELINE", false },
		{ "STATE", false },   { "LAST ATTEMPT", false },
		{ "ATTEMPTS", true }, { "ROWS", true },
		{ "FROM", false },    { "TO", false },
		{ "ERROR", false },
	};
	struct output_table *t = output_table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < h->n; i++)
		runs_add_row(t, &h->runs[i]);
	output_table_print(t);
	output_table_free(t);
}

static void runs_print_json(const struct history *h)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->n; i++)
		json_array_append_new(list, history_run_json(&h->runs[i]));
	output_json(json_pack("{s:o}", "runs", list), false);
}

static int runs_list(const struct arguments *args, const struct settings *s,
		     struct error *err)
{
	const struct pipeline_settings *const *pipelines;
	int64_t limit = arguments_number(args, "limit");
	struct history h = { NULL, 0 };
	size_t n;
	int code = config_select(args, 1, s, &pipelines, &n, err);

	if (code)
		return code;
	/* Without names also those that the config has no more. */
	if (args->operands.n < 2)
		n = 0;
	code = history_list(&h, s, pipelines, n, limit ? limit : RUNS_LIMIT,
			    err);
	if (!code && arguments_has(args, "json"))
		runs_print_json(&h);
	else if (!code)
		runs_print(&h);
	history_release(&h);
	free((void *)pipelines);
	return code;
}

static void runs_print_hooks(const struct history_run *r)
{
	static const struct output_column columns[] = {
		{ "ATTEMPT", false }, { "HOOK", false },  { "AT", false },
		{ "TIME", true },     { "ERROR", false },
	};
	struct output_table *t;

	if (!r->hooks.n)
		return;
	output_text("\n");
	t = output_table_new(columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < r->hooks.n; i++) {
		const struct hook_record *h = &r->hooks.items[i];
		char at[CLOCK_TEXT_SIZE], took[24], name[40];
		const char *cells[] = { h->attempt_id, name, at, took,
					h->error_message };

		clock_format_utc(h->started_at, at);
		snprintf(name, sizeof(name), "%s[%" PRId64 "]", h->hook,
			 h->number);
		snprintf(took, sizeof(took), "%.3f s",
			 (double)(h->ended_at - h->started_at) /
				 (double)US_PER_SECOND);
		output_table_row(t, cells);
	}
	output_table_print(t);
	output_table_free(t);
}

static void runs_print_batches(const struct history_run *r)
{
	static const struct output_column columns[] = {
		{ "ATTEMPT", false },  { "BATCH", true },
		{ "AT", false },       { "ROWS", true },
		{ "INSERTED", true },  { "UPDATED", true },
		{ "UNCHANGED", true }, { "DEAD LETTERS", true },
		{ "READ", true },      { "LOAD", true },
		{ "TO", false },       { "ERROR", false },
	};
	struct output_table *t = output_table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < r->batches.n; i++) {
		const struct batch_record *b = &r->batches.items[i];
		const int64_t numbers[] = { b->number,	  b->rows,
					    b->inserted,  b->updated,
					    b->unchanged, b->dead_lettered };
		char texts[6][24], at[CLOCK_TEXT_SIZE], read[24], load[24];
		char *to = output_watermark(b->watermark);
		const char *cells[] = {
			b->attempt_id, texts[0], at,	   texts[1],
			texts[2],      texts[3], texts[4], texts[5],
			read,	       load,	 to,	   b->error_message
		};

		for (size_t k = 0; k < ARRAY_SIZE(numbers); k++)
			snprintf(texts[k], sizeof(texts[k]), "%" PRId64,
				 numbers[k]);
		clock_format_utc(b->at, at);
		snprintf(read, sizeof(read), "%.3f s",
			 (double)b->read_us / (double)US_PER_SECOND);
		snprintf(load, sizeof(load), "%.3f s",
			 (double)b->load_us / (double)US_PER_SECOND);
		output_table_row(t, cells);
		free(to);
	}
	output_table_print(t);
	output_table_free(t);
}

static void runs_print_attempts(const struct history_run *r)
{
	static const struct output_column columns[] = {
		{ "ATTEMPT", false }, { "STATE", false }, { "STARTED", false },
		{ "ENDED", false },   { "HOST", false },  { "PID", true },
		{ "BATCHES", true },  { "ROWS", true },	  { "ERROR", false },
	};
	struct output_table *t = output_table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < r->attempts.n; i++) {
		const struct attempt *a = &r->attempts.items[i];
		char started[CLOCK_TEXT_SIZE], ended[CLOCK_TEXT_SIZE];
		char pid[24], batches[24], rows[24];
		const char *cells[] = {
			a->attempt_id,	 a->state,
			started,	 a->ended_at ? ended : NULL,
			a->host,	 pid,
			batches,	 rows,
			a->error_message
		};

		clock_format_utc(a->started_at, started);
		clock_format_utc(a->ended_at, ended);
		snprintf(pid, sizeof(pid), "%" PRId64, a->pid);
		snprintf(batches, sizeof(batches), "%" PRId64, a->batches);
		snprintf(rows, sizeof(rows), "%" PRId64, a->rows_read);
		output_table_row(t, cells);
	}
	output_table_print(t);
	output_table_free(t);
}

static int runs_need_one(const struct arguments *args, struct error *err)
{
	if (args->operands.n == (args->copied ? 3 : 2))
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "runs %s needs one RUN; \"tidemark runs list\" shows "
			 "their ids",
			 args->operands.items[0]);
}

/* The operand that is no pipeline's name. */
static const char *runs_one(const struct arguments *args)
{
	const char *word = args->operands.items[1];

	return args->copied && !strcmp(word, args->copied)
		       ? args->operands.items[2]
		       : word;
}

static int runs_show(const struct arguments *args, const struct settings *s,
		     struct error *err)
{
	struct history h = { NULL, 0 };
	int code = runs_need_one(args, err);

	if (!code)
		code = history_show(&h, s, runs_one(args), err);
	if (!code && arguments_has(args, "json")) {
		runs_print_json(&h);
	} else if (!code) {
		runs_print(&h);
		output_text("\n");
		runs_print_attempts(&h.runs[0]);
		output_text("\n");
		runs_print_batches(&h.runs[0]);
		runs_print_hooks(&h.runs[0]);
	}
	history_release(&h);
	return code;
}

static int runs_note_replay(struct store *store, const char *who,
			    const void *what, struct error *err)
{
	const struct replay *replay = what;

	return store_control_note(store, replay->pipeline->name, who, "replay",
				  replay->runs.items[0].run_id, err);
}

static int runs_replay(const struct arguments *args, const struct settings *s,
		       struct error *err)
{
	struct replay replay;
	int code = runs_need_one(args, err);

	if (code)
		return code;
	code = replay_find(&replay, s, runs_one(args), err);
	if (!code)
		code = sync_run(args, s, &replay.pipeline, 1, &replay.task,
				err);
	if (!code)
		who_has_done(s, runs_note_replay, &replay);
	replay_release(&replay);
	return code;
}

static const struct {
	const char *name;
	int (*run)(const struct arguments *args, const struct settings *s,
		   struct error *err);
} runs_actions[] = {
	{ "list", runs_list },
	{ "show", runs_show },
	{ "replay", runs_replay },
};

static int runs_unknown(const char *word, struct error *err)
{
	const char *names[ARRAY_SIZE(runs_actions)], *near;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		names[i] = runs_actions[i].name;
	near = nearest_name(word, names, ARRAY_SIZE(names));
	error_set(err, ERROR_CONFIG,
		  "runs does not know \"%s\"; it takes list, show or replay",
		  word);
	if (near)
		error_hint(err, "(did you mean \"%s\"?)", near);
	return -(int)err->code;
}

static int runs_run(const struct arguments *args, struct error *err)
{
	const char *word = args->operands.n ? args->operands.items[0] : "list";
	struct arguments now;
	struct settings s;
	size_t i = 0;
	int code;

	while (i < ARRAY_SIZE(runs_actions) &&
	       strcmp(runs_actions[i].name, word) != 0)
		i++;
	if (i == ARRAY_SIZE(runs_actions))
		return runs_unknown(word, err);
	code = copied_load(args, false, &now, &s, err);
	if (code)
		return code;
	code = runs_actions[i].run(&now, &s, err);
	copied_release(&now, &s);
	return code;
}

static const struct flag runs_flags[] = {
	COPIED_FLAGS,
	{ "limit", 0, FLAG_COUNT, "N", "list: the newest N (default: 20)" },
	{ "wait", 0, FLAG_DURATION, "DURATION",
	  "replay: for another run of the pipeline to end" },
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_runs = {
	.name = "runs",
	.operands = "[list [PIPELINE...] | show RUN | replay RUN] "
		    "[SOURCE_URL DESTINATION_URL --table T]",
	.max_operands = OPERANDS_ANY,
	.summary = "list or replay runs, show their attempts and batches",
	.details = "A run is a window of a pipeline; every try of it is an "
		   "attempt. replay reads the\n"
		   "window again and loads it under the identities its batches "
		   "had. Rows that are\n"
		   "right at the destination stay as they are, and so does the "
		   "mark. A run that\n"
		   "loaded nothing has no window to read.",
	.example = "tidemark runs show 5f0c... --json",
	.flags = runs_flags,
	.run = runs_run,
};
