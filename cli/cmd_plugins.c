#include <stdlib.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "core/plugin/registry.h"

static json_t *plugins_options(const struct url_option *options)
{
	json_t *list = json_array();

	for (; options->name; options++)
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:s}", "name",
						options->name, "default",
						options->default_text
							? options->default_text
							: "",
						"doc", options->doc));
	return list;
}

static json_t *plugins_json(const struct plugin *p, const char *path)
{
	json_t *options = json_object();

	if (p->connector)
		json_object_set_new(options, "source",
				    plugins_options(p->connector->options));
	if (p->destination)
		json_object_set_new(options, "destination",
				    plugins_options(p->destination->options));
	if (p->store)
		json_object_set_new(options, "state",
				    plugins_options(p->store->options));
	return json_pack("{s:s, s:b, s:b, s:b, s:s, s:s, s:o}", "engine",
			 p->name, "source", p->connector != NULL, "destination",
			 p->destination != NULL, "state", p->store != NULL,
			 "version", p->version, "from", path, "options",
			 options);
}

static json_t *plugins_refused(const struct strlist *refused)
{
	json_t *list = json_array();

	for (size_t i = 0; i + 2 < refused->n; i += 3)
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s}", "engine",
					refused->items[i], "code",
					refused->items[i + 1], "message",
					refused->items[i + 2]));
	return list;
}

static void plugins_print_json(const struct plugin *const *all,
			       const struct strlist *paths,
			       const struct strlist *refused)
{
	json_t *list = json_array();

	for (size_t i = 0; all[i]; i++)
		json_array_append_new(list,
				      plugins_json(all[i], paths->items[i]));
	output_json(json_pack("{s:o, s:o}", "plugins", list, "refused",
			      plugins_refused(refused)),
		    false);
}

static void plugins_print_options(const struct plugin *p, const char *kind,
				  const struct url_option *options)
{
	for (; options->name; options++)
		output_line("%s %s option %s (default \"%s\"): %s", p->name,
			    kind, options->name,
			    options->default_text ? options->default_text : "",
			    options->doc);
}

static void plugins_print(const struct plugin *const *all,
			  const struct strlist *paths,
			  const struct strlist *refused)
{
	static const struct output_column columns[] = {
		{ "ENGINE", false },	  { "SOURCE", false },
		{ "DESTINATION", false }, { "STATE", false },
		{ "VERSION", false },	  { "FROM", false },
	};
	struct output_table *t = output_table_new(columns, 6);

	for (size_t i = 0; all[i]; i++) {
		const struct plugin *p = all[i];
		const char *cells[] = {
			p->name,
			p->connector ? "yes" : "no",
			p->destination ? "yes" : "no",
			p->store ? "yes" : "no",
			*p->version ? p->version : NULL,
			paths->items[i],
		};

		output_table_row(t, cells);
	}
	output_table_print(t);
	output_table_free(t);
	for (size_t i = 0; all[i]; i++) {
		const struct plugin *p = all[i];

		if (p->connector)
			plugins_print_options(p, "source",
					      p->connector->options);
		if (p->destination)
			plugins_print_options(p, "destination",
					      p->destination->options);
		if (p->store)
			plugins_print_options(p, "state", p->store->options);
	}
	for (size_t i = 0; i + 2 < refused->n; i += 3)
		output_line("refused: %s", refused->items[i + 2]);
}

static int plugins_run(const struct arguments *args, struct error *err)
{
	struct strlist paths = STRLIST_INIT, refused = STRLIST_INIT;
	const struct plugin **all = registry_all(&paths, &refused);

	(void)err;
	if (arguments_has(args, "json"))
		plugins_print_json(all, &paths, &refused);
	else
		plugins_print(all, &paths, &refused);
	free(all);
	strlist_release(&paths);
	strlist_release(&refused);
	return 0;
}

static const struct flag plugins_flags[] = {
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_plugins = {
	.name = "plugins",
	.operands = "",
	.max_operands = 0,
	.summary = "list the engines, built in and found as modules",
	.details = "Modules are looked for in $TIDEMARK_PLUGIN_PATH, beside "
		   "the binary and in libdir/tidemark. One that cannot be "
		   "used is listed, too, with the reason.",
	.example = "tidemark plugins --json",
	.flags = plugins_flags,
	.run = plugins_run,
};
