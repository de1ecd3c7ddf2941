/*
 * `check`: the conditions that a run of a pipeline would meet, without writing
 * anything. It looks at connections, columns and their mapping, rights, key,
 * mark, the owner of the stored mark, and the guarantee that would be in force.
 * Each fault is a problem in the list, and the look goes on.
 */
#ifndef TIDEMARK_CORE_SYNC_REPORT_CHECK_H
#define TIDEMARK_CORE_SYNC_REPORT_CHECK_H

#include "core/settings/settings.h"

struct check_column {
	char *name; /* the target's */
	char *source_name; /* the source's; NULL: the same */
	char *source_type;
	char *destination_type; /* NULL: the destination was not reached */
	enum mapping mapping;
};

struct check_result {
	const struct pipeline_settings *pipeline;
	struct problems problems;
	struct check_column *columns;
	size_t n_columns;
	struct strlist ddl; /* statements for the first run's DDL */
	bool settled; /* the three below are known */
	enum guarantee guarantee;
	char *guarantee_reason;
	json_t *held_by; /* or NULL */
};

/* Look at one pipeline, and at the state store if `state` is not NULL; `out`
 * is filled in any case and to be released. */
void check_pipeline(const struct pipeline_settings *p,
		    const struct connection *state, struct check_result *out);
void check_result_release(struct check_result *r);
/* The error with which a run would fail first; ERROR_NONE if it would not. */
enum error_code check_result_error(const struct check_result *r);
/* New reference. */
json_t *check_result_json(const struct check_result *r);

#endif
