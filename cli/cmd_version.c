#include "cli/commands.h"
#include "cli/output.h"
#include "core/plugin/registry.h"
#include "tidemark_commit.h"
#include "tidemark_config.h"
#include "tidemark_facts.h"

/* As pkg-config names them, with the versions that the build found. */
static const struct version_library {
	const char *name, *version;
} version_libraries[] = { TIDEMARK_LIBRARIES };

static json_t *version_of_libraries(void)
{
	size_t n = sizeof(version_libraries) / sizeof(*version_libraries);
	json_t *all = json_object();

	for (size_t i = 0; i < n; i++)
		json_object_set_new(all, version_libraries[i].name,
				    json_string(version_libraries[i].version));
	return all;
}

static json_t *version_plugins(void)
{
	struct strlist engines = STRLIST_INIT, paths = STRLIST_INIT;
	json_t *all = json_object();

	registry_names(&engines, &paths);
	for (size_t i = 0; i < engines.n; i++)
		json_object_set_new(all, engines.items[i],
				    json_string(paths.items[i]));
	strlist_release(&engines);
	strlist_release(&paths);
	return all;
}

static json_t *version_facts(void)
{
	const char *commit = *TIDEMARK_COMMIT ? TIDEMARK_COMMIT : NULL;

	return json_pack("{s:s, s:s?, s:s, s:s, s:s, s:o, s:o}", "version",
			 TIDEMARK_VERSION, "commit", commit, "compiler",
			 TIDEMARK_COMPILER, "build_type", TIDEMARK_BUILD_TYPE,
			 "target", TIDEMARK_TARGET, "libraries",
			 version_of_libraries(), "plugins", version_plugins());
}

static int version_run(const struct arguments *args, struct error *err)
{
	(void)err;
	if (arguments_has(args, "json"))
		output_json(version_facts(), false);
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
	.details = "With --json also the commit, the compiler, the libraries "
		   "of the build and the engines, none of which is loaded.",
	.example = "tidemark version --json",
	.flags = version_flags,
	.run = version_run,
};
