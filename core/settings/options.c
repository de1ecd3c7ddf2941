#include <string.h>

#include "core/base/clock.h"
#include "core/settings/input.h"

static int settings_parse_url(struct option_context *ctx,
			      const struct option *option,
			      const struct config_node *node, void *base)
{
	struct connection *c = base;
	int rc;

	(void)option;
	url_release(&c->url);
	rc = url_parse(&c->url, node->text, ctx->err);
	if (!rc)
		return 0;
	if (ctx->path.len && !node->at.label)
		error_prefix(ctx->err, "%s", ctx->path.data);
	config_prefix(ctx->file, node->at, ctx->err);
	return rc;
}

/* Parts that need others first are only noted. */
static int settings_note(struct option_context *ctx,
			 const struct option *option,
			 const struct config_node *node, void *base)
{
	struct settings_input *in = base;

	(void)ctx;
	if (!strcmp(option->name, "state"))
		in->state = node;
	else if (!strcmp(option->name, "connections"))
		in->connections = node;
	else if (!strcmp(option->name, "defaults"))
		in->defaults = node;
	else if (!strcmp(option->name, "notify"))
		in->notify = node;
	else
		in->pipelines = node;
	return 0;
}

static const struct option_choice tls_modes[] = {
	{ "auto", TLS_AUTO, false },
	{ "disabled", TLS_DISABLED, false },
	{ "required", TLS_REQUIRED, false },
	{ "verify-ca", TLS_VERIFY_CA, false },
	{ "verify-full", TLS_VERIFY_FULL, false },
	{ NULL, 0, false },
};

static const struct option tls_options[] = {
	{ .name = "mode",
	  .type = OPTION_CHOICE,
	  OPTION_FIELD(struct connection, tls_mode),
	  .default_text = "auto",
	  .choices = tls_modes,
	  .doc = "`auto` is `verify-full`, but on loopback and sockets, where "
		 "TLS is used if the server offers it." },
	{ .name = "ca",
	  .type = OPTION_TEXT,
	  OPTION_FIELD(struct connection, tls_ca),
	  .expects = "a file path",
	  .doc = "Certificates of the authorities to trust (PEM)." },
	{ .name = "cert",
	  .type = OPTION_TEXT,
	  OPTION_FIELD(struct connection, tls_cert),
	  .expects = "a file path",
	  .doc = "Our own certificate (PEM)." },
	{ .name = "key",
	  .type = OPTION_TEXT,
	  OPTION_FIELD(struct connection, tls_key),
	  .expects = "a file path",
	  .doc = "The private key of `cert` (PEM)." },
	{ .name = NULL },
};

static const struct option timeout_options[] = {
	{ .name = "connect",
	  .type = OPTION_DURATION,
	  OPTION_FIELD(struct connection, connect_timeout_us),
	  .default_text = "10s",
	  .min = 1000,
	  .max = US_PER_DAY,
	  .doc = "How long a connection may take to come about." },
	{ .name = "silence",
	  .type = OPTION_DURATION,
	  OPTION_FIELD(struct connection, silence_timeout_us),
	  .default_text = "5m",
	  .min = US_PER_SECOND,
	  .max = US_PER_DAY,
	  .doc = "How long a server may say nothing before it counts as "
		 "gone." },
	{ .name = NULL },
};

#define CONNECTION_KEYS(url_flags, url_default)                                \
	{ .name = "url",                                                       \
	  .type = OPTION_TEXT,                                                 \
	  .flags = OPTION_URL | (url_flags),                                   \
	  .default_text = (url_default),                                       \
	  .example = "postgresql://user@host/database",                        \
	  .expects = "a connection URL",                                       \
	  .doc = "Its scheme picks the engine: `postgresql://` `mysql://` "    \
		 "`mariadb://` `sqlite:FILE` `duckdb:FILE` `clickhouse://` "   \
		 "`bigquery://`. The rest is the engine's own.",               \
	  .parse = settings_parse_url },                                       \
		{ .name = "password",                                          \
		  .type = OPTION_TEXT,                                         \
		  .flags = OPTION_SECRET,                                      \
		  OPTION_FIELD(struct connection, password),                   \
		  .doc = "Kept out of the URL; best as `${VAR}` or "           \
			 "`${file:PATH}`." },                                  \
		{ .name = "tls",                                               \
		  .type = OPTION_TABLE,                                        \
		  .table = tls_options,                                        \
		  .doc = "Encryption of the connection." },                    \
	{                                                                      \
		.name = "timeout", .type = OPTION_TABLE,                       \
		.table = timeout_options,                                      \
		.doc = "How long to wait for the server."                      \
	}

