#include <stdlib.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "core/settings/settings.h"

static void schema_print(void)
{
	json_t *schema = settings_json_schema();
	char *text = json_dumps(schema, JSON_INDENT(2));

	output_text(text);
	output_text("\n");
	free(text);
	json_decref(schema);
}

static void schema_print_reference(void)
{
	struct strbuf markdown = STRBUF_INIT;

	settings_reference(&markdown);
	output_text(markdown.data);
	strbuf_release(&markdown);
}

static int schema_run(const struct arguments *args, struct error *err)
{
	(void)err;
	if (arguments_has(args, "reference"))
		schema_print_reference();
	else
		schema_print();
	return 0;
}

static const struct flag schema_flags[] = {
	{ "reference", 0, FLAG_SWITCH, NULL,
	  "print every key as the page docs/config.md instead" },
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
