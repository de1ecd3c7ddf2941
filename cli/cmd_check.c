#include <stdlib.h>

#include "cli/check_print.h"
#include "cli/commands.h"
#include "cli/config.h"
#include "cli/copied.h"
#include "cli/output.h"
#include "core/base/log.h"
#include "core/base/stop.h"
#include "core/sync/report/check.h"

static void check_show(const struct check_result *r, json_t *list,
		       struct check_report *report)
{
	if (list)
		json_array_append_new(list, check_result_json(r));
	else
		check_report_add(report, r);
}

/* The code of the first pipeline that a run would fail with, negated. */
static int check_each(const struct pipeline_settings *const *pipelines,
		      size_t n, const struct connection *state, json_t *list,
		      struct check_report *report, struct error *err)
{
	int code = 0;

	for (size_t i = 0; i < n && !stop_requested(); i++) {
		struct check_result r;

		log_set_pipeline(pipelines[i]->name);
		check_pipeline(pipelines[i], state, &r);
		log_set_pipeline("");
		/* A check that was cut short says nothing of the pipeline. */
		if (!stop_requested()) {
			check_show(&r, list, report);
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
	const struct check_report_options options = {
		.columns = arguments_has(args, "columns"),
		.quiet = arguments_has(args, "quiet"),
		.all = arguments_has(args, "verbose"),
	};
	json_t *list = arguments_has(args, "json") ? json_array() : NULL;
	struct check_report *report = check_report_new(&options);
	int code = check_each(pipelines, n, s->state, list, report, err);

	if (list)
		output_json(json_pack("{s:o}", "pipelines", list), false);
	else
		check_report_print(report);
	check_report_free(report);
	return code;
}

static int check_run(const struct arguments *args, struct error *err)
{
	return copied_use(args, check_all, err);
}

static const struct flag check_flags[] = {
	COPIED_FLAGS,
	{ "columns", 0, FLAG_SWITCH, NULL,
	  "how each column is mapped, and the statements of the first run" },
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_check = {
	.name = "check",
	.operands = "[PIPELINE... | SOURCE_URL DESTINATION_URL --table T]",
	.max_operands = OPERANDS_ANY,
	.summary = "look at config, connections, keys and types; write nothing",
	.details = "Prints each obstacle to a run, and how to remove it: "
		   "errors, then warnings,\n"
		   "and what many pipelines share once. Behind that come the "
		   "guarantees that would\n"
		   "be in force, and a sum. -q prints the problems alone, -v "
		   "every name.\n"
		   "--columns prints how each column is mapped: exact, "
		   "widened or lossy.",
	.example = "tidemark check orders",
	.flags = check_flags,
	.run = check_run,
};
