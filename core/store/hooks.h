/*
 * SQL of the user around a load (load.before, load.after). It is on record
 * which statements attempts have run, and whether load.after is still to be
 * run.
 */
#ifndef TIDEMARK_CORE_STORE_HOOKS_H
#define TIDEMARK_CORE_STORE_HOOKS_H

#include "core/plugin/store.h"

/* A statement that was run. Owned texts, if it comes from a list. */
struct hook_record {
	char *attempt_id;
	char *hook; /* "before", "after" */
	int64_t number; /* the statement's, from 1 */
	int64_t started_at, ended_at;
	char *error_message; /* NULL: it was done */
};
struct hook_list {
	struct hook_record *items;
	size_t n;
	size_t capacity;
};
void hook_list_release(struct hook_list *list);

/* A number that grows with each load, or may have been; 0: load.after is done
 * since the last one; -1: nobody knows. */
int store_hooks_owed(struct store *s, const char *pipeline, int64_t *out,
		     struct error *err);
/* Rows are about to be loaded: one more. */
int store_hooks_owe(struct store *s, const char *pipeline, struct error *err);
/* load.after is done for what was owed when it began: `seen`. Whatever came
 * since stays owed. */
int store_hooks_pay(struct store *s, const char *pipeline, int64_t seen,
		    struct error *err);
int store_hook_save(struct store *s, const struct hook_record *record,
		    struct error *err);
/* List what all attempts of a run have run, in order. `out` is empty before. */
int store_hooks_list(struct store *s, const char *run_id, struct hook_list *out,
		     struct error *err);

#endif
