/*
 * The dead letters of one pipeline while it runs. They are the open letters, a
 * letter's content, and the letters that are over because their row has been
 * loaded. Without letters it costs a look at the store when a run begins.
 */
#ifndef TIDEMARK_CORE_SYNC_LETTERS_LETTERS_H
#define TIDEMARK_CORE_SYNC_LETTERS_LETTERS_H

#include <jansson.h>

#include "core/data/digest.h"
#include "core/plugin/destination.h"
#include "core/settings/settings.h"
#include "core/store/letters.h"
#include "core/sync/parts/bisect.h"
#include "core/sync/parts/result.h"

/* One that is open. */
struct letter_mark {
	char digest[DIGEST_TEXT_SIZE]; /* the key's, or a keyless row's */
	char *id;
	char *attempt_id; /* the attempt that wrote it */
	int64_t seen_in; /* the batch of this try that it is of; -1: none */
	bool renewed; /* refused again by this try */
};

struct letters {
	const struct pipeline_settings *p;
	struct store *store;
	/* Letters that are to be deleted, for their rows are loaded. All tries
	 * of the run share the list. */
	struct dead_letter_list *over;
	const struct run_result *out; /* the run that writes letters */
	struct letter_mark *items; /* by digest */
	size_t n;
	size_t capacity;
	int64_t batch; /* number of the one at hand */
};

/* Read the letters that earlier runs have left. */
int letters_open(struct letters *l, struct error *err);
void letters_release(struct letters *l);
/* The bad rows of batch `batch_id` as letters of this attempt, ready for the
 * store. `mark`: the one before the batch. */
void letters_write(const struct letters *l, const struct batch *b,
		   const char *batch_id, const char *mark,
		   const struct bad_rows *bad, struct dead_letter_list *out);
/* They are in the store. */
void letters_add(struct letters *l, const struct dead_letter_list *list);
/* A batch is loaded, but for its bad rows, which letters_add() has seen: the
 * letters of the others are over. Not of a refresh: letters_refreshed(). */
void letters_loaded(struct letters *l, const struct batch *b);
/* Delete the letters that are over. If that fails, the next call does it, which
 * may be another try's. */
int letters_clear(struct letters *l, struct error *err);
/* One of this digest is open, and its row has not been seen. */
bool letters_wait(const struct letters *l, const char *digest);
/* A refresh is swapped in: letters that it has not renewed are deleted. */
int letters_refreshed(struct letters *l, struct error *err);

/* As `dead-letters list` shows it; `row`: as `show` does. New reference. */
json_t *letter_json(const struct dead_letter *l, bool row);

#endif
