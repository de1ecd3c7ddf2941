#include "core/settings/input.h"

static const char settings_introduction[] =
	"# The config file\n"
	"\n"
	"Written by the option tables that parse it; "
	"`tidemark schema` prints the same as a JSON Schema.\n"
	"\n"
	"YAML; JSON is accepted too. An unknown key, a wrong type or a bad "
	"value ends every command with exit 2 and `file:line:column`, what "
	"was found and what is allowed. A key marked *not supported yet* is "
	"accepted with its default only, never ignored.\n"
	"\n"
	"- `${VAR}`, `${VAR:-text}` and `${file:PATH}` expand inside values; "
	"`$${` is a literal `${`. `:-text` stands in for a variable that is "
	"not set or empty. A file's last line break is dropped.\n"
	"- A file with a literal password, as `password:` or inside a URL, "
	"has to be yours or root's. Others may neither read nor write it "
	"(`chmod 600`). Without a password, a config that others can write "
	"gives a warning. [passwords.md](passwords.md) has the rule, and "
	"the ways to give a password.\n"
	"- Paths are relative to the directory in which tidemark is "
	"started.\n"
	"- Durations take `us ms s m h d` (`1h30m`), sizes `B KB KiB MB MiB "
	"GB GiB TB TiB`, counts may hold `_`.\n"
	"- Anchors, aliases, tags, duplicate keys and a second document are "
	"refused. Keys that pipelines share go under `defaults`.\n"
	"\n";

/* A unit test parses this and finds every key of the tables in it. */
static const char settings_example_text[] =
	"version: 1\n"
	"state: { url: \"sqlite:.tidemark/state.db\", lease: 30s, keep: 30d, "
	"letters_keep: 0s }  # or just the URL\n"
	"log: { row_values: false }\n"
	"jobs: 4                   # pipelines at once\n"
	"serve: { listen: \"127.0.0.1:9464\", token: \"\", hosts: "
	"[localhost, 127.0.0.1], watchdog: 60s }\n"
	"notify:                   # each is told of a change once\n"
	"  - { webhook: \"https://alerts.example/hook\", secret: \"\", on: "
	"[failed, recovered], timeout: 10s }\n"
	"  - { command: [/usr/local/bin/page], on: failed }\n"
	"connections:\n"
	"  shop: postgresql://app@db.example/shop\n"
	"  legacy:\n"
	"    url: mysql://app@db2.example/erp\n"
	"    password: ${LEGACY_PASSWORD:-}\n"
	"    tls: { mode: verify-full, ca: ca.pem, cert: me.pem, "
	"key: me.key }\n"
	"    timeout: { connect: 10s, silence: 5m }\n"
	"    sessions: 8            # at most, at once; none: any number\n"
	"  warehouse: duckdb:warehouse.duckdb\n"
	"defaults:                  # any keys of a pipeline\n"
	"  batch: { rows: 20000 }\n"
	"pipelines:\n"
	"  orders:\n"
	"    source:\n"
	"      connection: shop\n"
	"      table: public.orders\n"
	"      columns: [id, status, amount, updated_at]   # none: all\n"
	"      expressions: { total_cents: \"round(amount*100)::bigint\" }\n"
	"      where: \"status <> 'draft'\"\n"
	"      pre_check: \"select count(*) from public.loads\"\n"
	"    destination: { connection: warehouse, table: main.orders }\n"
	"    key: [id]              # none: the source's primary key\n"
	"    watermark:\n"
	"      strategy: timestamp  # timestamp | xmin | sequence\n"
	"      column: updated_at   # none for xmin\n"
	"      lag: 1m              # a count for sequence, none for xmin\n"
	"      time_zone: auto      # auto | UTC | +05:30 | Europe/Rome\n"
	"      settle: auto         # auto | off\n"
	"      tail: deliver        # deliver | hold\n"
	"      nulls: error         # error | include | skip\n"
	"    load:\n"
	"      mode: upsert         # upsert | append | delete_insert | update "
	"| "
	"replace\n"
	"      streams: auto\n"
	"      loaded_at: \"\"\n"
	"      before: []           # SQL at the destination, a statement "
	"each\n"
	"      after: [\"analyze main.orders\"]\n"
	"      hook_timeout: 1h\n"
	"    schema: { on_new_column: add, on_type_change: widen, "
	"on_dropped_column: keep }   # each also: stop\n"
	"    batch: { rows: 20000, bytes: 32MiB, target: 1s }\n"
	"    retry:\n"
	"      attempts: 5\n"
	"      backoff: 1s\n"
	"      max_backoff: 60s\n"
	"      breaker: { failures: 5, cool_down: 30s }\n"
	"    alert: { late: 1h }     # status, and its --fail\n"
	"    logic_version: 1\n"
	"    tenant: \"\"\n"
	"    gate: { not_null: [], min: {}, max: {}, match: {}, unique: [], "
	"min_rows: 0, max_rows: 0 }\n"
	"    on_bad_row: halt\n"
	"    verify: off            # off | window: read again what was "
	"loaded\n"
	"    pace: { rows_per_second: 0, bytes_per_second: 0, replica_lag: "
	"0s, max_active: 0, pause_file: \"\", replicas: [] }\n"
	"    soft_delete: \"\"\n"
	"    schedule: { every: 5m, jitter: 10s }        # or just: every 5m\n"
	"  audit:\n"
	"    source:\n"
	"      connection: legacy\n"
	"      table: 'sales.\"Audit.Log\"'   # or query: \"select ...\"\n"
	"      rename: { userId: user_id }\n"
	"      casing: as_is        # as_is | snake\n"
	"      zero_dates: null     # error | null: MySQL's 0000-00-00\n"
	"    destination: { connection: warehouse, table: main.audit }\n"
	"    watermark: { strategy: sequence, column: id }\n"
	"    schedule: { cron: \"0 3 * * *\", time_zone: Europe/Rome }\n"
	"  shop:                    # a wildcard: a pipeline for each table, "
	"shop.TABLE\n"
	"    tables: \"crm.*\"        # or a list\n"
	"    exclude: [\"crm.tmp_*\"]\n"
	"    on_missing: error      # error | skip\n"
	"    source: { connection: shop }\n"
	"    destination: { connection: warehouse, schema: crm }\n"
	"    overrides:\n"
	"      crm.visits: { watermark: { strategy: sequence, column: id } "
	"}\n";

