#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/config.h"
#include "cli/copied.h"
#include "cli/output.h"
#include "cli/who.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/store/session.h"
#include "core/sync/pace/desk.h"
#include "core/sync/parts/state.h"

struct pace_lines {
	struct output_table *table;
	const struct pace_view *view;
};

static void pace_add_row(void *ctx, const char *key, const char *value,
			 bool set)
{
	const struct pace_lines *lines = ctx;
	char since[CLOCK_TEXT_SIZE];
	const struct pace_view *v = lines->view;
	const char *cells[] = { v->p->name, key, *value ? value : NULL,
				set ? since : "config",
				set && *v->changed_by ? v->changed_by : NULL };

	clock_format_utc(v->changed_at, since);
	output_table_row(lines->table, cells);
}

static void pace_print(const struct pace_view *views, size_t n)
{
	static const struct output_column columns[] = {
		{ "PIPELINE", false }, { "KEY", false }, { "VALUE", true },
		{ "SET", false },      { "BY", false },
	};
	struct output_table *t = output_table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < n; i++) {
		struct pace_lines lines = { t, &views[i] };
		pace_view_each(&views[i], pace_add_row, &lines);
	}
	output_table_print(t);
	output_table_free(t);
}

static void pace_print_json(const struct pace_view *views, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, pace_view_json(&views[i]));
	output_json(json_pack("{s:o}", "pipelines", list), false);
}

static int pace_show(const struct arguments *args, struct store *store,
		     const struct pipeline_settings *const *pipelines, size_t n,
		     struct error *err)
{
	struct pace_view *views = xcalloc(n + 1, sizeof(*views));
	int code = 0;

	for (size_t i = 0; !code && i < n; i++)
		code = pace_desk_look(store, pipelines[i], &views[i], err);
	if (!code && arguments_has(args, "json"))
		pace_print_json(views, n);
	else if (!code)
		pace_print(views, n);
	for (size_t i = 0; i < n; i++)
		pace_view_release(&views[i]);
	free(views);
	return code;
}

/* One pipeline, then KEY=VALUE words; without those it is shown alone. */
static int pace_change_one(const struct arguments *args, struct store *store,
			   const struct settings *s, struct error *err)
{
	const struct strlist *words = &args->operands;
	const struct pipeline_settings *p =
		settings_pipeline(s, words->items[0], err);
	char *who;
	int code;

	if (!p)
		return -(int)err->code;
	who = who_calls();
	code = pace_desk_change(store, p, arguments_has(args, "clear"),
				words->items + 1, words->n - 1, who, err);
	free(who);
	return code ? code : pace_show(args, store, &p, 1, err);
}

static bool pace_has_words(const struct arguments *args)
{
	for (size_t i = 1; i < args->operands.n; i++) {
		if (strchr(args->operands.items[i], '='))
			return true;
	}
	return arguments_has(args, "clear");
}

static int pace_selected(const struct arguments *args, struct store *store,
			 const struct settings *s, struct error *err)
{
	const struct pipeline_settings *const *pipelines;
	size_t n;
	int code = config_select(args, 0, s, &pipelines, &n, err);

	if (code)
		return code;
	code = pace_show(args, store, pipelines, n, err);
	free((void *)pipelines);
	return code;
}

static int pace_run(const struct arguments *args, struct error *err)
{
	bool change = pace_has_words(args);
	struct store *store = NULL;
	struct arguments now;
	struct settings s;
	int code;

	if (change && !args->operands.n)
		return error_set(err, ERROR_CONFIG,
				 "pace --clear needs a PIPELINE (see tidemark "
				 "help pace)");
	code = copied_load(args, false, &now, &s, err);
	if (code)
		return code;
	code = state_open(&s, &store, err);
	if (!code)
		code = change ? pace_change_one(&now, store, &s, err)
			      : pace_selected(&now, store, &s, err);
	store_close(store);
	copied_release(&now, &s);
	return code;
}

static const struct flag pace_flags[] = {
	COPIED_FLAGS,
	{ "clear", 0, FLAG_SWITCH, NULL,
	  "forget what was set here: the config holds again" },
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_pace = {
	.name = "pace",
	.operands = "[PIPELINE... | PIPELINE KEY=VALUE...], a copy as "
		    "SOURCE_URL DESTINATION_URL --table T",
	.max_operands = OPERANDS_ANY,
	.summary = "show or change how gently a pipeline reads, while it runs",
	.details = "Settings made here override the config's pace until they "
		   "are cleared. They are\n"
		   "kept in the state store, and a run that is under way "
		   "follows them within\n"
		   "seconds. KEY is one of rows_per_second, bytes_per_second, "
		   "replica_lag,\n"
		   "max_active and pause_file; 0 (or nothing) is off.",
	.example = "tidemark pace orders rows_per_second=500",
	.flags = pace_flags,
	.run = pace_run,
};
