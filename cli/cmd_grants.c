#include <string.h>

#include "cli/commands.h"
#include "cli/copied.h"
#include "cli/output.h"
#include "core/base/utf8.h"
#include "core/sync/report/grants.h"

static void grants_print_part(const struct pipeline_settings *p,
			      const struct grants_part *part)
{
	output_line("-- %s: %s, connection %s (%s)%s", p->name,
		    grants_role_name(part->role), part->connection->name,
		    part->connection->url.engine,
		    part->has_users ? "" : ": a file; see who may write it");
	for (size_t i = 0; i < part->grants.n; i++) {
		const struct grant *g = &part->grants.items[i];

		output_line("-- %s", g->why);
		if (g->sql)
			output_line("%s;", g->sql);
	}
}

/* A line loses its control characters, and the statement would be about
 * something else. */
static int grants_check_part(const struct pipeline_settings *p,
			     const struct grants_part *part, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < part->grants.n; i++) {
		const char *sql = part->grants.items[i].sql;
		struct strbuf flat = STRBUF_INIT;

		utf8_add_flat(&flat, sql ? sql : "");
		if (sql && strcmp(flat.data, sql) != 0)
			rc = error_set(err, ERROR_CONFIG,
				       "pipeline %s: a name at connection %s "
				       "has control characters, which %s "
				       "cannot write in one line" ERROR_FIX
				       "; take the statements from tidemark "
				       "grants %s --json",
				       p->name, part->connection->name,
				       part->connection->url.engine, p->name);
		strbuf_release(&flat);
	}
	return rc;
}

static json_t *grants_json_part(const struct grants_part *part)
{
	json_t *statements = json_array();

	for (size_t i = 0; i < part->grants.n; i++)
		json_array_append_new(
			statements, json_pack("{s:s, s:s?}", "why",
					      part->grants.items[i].why, "sql",
					      part->grants.items[i].sql));
	return json_pack("{s:s, s:s, s:s, s:o}", "role",
			 grants_role_name(part->role), "connection",
			 part->connection->name, "engine",
			 part->connection->url.engine, "grants", statements);
}

static void grants_show(const struct pipeline_settings *p,
			const struct grants_list *found, json_t *list)
{
	json_t *parts = list ? json_array() : NULL;

	for (size_t i = 0; i < found->n; i++)
		if (list)
			json_array_append_new(
				parts, grants_json_part(&found->items[i]));
		else
			grants_print_part(p, &found->items[i]);
	if (list)
		json_array_append_new(list,
				      json_pack("{s:s, s:o}", "pipeline",
						p->name, "servers", parts));
}

static int grants_all(const struct arguments *args, const struct settings *s,
		      const struct pipeline_settings *const *pipelines,
		      size_t n, struct error *err)
{
	json_t *list = arguments_has(args, "json") ? json_array() : NULL;
	int code = 0;

	for (size_t i = 0; !code && i < n; i++) {
		struct grants_list found = { .items = NULL };

		code = grants_list_find(pipelines[i], s->state, &found, err);
		for (size_t j = 0; !list && !code && j < found.n; j++)
			code = grants_check_part(pipelines[i], &found.items[j],
						 err);
		if (!code)
			grants_show(pipelines[i], &found, list);
		grants_list_release(&found);
	}
	if (list && !code)
		output_json(json_pack("{s:O}", "pipelines", list), false);
	json_decref(list);
	return code;
}

static int grants_run(const struct arguments *args, struct error *err)
{
	return copied_use(args, grants_all, err);
}

static const struct flag grants_flags[] = {
	COPIED_FLAGS,
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_grants = {
	.name = "grants",
	.operands = "[PIPELINE... | SOURCE_URL DESTINATION_URL --table T]",
	.max_operands = OPERANDS_ANY,
	.summary =
		"print the rights that a pipeline takes, as SQL; run none of "
		"it",
	.details = "For each server, in the words of its engine, from the "
		   "config alone: nothing is\nconnected to, but both ends of a "
		   "copy. An administrator runs them there; docs/rights.md "
		   "tells of each. Where\na "
		   "user is known to MySQL by another host than %, write that.",
	.example = "tidemark grants orders",
	.flags = grants_flags,
	.run = grants_run,
};