const struct option connection_options[] = {
	CONNECTION_KEYS(OPTION_REQUIRED, NULL),
	{ .name = "sessions",
	  .type = OPTION_COUNT,
	  OPTION_FIELD(struct connection, sessions),
	  .default_text = "0",
	  .doc = "Most sessions that one process has open there at once; 0 "
		 "is as many as it needs. A pipeline needs up to 2 at its "
		 "source, 2 at its destination, and 1 for each number that "
		 "`pace` asks for." },
	{ .name = NULL },
};

const struct option state_options[] = {
	CONNECTION_KEYS(0, SETTINGS_STATE_URL),
	{ .name = "lease",
	  .type = OPTION_DURATION,
	  OPTION_FIELD(struct state_input, lease_us),
	  .default_text = "30s",
	  .min = US_PER_SECOND,
	  .max = US_PER_DAY,
	  .doc = "How long a run holds its pipeline without a heartbeat; it "
		 "has one at each third of that. Another run waits no longer "
		 "for one that was paused or cut off." },
	{ .name = "keep",
	  .type = OPTION_DURATION,
	  OPTION_FIELD(struct state_input, keep_us),
	  .default_text = "30d",
	  .min = US_PER_SECOND,
	  .doc = "How long the history of runs is kept." },
	{ .name = "letters_keep",
	  .type = OPTION_DURATION,
	  OPTION_FIELD(struct state_input, letters_keep_us),
	  .default_text = "0s",
	  .doc = "How long a dead letter is kept after its row was last "
		 "refused; 0s is for ever. Runs delete older ones and say how "
		 "many: those rows stay away from the target until they "
		 "change at the source." },
	{ .name = NULL },
};

static const struct option_choice yes_or_no[] = {
	{ "false", 0, false },
	{ "true", 1, false },
	{ NULL, 0, false },
};

static const struct option log_options[] = {
	{ .name = "row_values",
	  .type = OPTION_CHOICE,
	  OPTION_FIELD(struct settings_input, row_values),
	  .default_text = "false",
	  .choices = yes_or_no,
	  .doc = "Whether errors may tell contents of rows, as in "
		 "`Duplicate entry 'ann@example.org'`. `false` leaves `...` "
		 "in their place; names and the keys of the pipeline stay." },
	{ .name = NULL },
};

static const struct option alert_all_options[] = {
	{ .name = "late",
	  .type = OPTION_TEXT,
	  .flags = OPTION_OR_COUNT,
	  .default_text = SETTINGS_LATE,
	  .expects = "a duration such as 1h, or a count of schedules",
	  .doc = "As `alert.late` of a pipeline.",
	  .parse = settings_parse_late_of_all },
	{ .name = NULL },
};

