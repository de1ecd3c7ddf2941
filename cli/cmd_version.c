#include "cli/commands.h"
#include "cli/output.h"
#include "tidemark_config.h"

static int version_run(const struct arguments *args, struct error *err)
{
	(void)err;
	if (arguments_has(args, "json"))
		output_json(json_pack("{s:s}", "version", TIDEMARK_VERSION),
			    false);
	else
		output_line("tidemark %s", TIDEMARK_VERSION);
	return 0;
}

static const struct flag version_flags[] = {
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_version = {
	.name = "version",
	.operands = "",
	.max_operands = 0,
	.summary = "print the version",
	.details = "",
	.example = "tidemark version --json",
	.flags = version_flags,
	.run = version_run,
};
