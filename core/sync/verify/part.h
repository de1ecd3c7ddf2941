/*
 * The part of a pipeline's rows that a quick `verify` looks at. It has the rows
 * whose mark is a value or later, or a share of the keys. The hashes of the
 * keys choose the share, so both sides choose the same keys, whatever the
 * engines' order is.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_PART_H
#define TIDEMARK_CORE_SYNC_VERIFY_PART_H

#include <jansson.h>

#include "core/settings/settings.h"
#include "core/sync/verify/compare.h"

#define VERIFY_PART_ALL INT64_C(1000000)

struct verify_part {
	const char *since; /* as the user wrote it; NULL: from the first on */
	int64_t share; /* parts per million of all keys; 0: each of them */
	uint64_t offset; /* where the share begins among the hashes */
};

/* "1%" or "0.5%", of which a new choice is made; false: no such share. */
bool verify_part_sample(struct verify_part *part, const char *text);
bool verify_part_is_whole(const struct verify_part *part);
bool verify_part_has(const struct verify_part *part,
		     const struct compare_hash *key);
/* "1% of the keys, of rows since 2026-01-31 by updated_at" */
void verify_part_print(struct strbuf *sb, const struct verify_part *part,
		       const struct pipeline_settings *p);
/* {"since", "column", "sample"}, those that are said; null if it is all. New
 * reference. */
json_t *verify_part_json(const struct verify_part *part,
			 const struct pipeline_settings *p);

#endif
