#include "cli/config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/row_values.h"
#include "core/settings/wildcard.h"
#include "core/sync/report/expand.h"

#define CONFIG_FILE "tidemark.yaml"

const char *config_path(const char *path)
{
	if (!path && access(CONFIG_FILE, F_OK) == 0)
		path = CONFIG_FILE;
	if (!path)
		path = getenv("TIDEMARK_CONFIG");
	return path && *path ? path : NULL;
}

int config_load(const struct arguments *args, struct settings *out,
		struct error *err)
{
	const char *path = config_path(arguments_text(args, "config"));

	if (!path)
		return error_set(
			err, ERROR_CONFIG,
			"there is no " CONFIG_FILE " here and $TIDEMARK_CONFIG "
			"is not set: name a config file with -c, or write one "
			"with \"tidemark init SOURCE_URL DESTINATION_URL\"");
	if (settings_load(out, path, err))
		return -(int)err->code;
	/* `serve` may yet refuse it, while runs by another one go on. */
	if (args->command != &command_serve)
		row_values_show(out->row_values);
	return 0;
}

/* Commands that read tables of a source look at it; those that run keep what
 * they find. */
static enum expand_mode config_mode(const struct arguments *args)
{
	static const struct {
		const char *command;
		enum expand_mode mode;
	} modes[] = {
		{ "run", EXPAND_KEEP },	     { "worker", EXPAND_KEEP },
		{ "backfill", EXPAND_KEEP }, { "check", EXPAND_LOOK },
		{ "verify", EXPAND_LOOK },   { "grants", EXPAND_LOOK },
		{ "status", EXPAND_TRY },    { "serve", EXPAND_KEEP_ONCE },
	};

	if (arguments_has(args, "dry-run") || arguments_has(args, "plan"))
		return EXPAND_LOOK;
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(modes[i].command, args->command->name))
			return modes[i].mode;
	return EXPAND_KNOWN;
}

static bool config_has(const struct settings *s, const char *name)
{
	for (size_t i = 0; i < s->n_pipelines; i++)
		if (!s->pipelines[i].wildcard &&
		    !strcmp(s->pipelines[i].name, name))
			return true;
	return false;
}

/* Operands that the config itself has as pipelines: no source has to say what
 * the wildcards stand for. */
static bool config_is_told(const struct arguments *args,
			   const struct settings *s)
{
	static const char *const commands[] = { "run",	  "verify", "check",
						"status", "grants", "serve" };
	bool told = false;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		told |= !strcmp(args->command->name, commands[i]);
	for (size_t i = 0; told && i < args->operands.n; i++)
		told = config_has(s, args->operands.items[i]);
	return told && args->operands.n;
}

static int config_expand(const struct arguments *args, struct settings *s,
			 struct error *err)
{
	return config_is_told(args, s)
		       ? 0
		       : expand_wildcards(s, config_mode(args), err);
}

int config_open(const struct arguments *args, struct settings *out,
		struct error *err)
{
	int code = config_load(args, out, err);

	if (code)
		return code;
	code = config_expand(args, out, err);
	if (code)
		settings_release(out);
	return code;
}

int config_renew(const struct arguments *args, struct settings *s,
		 const struct pipeline_settings *const **out, size_t *n,
		 struct error *err)
{
	int code = config_expand(args, s, err);

	if (code || !config_select(args, 0, s, out, n, err))
		return code;
	/* All that was asked for has gone. */
	log_warn("%s", err->message);
	error_clear(err);
	*out = xcalloc(1, sizeof(const void *));
	*n = 0;
	return 0;
}

/* All pipelines of the wildcard of that name; false if there are none. */
static bool config_want_all(const struct settings *s, const char *name,
			    bool *wanted)
{
	bool found = false;

	for (size_t i = 0; i < s->n_pipelines; i++) {
		const struct wildcard *w = s->pipelines[i].wildcard;

		if (!w || strcmp(w->name, name) != 0)
			continue;
		wanted[i] = true;
		found = true;
	}
	return found;
}

int config_select(const struct arguments *args, size_t first,
		  const struct settings *s,
		  const struct pipeline_settings *const **out, size_t *n,
		  struct error *err)
{
	bool *wanted = xcalloc(s->n_pipelines + 1, sizeof(*wanted));
	const struct pipeline_settings **list =
		xcalloc(s->n_pipelines + 1, sizeof(const void *));
	int code = 0;

	*n = 0;
	for (size_t i = first; !code && i < args->operands.n; i++) {
		const char *name = args->operands.items[i];
		const struct pipeline_settings *p;

		if (config_want_all(s, name, wanted))
			continue;
		p = settings_pipeline(s, name, err);
		if (p)
			wanted[p - s->pipelines] = true;
		else
			code = -(int)err->code;
	}
	for (size_t i = 0; i < s->n_pipelines; i++)
		if (args->operands.n <= first || wanted[i])
			list[(*n)++] = &s->pipelines[i];
	free(wanted);
	if (code)
		free(list);
	else
		*out = list;
	return code;
}

int config_use(const struct arguments *args, config_user use, struct error *err)
{
	struct settings s = { 0 };
	const struct pipeline_settings *const *pipelines;
	size_t n;
	int code = config_open(args, &s, err);

	if (code)
		return code;
	code = config_select(args, 0, &s, &pipelines, &n, err);
	if (!code) {
		code = use(args, &s, pipelines, n, err);
		free((void *)pipelines);
	}
	settings_release(&s);
	return code;
}