const char *settings_example(void)
{
	return settings_example_text;
}

json_t *settings_json_schema(void)
{
	json_t *body = option_json_schema(settings_options, 0);
	json_t *pipelines = json_object_get(json_object_get(body, "properties"),
					    "pipelines");
	json_t *schema =
		json_pack("{ssss}", "$schema",
			  "https://json-schema.org/draft/2020-12/schema",
			  "title", "tidemark.yaml");

	/* Not anyOf: that would hide which key of which of them is wrong. */
	json_object_set_new(
		pipelines, "additionalProperties",
		json_pack("{s{s[s]}soso}", "if", "required", "tables", "then",
			  option_json_schema(wildcard_options, 0), "else",
			  option_json_schema(pipeline_options, 0)));
	json_object_update(schema, body);
	json_decref(body);
	return schema;
}

void settings_reference(struct strbuf *markdown)
{
	strbuf_addstr(markdown, settings_introduction);
	strbuf_addstr(markdown, "## Everything at once\n\n```yaml\n");
	strbuf_addstr(markdown, settings_example_text);
	strbuf_addstr(markdown, "```\n\n## Top level\n\n");
	option_reference(settings_options, markdown);
	strbuf_addstr(markdown, "\n## state\n\nA connection URL, or:\n\n");
	option_reference(state_options, markdown);
	strbuf_addstr(markdown, "\n## notify\n\nA list of maps:\n\n");
	option_reference(notify_options, markdown);
	strbuf_addstr(markdown,
		      "\n## connections.NAME\n\nA connection URL, or:\n\n");
	option_reference(connection_options, markdown);
	strbuf_addstr(markdown, "\n## pipelines.NAME\n\n"
				"Also the keys of `defaults`, which are "
				"merged map by map under every pipeline; "
				"lists and values are taken whole. A pipeline "
				"that names another strategy than the "
				"defaults takes none of their `column`, "
				"`lag` and `time_zone`.\n\n");
	option_reference(pipeline_options, markdown);
	strbuf_addstr(markdown,
		      "\n## pipelines.NAME with tables\n\n"
		      "A wildcard. Each table that it catches has a pipeline "
		      "`NAME.TABLE`, or `NAME.SCHEMA.TABLE` where two schemas "
		      "have a table of that name. [pipelines.md]"
		      "(pipelines.md#many-tables) says more.\n\n");
	option_reference(wildcard_options, markdown);
}
