#include "cli/commands.h"
#include "cli/config.h"
#include "cli/output.h"
#include "core/store/schema.h"
#include "core/store/session.h"

static int migrate_store(const struct connection *state, int *applied,
			 int *version, struct error *err)
{
	struct store *store = NULL;
	int code = store_open(&store, state, err);

	if (!code)
		code = store_migrate(store, applied, version, err);
	store_close(store);
	if (code)
		error_prefix(err, "state %s", state->url.shown);
	return code;
}

static int migrate_run(const struct arguments *args, struct error *err)
{
	struct settings s;
	int applied = 0, version = 0;
	int code = config_load(args, &s, err);

	if (code)
		return code;
	code = migrate_store(s.state, &applied, &version, err);
	if (!code && arguments_has(args, "json"))
		output_json(json_pack("{s:s, s:i, s:i}", "state",
				      s.state->url.shown, "version", version,
				      "applied", applied),
			    false);
	else if (!code && applied)
		output_line("state %s: %d migration%s applied, now at %d",
			    s.state->url.shown, applied,
			    applied == 1 ? "" : "s", version);
	else if (!code)
		output_line("state %s: up to date at %d", s.state->url.shown,
			    version);
	settings_release(&s);
	return code;
}

static const struct flag migrate_flags[] = {
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_migrate = {
	.name = "migrate",
	.operands = "",
	.max_operands = 0,
	.summary = "bring the state store's schema up to date",
	.details = "\"tidemark run\" does the same under a lock when it "
		   "starts.",
	.example = "tidemark migrate",
	.flags = migrate_flags,
	.run = migrate_run,
};
