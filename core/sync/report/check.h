/*
 * `check`: what a run of a pipeline would meet, without writing anything:
 * connections, columns and their mapping, rights, key, mark, whose mark is
 * stored, the guarantee that would be in force. Each thing that goes wrong is
 * a problem in the list, never an end of the looking.
 */
#ifndef TIDEMARK_CORE_SYNC_REPORT_CHECK_H
#define TIDEMARK_CORE_SYNC_REPORT_CHECK_H

#include "core/settings/settings.h"

struct check_column {
	char *name, *source_type;
	char *destination_type; /* NULL: the destination was not reached */
	enum mapping mapping;
};

struct check_result {
	const struct pipeline_settings *pipeline;
	struct problems problems;
	struct check_column *columns;
	size_t n_columns;
	struct strlist ddl; /* what the first run would create or alter */
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
/* What a run would fail with first; ERROR_NONE if nothing stands in its way. */
enum error_code check_result_error(const struct check_result *r);
/* New reference. */
json_t *check_result_json(const struct check_result *r);

#endif
