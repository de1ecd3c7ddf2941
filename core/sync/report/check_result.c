#include <stdlib.h>
#include <string.h>

#include "core/sync/report/check.h"

void check_result_release(struct check_result *r)
{
	for (size_t i = 0; i < r->n_columns; i++) {
		free(r->columns[i].name);
		free(r->columns[i].source_name);
		free(r->columns[i].source_type);
		free(r->columns[i].destination_type);
	}
	free(r->columns);
	problems_release(&r->problems);
	strlist_release(&r->ddl);
	free(r->guarantee_reason);
	json_decref(r->held_by);
	memset(r, 0, sizeof(*r));
}

enum error_code check_result_error(const struct check_result *r)
{
	for (size_t i = 0; i < r->problems.n; i++)
		if (r->problems.items[i].severity == SEVERITY_ERROR)
			return r->problems.items[i].error;
	return ERROR_NONE;
}

static json_t *check_problems_json(const struct problems *list)
{
	json_t *out = json_array();

	for (size_t i = 0; i < list->n; i++) {
		const struct problem *p = &list->items[i];

		json_array_append_new(
			out, json_pack("{s:s, s:s, s:s, s:s}", "severity",
				       severity_name(p->severity), "code",
				       p->code, "message", p->message, "fix",
				       p->fix ? p->fix : ""));
	}
	return out;
}

static json_t *check_columns_json(const struct check_result *r)
{
	json_t *out = json_array();

	for (size_t i = 0; i < r->n_columns; i++) {
		const struct check_column *c = &r->columns[i];

		json_array_append_new(
			out,
			json_pack("{s:s, s:s*, s:s, s:s?, s:s?}", "name",
				  c->name, "source_name", c->source_name,
				  "source_type", c->source_type,
				  "destination_type", c->destination_type,
				  "mapping",
				  c->destination_type ? mapping_name(c->mapping)
						      : NULL));
	}
	return out;
}

json_t *check_result_json(const struct check_result *r)
{
	json_t *ddl = json_array();

	for (size_t i = 0; i < r->ddl.n; i++)
		json_array_append_new(ddl, json_string(r->ddl.items[i]));
	return json_pack("{s:s, s:b, s:o, s:o, s:s?, s:s?, s:O?, s:o}",
			 "pipeline", r->pipeline->name, "ok",
			 check_result_error(r) == ERROR_NONE, "problems",
			 check_problems_json(&r->problems), "columns",
			 check_columns_json(r), "guarantee",
			 r->settled ? guarantee_name(r->guarantee) : NULL,
			 "guarantee_reason", r->guarantee_reason, "held_by",
			 r->held_by, "ddl", ddl);
}