static const struct option serve_options[] = {
	{ .name = "listen",
	  .type = OPTION_TEXT,
	  OPTION_FIELD(struct settings_input, serve.listen),
	  .default_text = "127.0.0.1:9464",
	  .expects = LISTEN_EXPECTS,
	  .doc = "Where HTTP is answered. `unix:PATH` is a socket of mode "
		 "0600, "
		 "or `unix:PATH?mode=0660`. Port 0 is any that is free. An "
		 "address that other machines reach needs a token." },
	{ .name = "token",
	  .type = OPTION_TEXT,
	  .flags = OPTION_SECRET,
	  OPTION_FIELD(struct settings_input, serve.token),
	  .default_text = "",
	  .expects = "a text of 16 characters or more, best as ${file:PATH}",
	  .doc = "Requests have to carry it, as `Authorization: Bearer TOKEN`. "
		 "Without one, nothing can be changed by HTTP." },
	{ .name = "hosts",
	  .type = OPTION_LIST,
	  .flags = OPTION_OR_TEXT,
	  OPTION_FIELD(struct settings_input, serve.hosts),
	  .default_text = "[localhost, 127.0.0.1]",
	  .expects = "a list of names and addresses without ports",
	  .doc = "Names in the address bar that are answered, beside the "
		 "address of `listen`. Others are refused, so that no page of "
		 "another site reads this one through a name of its own." },
	{ .name = "watchdog",
	  .type = OPTION_DURATION,
	  OPTION_FIELD(struct settings_input, serve.watchdog_us),
	  .default_text = "60s",
	  .min = US_PER_SECOND,
	  .max = US_PER_DAY,
	  .doc = "`/healthz` answers 503 when the loop has stood for so "
		 "long." },
	{ .name = NULL },
};

const struct option settings_options[] = {
	{ .name = "version",
	  .type = OPTION_COUNT,
	  OPTION_FIELD(struct settings_input, version),
	  .default_text = "1",
	  .min = 1,
	  .max = 1,
	  .doc = "The version of the file's format." },
	{ .name = "state",
	  .type = OPTION_TABLE,
	  .default_text = SETTINGS_STATE_URL,
	  .expects = "a connection URL or a map",
	  .table = state_options,
	  .shorthand = "url",
	  .doc = "Where the history of runs is kept: a file, or "
		 "`postgresql://` when several machines share the work.",
	  .parse = settings_note },
	{ .name = "log",
	  .type = OPTION_TABLE,
	  .table = log_options,
	  .doc = "The contents of logs, the history of runs and dead "
		 "letters' messages." },
	{ .name = "jobs",
	  .type = OPTION_COUNT,
	  OPTION_FIELD(struct settings_input, jobs),
	  .default_text = "4",
	  .min = 1,
	  .max = SETTINGS_JOBS_MOST,
	  .doc = "How many pipelines `run` has at work at once. If several "
		 "write into one file, they take turns." },
	{ .name = "alert",
	  .type = OPTION_TABLE,
	  .table = alert_all_options,
	  .doc = "For pipelines that do not say otherwise, and whose "
		 "`defaults` do not." },
	{ .name = "serve",
	  .type = OPTION_TABLE,
	  .table = serve_options,
	  .doc = "The HTTP server of `tidemark serve`: [serve.md](serve.md)." },
	{ .name = "notify",
	  .type = OPTION_LIST,
	  .default_text = "[]",
	  .expects = "a list of maps, each with a webhook or a command",
	  .table = notify_options,
	  .doc = "Receivers that `serve` tells of changes: "
		 "[serve.md](serve.md#notifications).",
	  .parse = settings_note },
	{ .name = "connections",
	  .type = OPTION_MAP,
	  .flags = OPTION_REQUIRED,
	  .example = "{ shop: postgresql://app@db.example/shop }",
	  .expects = "a map of names to connection URLs",
	  .table = connection_options,
	  .shorthand = "url",
	  .doc = "Servers and files, by names of your own.",
	  .parse = settings_note },
	{ .name = "defaults",
	  .type = OPTION_TABLE,
	  .flags = OPTION_PARTIAL,
	  .table = pipeline_options,
	  .doc = "Any keys of a pipeline, for those that do not say "
		 "otherwise.",
	  .parse = settings_note },
	{ .name = "pipelines",
	  .type = OPTION_MAP,
	  .flags = OPTION_REQUIRED,
	  .expects = "a map of names to pipelines",
	  .table = pipeline_options,
	  .doc = "Pairs of tables that are kept equal, by names of your own.",
	  .parse = settings_note },
	{ .name = NULL },
};
