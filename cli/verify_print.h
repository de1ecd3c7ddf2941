/* The findings of `verify`, for people: a line for each table that is equal,
 * and all that is known of the others. */
#ifndef TIDEMARK_CLI_VERIFY_PRINT_H
#define TIDEMARK_CLI_VERIFY_PRINT_H

#include "core/sync/verify/verify.h"

struct verify_report {
	size_t n; /* pipelines; of a single one all is printed */
	bool values; /* examples have their rows */
	bool quiet; /* equal tables are left out, and so is the sum */
	size_t equal, failed; /* counted here */
};

void verify_report_print(struct verify_report *report,
			 const struct verify_result *r);
/* The last line, where there are several: how many are equal. */
void verify_report_sum(const struct verify_report *r);

#endif
