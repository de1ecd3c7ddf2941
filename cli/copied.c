#include "cli/copied.h"

#include <stdlib.h>
#include <string.h>

#include "cli/urls.h"
#include "core/base/log.h"
#include "core/sync/propose.h"

int copied_is_meant(const struct arguments *args, bool *out, struct error *err)
{
	static const struct flag flags[] = { COPIED_FLAGS };

	*out = args->operands.n && strchr(args->operands.items[0], ':');
	if (*out && args->operands.n != 2)
		return error_set(err, ERROR_CONFIG,
				 "%s takes pipelines of a config file, or "
				 "SOURCE_URL and DESTINATION_URL",
				 args->command->name);
	for (size_t i = 0; !*out && i < sizeof(flags) / sizeof(*flags); i++)
		if (arguments_has(args, flags[i].name))
			return error_set(err, ERROR_CONFIG,
					 "--%s goes with SOURCE_URL and "
					 "DESTINATION_URL; a pipeline of a "
					 "config file has its own",
					 flags[i].name);
	return 0;
}

static void copied_fill(const struct arguments *args,
			struct copy_arguments *out)
{
	out->source_url = args->operands.items[0];
	out->destination_url = args->operands.items[1];
	out->table = arguments_text(args, "table");
	out->to = arguments_text(args, "to");
	out->watermark = arguments_text(args, "watermark");
	out->mode = arguments_text(args, "mode");
	out->key = arguments_text(args, "key");
	out->lag = arguments_text(args, "lag");
	out->zero_dates = arguments_text(args, "zero-dates");
	out->state = arguments_text(args, "state");
}

static int copied_check(const struct copy_arguments *c, const char *command,
			struct error *err)
{
	int code = urls_refuse_password("SOURCE_URL", c->source_url, err);

	if (!code)
		code = urls_refuse_password("DESTINATION_URL",
					    c->destination_url, err);
	if (!code)
		code = urls_refuse_password("--state", c->state, err);
	if (!code && !c->table)
		code = error_set(err, ERROR_CONFIG,
				 "%s needs --table SCHEMA.TABLE", command);
	return code;
}

/* No --watermark: the source says what it would take. */
static int copied_suggest(struct copy_arguments *c, char **watermark,
			  struct error *err)
{
	struct copy_arguments guess = *c;
	struct settings s;
	char *reason = NULL;
	int code;

	/* Any strategy will do to open the source. */
	guess.watermark = "sequence:id";
	guess.lag = NULL;
	code = settings_from_copy(&s, &guess, err);
	if (code)
		return code;
	code = propose_watermark(&s.pipelines[0], c->table, watermark, &reason,
				 err);
	if (!code) {
		log_info("no --watermark given; taking --watermark %s: %s",
			 *watermark, reason);
		c->watermark = *watermark;
	}
	free(reason);
	settings_release(&s);
	return code;
}

int copied_use(const struct arguments *args, config_user use, struct error *err)
{
	struct copy_arguments c;
	struct settings s;
	char *watermark = NULL;
	int code;

	copied_fill(args, &c);
	code = copied_check(&c, args->command->name, err);
	if (!code && !c.watermark)
		code = copied_suggest(&c, &watermark, err);
	if (!code)
		code = settings_from_copy(&s, &c, err);
	if (!code) {
		const struct pipeline_settings *p = &s.pipelines[0];

		code = use(args, &s, &p, 1, err);
		settings_release(&s);
	}
	free(watermark);
	return code;
}
