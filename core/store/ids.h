/*
 * Ids as people type them: the first characters of one are enough where only
 * one begins so.
 */
#ifndef TIDEMARK_CORE_STORE_IDS_H
#define TIDEMARK_CORE_STORE_IDS_H

#include "core/plugin/store.h"

/* With fewer characters than this, an id stands for itself alone. */
#define STORE_ID_LEAST 4

enum store_ids { STORE_IDS_RUNS, STORE_IDS_LETTERS };

/* `*out` is the one id on record that begins with `text`, or a copy of `text`
 * if there is none. CONFIG if several begin so: the error names some of them,
 * and
 * `*out` is NULL. The caller frees it. */
int store_id_find(struct store *s, enum store_ids of, const char *text,
		  char **out, struct error *err);

#endif
