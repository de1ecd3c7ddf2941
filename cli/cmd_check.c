#include <stdlib.h>

#include "cli/commands.h"
#include "cli/config.h"
#include "cli/copied.h"
#include "cli/output.h"
#include "core/base/log.h"
#include "core/base/stop.h"
#include "core/sync/report/check.h"

static void check_print_columns(const struct check_result *r)
{
	static const struct output_column columns[] = {
		{ "COLUMN", false },
		{ "SOURCE TYPE", false },
		{ "DESTINATION TYPE", false },
		{ "MAPPING", false },
	};
	struct output_table *t = output_table_new(columns, 4);

	for (size_t i = 0; i < r->n_columns; i++) {
		const struct check_column *c = &r->columns[i];
		const char *cells[] = {
			c->name, c->source_type, c->destination_type,
			c->destination_type ? mapping_name(c->mapping) : NULL
		};

		output_table_row(t, cells);
	}
	output_table_print(t);
	output_table_free(t);
}

static void check_print(const struct check_result *r)
{
	const char *name = r->pipeline->name;

	output_line("%s: %s", name,
		    check_result_error(r) ? "a run would fail" : "ok");
	if (r->n_columns)
		check_print_columns(r);
	for (size_t i = 0; i < r->problems.n; i++) {
		const struct problem *p = &r->problems.items[i];

		output_line("%s: %s %s: %s", name, severity_name(p->severity),
			    p->code, p->message);
		if (p->fix && *p->fix)
			output_line("%s:   fix: %s", name, p->fix);
	}
	if (r->settled)
		output_line("%s: guarantee %s%s%s", name,
			    guarantee_name(r->guarantee),
			    *r->guarantee_reason ? ": " : "",
			    r->guarantee_reason);
	for (size_t i = 0; i < r->ddl.n; i++)
		output_line("%s: the first run does: %s", name,
			    r->ddl.items[i]);
}

static void check_show(const struct check_result *r, json_t *list)
{
	if (list)
		json_array_append_new(list, check_result_json(r));
	else
		check_print(r);
}

/* The code of the first pipeline that a run would fail with, negated. */
static int check_each(const struct pipeline_settings *const *pipelines,
		      size_t n, const struct connection *state, json_t *list,
		      struct error *err)
{
	int code = 0;

	for (size_t i = 0; i < n && !stop_requested(); i++) {
		struct check_result r;

		log_set_pipeline(pipelines[i]->name);
		check_pipeline(pipelines[i], state, &r);
		log_set_pipeline("");
		/* A check that was cut short says nothing of the pipeline. */
		if (!stop_requested()) {
			check_show(&r, list);
			code = code ? code : -(int)check_result_error(&r);
		}
		check_result_release(&r);
	}
	if (stop_requested())
		return error_set(err, ERROR_STOPPED, "stopped by a signal");
	return code;
}

static int check_all(const struct arguments *args, const struct settings *s,
		     const struct pipeline_settings *const *pipelines, size_t n,
		     struct error *err)
{
	json_t *list = arguments_has(args, "json") ? json_array() : NULL;
	int code = check_each(pipelines, n, s->state, list, err);

	if (list)
		output_json(json_pack("{s:o}", "pipelines", list), false);
	return code;
}

static int check_run(const struct arguments *args, struct error *err)
{
	return copied_use(args, check_all, err);
}

static const struct flag check_flags[] = {
	COPIED_FLAGS,
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_check = {
	.name = "check",
	.operands = "[PIPELINE... | SOURCE_URL DESTINATION_URL --table T]",
	.max_operands = OPERANDS_ANY,
	.summary = "look at config, connections, keys and types; write nothing",
	.details = "Prints how each column is mapped (exact, widened, lossy), "
		   "and the guarantee that\n"
		   "would be in force. Prints each obstacle to a run, and how "
		   "to remove it.",
	.example = "tidemark check orders",
	.flags = check_flags,
	.run = check_run,
};
