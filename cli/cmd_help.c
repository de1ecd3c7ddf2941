#include "cli/commands.h"
#include "cli/help.h"
#include "cli/man.h"

static int help_run(const struct arguments *args, struct error *err)
{
	const struct command *c;

	if (arguments_has(args, "man")) {
		man_page(args->syntax);
		return 0;
	}
	if (arguments_has(args, "reference")) {
		help_reference(args->syntax);
		return 0;
	}
	if (!args->operands.n) {
		help_overview(args->syntax);
		return 0;
	}
	c = syntax_command(args->syntax, args->operands.items[0], err);
	if (!c)
		return -(int)err->code;
	help_command(args->syntax, c);
	return 0;
}

static const struct flag help_flags[] = {
	{ "reference", 0, FLAG_SWITCH, NULL,
	  "print all commands as the page docs/commands.md" },
	{ "man", 0, FLAG_SWITCH, NULL, "print all commands as a man page" },
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_help = {
	.name = "help",
	.operands = "[COMMAND]",
	.max_operands = 1,
	.summary = "list the commands, or show how one is used",
	.details = "",
	.example = "tidemark help run",
	.flags = help_flags,
	.run = help_run,
};
