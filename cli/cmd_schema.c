#include <stdlib.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "core/sync/settings.h"

static int schema_run(const struct arguments *args, struct error *err)
{
	json_t *schema = settings_json_schema();
	char *text = json_dumps(schema, JSON_INDENT(2));

	(void)args;
	(void)err;
	output_text(text);
	output_text("\n");
	free(text);
	json_decref(schema);
	return 0;
}

static const struct flag schema_flags[] = {
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_schema = {
	.name = "schema",
	.operands = "",
	.max_operands = 0,
	.summary = "print the JSON Schema of the config file",
	.details = "Editors check and complete tidemark.yaml with it.",
	.example = "tidemark schema > tidemark.schema.json",
	.flags = schema_flags,
	.run = schema_run,
};
