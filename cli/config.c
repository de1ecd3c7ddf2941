#include "cli/config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/row_values.h"

#define CONFIG_FILE "tidemark.yaml"

int config_load(const struct arguments *args, struct settings *out,
		struct error *err)
{
	const char *path = arguments_text(args, "config");

	if (!path && access(CONFIG_FILE, F_OK) == 0)
		path = CONFIG_FILE;
	if (!path)
		path = getenv("TIDEMARK_CONFIG");
	if (!path || !*path)
		return error_set(
			err, ERROR_CONFIG,
			"there is no " CONFIG_FILE " here and $TIDEMARK_CONFIG "
			"is not set: name a config file with -c, or write one "
			"with \"tidemark init SOURCE_URL DESTINATION_URL\"");
	if (settings_load(out, path, err))
		return -(int)err->code;
	row_values_show(out->row_values);
	return 0;
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
		const struct pipeline_settings *p =
			settings_pipeline(s, args->operands.items[i], err);

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
	int code = config_load(args, &s, err);

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
