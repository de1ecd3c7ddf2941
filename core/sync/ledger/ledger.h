/*
 * A run's records in the state store: its stable identity, one attempt per try,
 * every batch. A NULL store records nothing.
 */
#ifndef TIDEMARK_CORE_SYNC_LEDGER_LEDGER_H
#define TIDEMARK_CORE_SYNC_LEDGER_LEDGER_H

#include "core/data/digest.h"
#include "core/store/history.h"
#include "core/sync/parts/result.h"

/* Hash of pipeline, tenant, window start, logic version and the settings that
 * shape rows. `from` is the mark at which the window starts, NULL for the
 * start. */
void ledger_run_id(const struct pipeline_settings *p, const char *from,
		   char out[DIGEST_TEXT_SIZE]);
/* The identity of a run that loads rows by their keys: it is its own, and no
 * window's. */
void ledger_aside_id(const struct pipeline_settings *p, const char *attempt,
		     char out[DIGEST_TEXT_SIZE]);
/* Unique, sortable by time. */
void ledger_attempt_id(char out[DIGEST_TEXT_SIZE]);
/* Identity of a batch: pipeline, logic version, window and content. For a
 * transactional destination `content` is attempt and number, which spares
 * hashing every row. Elsewhere it is the digest of the rows, so that a repeated
 * batch is the same batch. */
void ledger_batch_id(const struct pipeline_settings *p, const char *from,
		     const char *to, const char *content,
		     char out[DIGEST_TEXT_SIZE]);

/* Record that the attempt is RUNNING. */
int ledger_begin(struct store *store, const struct run_result *r,
		 struct error *err);
/* Record what has become of it by now. */
int ledger_refresh(struct store *store, const struct run_result *r,
		   struct error *err);
/* Record the batch; `mark` is mirrored, unless it is NULL. */
int ledger_batch(struct store *store, const struct run_result *r,
		 const struct batch_record *b, const char *mark,
		 struct error *err);
/* Record the attempt's end: SUCCEEDED, or FAILED with r->error. One that did
 * not come to see the destination's mark goes by its mirror. */
int ledger_end(struct store *store, struct run_result *r, struct error *err);

#endif
