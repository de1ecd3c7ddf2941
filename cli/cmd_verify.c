#include <inttypes.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/config.h"
#include "cli/output.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stop.h"
#include "core/sync/verify.h"

static char *verify_cell(const json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY |
					       JSON_REAL_PRECISION(15));
	char *copy = xstrdup(text ? text : "-");

	free(text);
	return copy;
}

static void verify_add_row(struct output_table *t, const json_t *example)
{
	char *key = verify_cell(json_object_get(example, "key"));
	char *source = verify_cell(json_object_get(example, "source"));
	char *destination =
		verify_cell(json_object_get(example, "destination"));
	const char *cells[] = { json_string_value(
					json_object_get(example, "kind")),
				key, source, destination };

	output_table_row(t, cells);
	free(key);
	free(source);
	free(destination);
}

static void verify_print_examples(const struct verify_result *r, bool values)
{
	static const struct output_column columns[] = {
		{ "KIND", false },
		{ "KEY", false },
		{ "SOURCE", false },
		{ "DESTINATION", false },
	};
	struct output_table *t;

	if (!json_array_size(r->examples))
		return;
	t = output_table_new(columns, values ? 4 : 2);
	for (size_t i = 0; i < json_array_size(r->examples); i++)
		verify_add_row(t, json_array_get(r->examples, i));
	output_table_print(t);
	output_table_free(t);
}

static void verify_print(const struct verify_result *r, bool values)
{
	const char *name = r->pipeline->name;
	char sums[COMPARE_SIDES][DIGEST_TEXT_SIZE];

	if (!r->done) {
		output_line("%s: not verified: %s", name, r->error.message);
		return;
	}
	for (size_t i = 0; i < COMPARE_SIDES; i++)
		digest_text(&r->rows[i], sums[i]);
	output_line("%s: %s: %" PRId64 " missing, %" PRId64 " extra, %" PRId64
		    " different, %" PRId64 " unsettled; %.3f s",
		    name, verify_result_equal(r) ? "equal" : "not equal",
		    r->missing, r->extra, r->different, r->unsettled,
		    (double)r->elapsed_us / (double)US_PER_SECOND);
	output_line("%s: source %" PRIu64 " rows, checksum %s", name,
		    r->rows[COMPARE_SOURCE].rows, sums[COMPARE_SOURCE]);
	output_line("%s: destination %" PRIu64 " rows, checksum %s", name,
		    r->rows[COMPARE_DESTINATION].rows,
		    sums[COMPARE_DESTINATION]);
	verify_print_examples(r, values);
}

/* One pipeline; what went wrong is logged, and the first of all kept. */
static void verify_one(const struct pipeline_settings *p, bool values,
		       json_t *list, int *code)
{
	struct verify_result r;
	struct error err = ERROR_INIT;

	log_set_pipeline(p->name);
	if (verify_pipeline(p, values, &r, &err)) {
		if (*err.server_code)
			log_error("%s [%s]", err.message, err.server_code);
		else
			log_error("%s", err.message);
		*code = *code ? *code : -(int)err.code;
	}
	log_set_pipeline("");
	if (list)
		json_array_append_new(list, verify_result_json(&r));
	else
		verify_print(&r, values);
	verify_result_release(&r);
}

static int verify_all(const struct arguments *args, const struct settings *s,
		      const struct pipeline_settings *const *pipelines,
		      size_t n, struct error *err)
{
	json_t *list = arguments_has(args, "json") ? json_array() : NULL;
	bool values = arguments_has(args, "show-values");
	int code = 0;

	(void)s;
	for (size_t i = 0; i < n && !stop_requested(); i++)
		verify_one(pipelines[i], values, list, &code);
	if (list)
		output_json(json_pack("{s:o}", "pipelines", list), false);
	if (!code && stop_requested())
		return error_set(err, ERROR_STOPPED, "stopped by a signal");
	return code;
}

static int verify_run(const struct arguments *args, struct error *err)
{
	return config_use(args, verify_all, err);
}

static const struct flag verify_flags[] = {
	{ "show-values", 0, FLAG_SWITCH, NULL,
	  "print the rows that differ, not just their keys" },
	{ "repair", 0, FLAG_PLANNED, NULL, "" },
	{ "deletes", 0, FLAG_PLANNED, NULL, "" },
	{ "sample", 0, FLAG_PLANNED, NULL, "" },
	{ "since", 0, FLAG_PLANNED, NULL, "" },
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_verify = {
	.name = "verify",
	.operands = "[PIPELINE...]",
	.max_operands = OPERANDS_ANY,
	.summary = "compare source and destination, name the keys that differ",
	.details =
		"Reads both tables whole, counts their rows and sums up their "
		"contents, and names\nthe keys that are missing at the "
		"destination, extra there, or different: at most\n100 of them, "
		"and how many there are. Writers and runs may go on: a row "
		"past "
		"the\nmark is not a difference yet, and is counted as "
		"unsettled. Writes nothing. Exit 7\nif there are differences.",
	.example = "tidemark verify orders --show-values",
	.flags = verify_flags,
	.run = verify_run,
};
