/*
 * Faults of marks and keys that every engine may find, always in the same
 * words. refuse_ gives the error that stops a run, report_ a problem that
 * `check` shows.
 */
#ifndef TIDEMARK_CONNECTORS_COMMON_TROUBLE_H
#define TIDEMARK_CONNECTORS_COMMON_TROUBLE_H

#include "core/plugin/connector.h"

/* `count` rows have no mark, and `sample` is the key of one of them. DATA, or a
 * line in the log if they are to be left out. */
int refuse_null_marks(const struct scan *scan, const char *column,
		      int64_t count, const char *sample, struct error *err);
/* The table's columns are no longer those of its description (`column` is one
 * of them, or NULL). TRANSIENT, so that the next try describes it anew. */
int refuse_altered(const char *table, const char *column, struct error *err);
/* DATA */
int refuse_null_key(const char *table, const char *sample, struct error *err);
/* The source does not take SQL of the config; `key` names it: CONFIG. An error
 * that is not the SQL's fault keeps its code. */
int refuse_sql(const char *key, const struct error *why, struct error *err);
/* More than one row has this key: SCHEMA. */
int refuse_repeat(const char *table, const char *key, struct error *err);
/* The same if row `row` of a batch has the key of the one before it. */
int refuse_repeat_row(const char *table, const struct batch *b, size_t row,
		      struct error *err);

void report_null_marks(struct problems *out, const char *table,
		       const char *column, enum nulls_policy policy,
		       int64_t count);
void report_nullable_key(struct problems *out, const char *table,
			 const char *column);
void report_repeat(struct problems *out, const char *table, const char *key);
/* No index says that keys do not repeat; `fix` may be NULL. */
void report_unvouched(struct problems *out, const char *table, const char *fix);
/* A foreign key changes rows of the table by itself (`how`: "ON UPDATE
 * CASCADE"), and nothing moves the mark then. `other`: a way out that the
 * engine has, or "". */
void report_cascade(struct problems *out, const struct source_spec *source,
		    const char *key, const char *how, const char *column,
		    const char *other);
/* Nobody says whose clock a mark holds. `own`: the engine's own way to say it,
 * or "". */
void report_zone_unknown(struct problems *out, const char *table,
			 const char *column, const char *own);
/* The zone was looked up with the result `rc` and `why`. An unknown zone is a
 * problem; any other failure is an error. */
int report_zone(struct problems *out, int rc, const struct error *why,
		struct error *err);

#endif
