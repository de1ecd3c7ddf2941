#include "destinations/common/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/data/digest.h"
#include "core/data/table_name.h"

#define STAGE_HASH_DIGITS 16

char *name_stage(const char *pipeline)
{
	char hash[DIGEST_TEXT_SIZE];

	digest_hash_text(pipeline, strlen(pipeline), hash);
	return xstrfmt("%s%.*s", NAME_STAGE_PREFIX, STAGE_HASH_DIGITS, hash);
}

int target_check_own(const struct target *target, const char *name,
		     struct error *err)
{
	if (!name_is_own(name))
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "table %s: names that begin with " NAME_OWN
			 " are taken" ERROR_FIX "; choose another",
			 target->table);
}

static const char *target_call(const struct target *target)
{
	return target->call ? target->call : target->pipeline;
}

char *target_refresh_command(const struct target *target)
{
	return xstrfmt("tidemark %s --full-refresh %s",
		       target->run ? target->run : "run", target_call(target));
}

int target_meet_others(const struct target *target,
		       const struct strlist *others, size_t step,
		       struct error *err)
{
	size_t length = strlen(target->pipeline), n = 0;

	/* PIPELINE/... is a chunk of its own. */
	for (size_t i = 0; i < others->n; i += step)
		n += strncmp(others->items[i], target->pipeline, length) != 0 ||
		     others->items[i][length] != '/';
	if (!target->n_others || n <= *target->n_others)
		return 0;
	return error_set(err, ERROR_TRANSIENT,
			 "table %s: another pipeline began to load it at the "
			 "same moment; nothing of this batch was written",
			 target->table);
}

char *target_repeat_advice(const struct target *target)
{
	const char *p = target_call(target);

	return xstrfmt("if the pipeline's key was narrowed, put it back, or "
		       "load anew by it: tidemark %s --full-refresh %s; if a "
		       "hand has put the rows there, tidemark verify --repair "
		       "%s leaves one of each",
		       target->run ? target->run : "run", p, p);
}

char *target_given_up(const struct target *target)
{
	return xstrfmt(target->refresh ? "this refresh of %s is given up"
				       : "nothing of this batch was written "
					 "to %s",
		       target->table);
}

void target_say_again(const struct target *target, const char *what)
{
	log_warn("the target %s %s: all rows of %s are read again",
		 target->table, what, target->pipeline);
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
