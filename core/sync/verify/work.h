/*
 * The work that a look of `verify` has found: keys of rows to load once more,
 * and keys that the source has no longer. It takes so many of them at a time
 * that memory stays flat.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_WORK_H
#define TIDEMARK_CORE_SYNC_VERIFY_WORK_H

#include "core/sync/verify/tally.h"

/* Keys of each list: about 10 MiB. */
#define VERIFY_WORK_MOST 100000

/* Keys are n_key texts each, as scan.keys of the source takes them. */
struct verify_work {
	bool wants_load, wants_extra; /* the lists to be filled */
	struct compare compare; /* how the hashes are made */
	struct strlist load; /* missing or different: the source's texts */
	struct strlist extra; /* the source's texts, too */
	struct compare_hash *hashes; /* the extra keys' */
	size_t n_extra, capacity;
	bool more; /* there were more: do these, and look again */
};

void verify_work_release(struct verify_work *w);
/* Forget the findings; the wanted lists stay. */
void verify_work_reset(struct verify_work *w);
bool verify_work_is_empty(const struct verify_work *w);
/* One that differs and is settled. */
void verify_work_add(struct verify_work *w, const struct suspect *x,
		     size_t n_key);

#endif
