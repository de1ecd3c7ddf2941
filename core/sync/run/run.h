/*
 * One try of a run as it goes: what it opens, finds out and loads. For the
 * files of this room, and for the kinds of run in core/sync/tasks.
 */
#ifndef TIDEMARK_CORE_SYNC_RUN_RUN_H
#define TIDEMARK_CORE_SYNC_RUN_RUN_H

#include "core/plugin/connector.h"
#include "core/sync/ledger/run_pace.h"
#include "core/sync/letters/letters.h"
#include "core/sync/pace/adapt.h"
#include "core/sync/parts/reader.h"
#include "core/sync/parts/stopper.h"
#include "core/sync/run/row_bounds.h"
#include "core/sync/run/task.h"
#include "core/sync/run/try.h"
#include "core/sync/run/verify.h"

/* One try: both ends opened anew, from the destination's mark to the end. */
struct run {
	const struct pipeline_settings *p;
	const struct run_options *options;
	struct task *task;
	struct store *store;
	struct lease_keeper *keeper;
	struct tries *tries;
	const struct connection **refused; /* the run's context has it */
	int64_t deadline_us; /* for all tries; 0: none */
	struct run_result *out;
	struct connector *source;
	struct connection to; /* the destination, as it is to be opened */
	struct destination *destination;
	struct stopper stopper;
	struct source_spec spec;
	struct watermark_spec mark;
	struct schema schema;
	struct schema written; /* the target's: with the time of loading */
	struct target target;
	size_t n_others; /* had a mark of it, when that was looked at */
	struct watermark from;
	struct settled settled;
	struct range chosen; /* by the user, for a dry run */
	char *since; /* its beginning */
	struct scan scan; /* the reader reads by it until it is stopped */
	struct checkpoint checkpoint; /* as it stands in the destination */
	json_t *identity;
	json_t *shape; /* the settings that shape the rows, for the next mark */
	bool unchanged; /* unchanged.h: nothing is to be loaded */
	int64_t same_rows; /* then: rows that both sides have */
	bool again; /* a column, or what shapes rows, has made every row new */
	/* Columns that the source has no longer and the target keeps. */
	struct strlist gone;
	/* keyless.h: no key tells the rows apart, and all are kept. */
	struct {
		bool on;
		struct watermark mark; /* up to it every row is there */
		struct watermark before; /* the mark of the last batch */
		int64_t open; /* rows of this pass behind it */
		int64_t cut; /* and of an earlier one: to be removed */
		int64_t total; /* the target's rows, by its mark */
		int64_t left; /* batches that may be loaded; -1: any number */
		bool stuck; /* the last batch has rows of one mark alone */
		bool trimmed; /* the last batch ends where a mark does */
	} keyless;
	struct gate *gate; /* the reader's thread looks through it */
	struct letters letters;
	struct run_hooks *hooks; /* the run's context has it */
	struct run_verify *verify; /* NULL: not asked for */
	struct strlist keys; /* keys for scan.keys */
	bool split; /* several streams have loaded what lies before `from` */
	int64_t rows_beside; /* by them, and not in the mark's sum yet */
	struct window window;
	struct run_pace *pacing; /* for all tries */
	struct reader reader;
	struct adapt adapt; /* the rows of a batch */
	/* The marks before and behind the batch at hand. In a replay they are
	 * those of its window, while the destination's mark stays. */
	char *window_from, *window_to;
	/* In a replay: by the destination's mark; rows of its batches. */
	char *delivered;
	size_t *sizes;
	size_t n_sizes;
};

/* run.c */
void run_init(struct run *r);
void run_release(struct run *r);
void run_tick(void *ctx); /* a struct run */
/* Each batch moves the mark: the task does, and this is no refresh. */
bool run_moves_mark(const struct run *r);
/* The user has bounded its batches or its time. */
bool run_is_bounded(const struct run *r);
/* The most rows of the next batch. */
size_t run_batch_rows(const struct run *r);
/* Open both ends and describe the source; nothing is written. The source's
 * error comes before the destination's. */
int run_open(struct run *r, struct error *err);
/* A refresh has to come to its end. */
int run_check_bounds(const struct run *r, struct error *err);
/* Find the mark, check that the target is ours, and prepare it. */
int run_locate(struct run *r, struct error *err);
/* Ask the destination where the mark is. The destination's own row is the
 * truth. */
int run_recover(struct run *r, struct error *err);
/* Tell the ledger as soon as the window's start is known: that of the first
 * attempt, whatever the others find. */
int run_tell_ledger(struct run *r, struct error *err);
/* Let the destination know whose lease it is ... */
int run_claim(struct run *r, struct error *err);
/* Behind a load, which may have had to connect again: the lease names the
 * session that a successor would have to end. */
int run_tell_session(struct run *r, struct error *err);
/* ... and prepare the target; reading begins at the mark that is there then. */
int run_prepare(struct run *r, struct error *err);
/* Is `text` the mark of this pipeline, of this very source? Then the run goes
 * on from there (r->from), or from the beginning if a column or what shapes the
 * rows makes all of them new. */
int run_check_mark(struct run *r, const char *text, struct error *err);
/* The mark as it stands at the destination, with `delivered` (NULL: unknown)
 * as the highest that was; caller frees. NULL: no mark. */
char *run_mark_standing(const struct run *r, const char *delivered);
/* Remove the rows of these keys in one transaction; no row was read for it. */
int run_remove(struct run *r, const struct batch *keys, struct error *err);
/* The settled point, past r->from, into r->settled and r->out. */
int run_settle(struct run *r, struct error *err);
/* Load what the reader hands over until the pass ends. */
int run_pass(struct run *r, struct error *err);

#endif
