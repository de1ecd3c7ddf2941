#include <stdlib.h>

#include "cli/commands.h"
#include "cli/sync_run.h"
#include "cli/urls.h"
#include "core/base/log.h"
#include "core/sync/propose.h"

static void copy_arguments_fill(const struct arguments *args,
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

static int copy_check(const struct copy_arguments *c, struct error *err)
{
	int code = urls_refuse_password("SOURCE_URL", c->source_url, err);

	if (!code)
		code = urls_refuse_password("DESTINATION_URL",
					    c->destination_url, err);
	if (!code)
		code = urls_refuse_password("--state", c->state, err);
	if (!code && !c->table)
		code = error_set(err, ERROR_CONFIG,
				 "copy needs --table SCHEMA.TABLE");
	return code;
}

/* No --watermark: the source says what it would take. */
static int copy_suggest(struct copy_arguments *c, char **watermark,
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

static int copy_run(const struct arguments *args, struct error *err)
{
	struct copy_arguments c;
	struct settings s;
	char *watermark = NULL;
	int code;

	copy_arguments_fill(args, &c);
	code = copy_check(&c, err);
	if (!code && !c.watermark)
		code = copy_suggest(&c, &watermark, err);
	if (!code)
		code = settings_from_copy(&s, &c, err);
	if (!code) {
		const struct pipeline_settings *p = &s.pipelines[0];

		code = sync_run(args, &s, &p, 1, NULL, err);
		settings_release(&s);
	}
	free(watermark);
	return code;
}

static const struct flag copy_flags[] = {
	{ "table", 0, FLAG_TEXT, "TABLE", "the table to read: schema.table" },
	{ "to", 0, FLAG_TEXT, "TABLE", "its name at the destination" },
	{ "watermark", 0, FLAG_TEXT, "STRATEGY[:COLUMN]",
	  "timestamp:COLUMN, sequence:COLUMN or xmin (default: suggested)" },
	{ "mode", 0, FLAG_TEXT, "MODE",
	  "upsert, append, delete_insert or replace" },
	{ "key", 0, FLAG_TEXT, "COLUMN,...",
	  "the key (default: the primary key)" },
	{ "lag", 0, FLAG_TEXT, "LAG", "look back this far behind the mark" },
	{ "zero-dates", 0, FLAG_TEXT, "error|null",
	  "MySQL's dates such as 0000-00-00: refuse them, or read NULL" },
	{ "state", 0, FLAG_TEXT, "URL", "the state store" },
	{ "max-batches", 0, FLAG_COUNT, "N", "stop after N batches" },
	{ "max-seconds", 0, FLAG_COUNT, "N",
	  "stop after N seconds, and the batch in hand" },
	{ "watch", 0, FLAG_DURATION, "DURATION",
	  "run again and again, this long apart, until a signal" },
	{ "wait", 0, FLAG_DURATION, "DURATION",
	  "for another run of a pipeline to end (else exit 6 at once)" },
	{ "full-refresh", 0, FLAG_SWITCH, NULL,
	  "read everything into a new table and swap it in" },
	{ "verify", 0, FLAG_SWITCH, NULL,
	  "read what was loaded again, compare, exit 7 if it differs" },
	{ "dry-run", 0, FLAG_SWITCH, NULL,
	  "say what a run would do, and write nothing" },
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_copy = {
	.name = "copy",
	.operands = "SOURCE_URL DESTINATION_URL",
	.min_operands = 2,
	.max_operands = 2,
	.summary = "sync one table without a config file",
	.details = "The pipeline's name comes from the arguments, so a second "
		   "call goes on where the\nfirst ended. Passwords are not "
		   "taken on the command line: ${VAR} and ${file:PATH}\n"
		   "are expanded here, so quote them.",
	.example = "tidemark copy 'postgresql://app:${SHOP_PASSWORD}@db/shop' "
		   "duckdb:shop.duckdb \\\n"
		   "      --table public.orders --watermark "
		   "timestamp:updated_at",
	.flags = copy_flags,
	.run = copy_run,
};
