#include "destinations/common/names.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/data/digest.h"

#define STAGE_HASH_DIGITS 16

char *name_stage(const char *pipeline)
{
	char hash[DIGEST_TEXT_SIZE];

	digest_hash_text(pipeline, strlen(pipeline), hash);
	return xstrfmt("%s%.*s", NAME_STAGE_PREFIX, STAGE_HASH_DIGITS, hash);
}

bool target_may_be_emptied(const struct target *target,
			   const struct checkpoint *seen)
{
	return !target->refresh && seen->watermark && seen->rows_total > 0;
}

void target_warn_emptied(const struct target *target,
			 const struct checkpoint *seen)
{
	log_warn("the target %s is empty though %" PRId64
		 " rows were loaded into it; tidemark run --full-refresh %s "
		 "fills it again",
		 target->table, seen->rows_total, target->pipeline);
}

int counts_check(const struct load_counts *counts, size_t n_rows,
		 const char *table, struct error *err)
{
	int64_t sum = counts->inserted + counts->updated + counts->unchanged;

	if (sum == (int64_t)n_rows)
		return 0;
	return error_set(err, ERROR_BUG,
			 "table %s: %zu rows read, but %" PRId64
			 " inserted, %" PRId64 " updated and %" PRId64
			 " unchanged",
			 table, n_rows, counts->inserted, counts->updated,
			 counts->unchanged);
}
