#include <stdlib.h>

#include "cli/commands.h"
#include "cli/copied.h"
#include "cli/output.h"
#include "cli/who.h"
#include "core/store/controls.h"
#include "core/store/session.h"
#include "core/sync/parts/state.h"

static int pause_each(const struct arguments *args, const struct settings *s,
		      const struct pipeline_settings *const *pipelines,
		      size_t n, struct error *err)
{
	bool resumes = args->command == &command_resume;
	const char *reason = arguments_text(args, "reason");
	struct store *store = NULL;
	char *who = who_calls();
	int code = state_open(s, &store, err);

	for (size_t i = 0; !code && i < n; i++) {
		const char *name = pipelines[i]->name;

		code = resumes ? store_control_resume(store, name, who, err)
			       : store_control_pause(store, name, who,
						     reason ? reason : "", err);
		if (!code && !arguments_has(args, "json"))
			output_line("%s: %s", name,
				    resumes ? "goes on" : "paused");
	}
	if (!code && arguments_has(args, "json"))
		output_json(json_pack("{s:i}", resumes ? "resumed" : "paused",
				      (int)n),
			    false);
	store_close(store);
	free(who);
	return code;
}

static int pause_command(const struct arguments *args, struct error *err)
{
	return copied_use(args, pause_each, err);
}

static const struct flag pause_flags[] = {
	COPIED_FLAGS,
	{ "reason", 0, FLAG_TEXT, "TEXT", "why, for those who look" },
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

static const struct flag resume_flags[] = {
	COPIED_FLAGS,
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_pause = {
	.name = "pause",
	.operands = "PIPELINE... | SOURCE_URL DESTINATION_URL --table T",
	.min_operands = 1,
	.max_operands = OPERANDS_ANY,
	.summary = "hold pipelines until they are resumed",
	.details =
		"`serve` begins no run of a pipeline that is paused. One that "
		"is under way ends after\n"
		"the batch in hand, within a second. The rest is loaded when "
		"the pipeline is resumed.\n"
		"A `run` by hand waits meanwhile, with no transaction open.\n"
		"`status` says who has paused it, since when and why.",
	.example =
		"tidemark pause orders --reason \"until the index is built\"",
	.flags = pause_flags,
	.run = pause_command,
};

const struct command command_resume = {
	.name = "resume",
	.operands = "PIPELINE... | SOURCE_URL DESTINATION_URL --table T",
	.min_operands = 1,
	.max_operands = OPERANDS_ANY,
	.summary = "let pipelines that were paused go on",
	.details = "",
	.example = "tidemark resume orders",
	.flags = resume_flags,
	.run = pause_command,
};
