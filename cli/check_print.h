/*
 * The report of `check` for people: problems first, errors before warnings,
 * those that many pipelines share once; then how the pipelines are, and a sum.
 */
#ifndef TIDEMARK_CLI_CHECK_PRINT_H
#define TIDEMARK_CLI_CHECK_PRINT_H

#include "core/sync/report/check.h"

struct check_report_options {
	bool columns; /* and the statements of the first run */
	bool quiet; /* problems alone */
	bool all; /* every name, however many */
};

struct check_report;

struct check_report *check_report_new(const struct check_report_options *o);
void check_report_free(struct check_report *r);
/* Take note of a result, whose pipeline outlives the report. The columns are
 * kept only if they are to be printed. */
void check_report_add(struct check_report *r, const struct check_result *c);
void check_report_print(const struct check_report *r);

#endif
