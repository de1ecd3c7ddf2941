/*
 * Refusals and warnings about a target, whatever the engine. Each situation has
 * one code, one message and one fix, and they are written here. The caller has
 * found out whether the situation is there.
 */
#ifndef TIDEMARK_DESTINATIONS_COMMON_REFUSALS_H
#define TIDEMARK_DESTINATIONS_COMMON_REFUSALS_H

#include "core/data/batch.h"
#include "core/plugin/destination.h"

/* not-ours: the target stands where a refresh would put its table, and somebody
 * else made it. */
void target_refuse_not_ours(const struct target *target, struct problems *out);
/* other-unique-index, a warning: it is on other columns than the key. */
void target_warn_unique(const struct target *target, struct problems *out);
/* target-emptied: the target has no row, although `rows` were delivered to it
 * since the pipeline's mark began. */
void target_refuse_emptied(const struct target *target, int64_t rows,
			   struct problems *out);
/* not-a-table: rows cannot be loaded into what stands there. */
void target_refuse_not_a_table(const struct target *target,
			       struct problems *out);
/* not-a-view, view-exists: readers are to look at a view of that name, and a
 * table has it, or a view that Tidemark did not make. */
void target_refuse_not_a_view(const struct target *target,
			      struct problems *out);
void target_refuse_view_of_others(const struct target *target,
				  struct problems *out);
/* key-folds: the collation of the key's column takes different texts for
 * equal. */
void target_refuse_folding(const struct target *target, const char *column,
			   const char *fix, struct problems *out);

/* CONFIG: a statement of the user has begun a transaction and not ended it. */
int target_refuse_open(struct error *err);

/* no-key: has the source none? */
/* SCHEMA: of the last `n` rows, which are to be loaded again, `found` are
 * there. */
int target_refuse_cut(const struct target *target, int64_t n, int64_t found,
		      struct error *err);
bool target_refuse_keyless(const struct target *target, struct problems *out);
/* Has it none? Rows that are only added to a new table, in one transaction a
 * batch, need none; no-key otherwise. */
bool target_lacks_key(const struct target *target, struct problems *out);
/* names-collide: columns whose names differ by the case of ASCII letters alone
 * are one to `title` ("SQLite"). */
void target_refuse_names(const struct target *target, const char *title,
			 struct problems *out);
/* reserved-name: columns named as Tidemark's own. */
void target_refuse_reserved(const struct target *target, struct problems *out);

/* In a load. DATA naming the first row with a NULL, which the target's column
 * does not take. */
int target_refuse_null(const struct target *target, const struct batch *b,
		       size_t column, struct error *err);
/* TRANSIENT: the table is not as the run has prepared it. `what`: "its columns
 * are not those that the run has prepared". */
int target_refuse_altered(const struct target *target, const char *what,
			  struct error *err);

#endif
