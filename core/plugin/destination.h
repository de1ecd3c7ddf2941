/*
 * The contract of a destination: a table of functions, called by core/sync from
 * one thread; only interrupt() may come from another.
 *
 * Order: open; recover; prepare; recover; load* and remove*; finish (only in a
 * refresh); close. In a dry run: open; recover; inspect; prepare (with
 * target->preview); explain; preview*; close. In front of prepare, recover and
 * inspect write nothing.
 *
 * load() is all or nothing, with the checkpoint inside when the engine is
 * TRANSACTIONAL. After an error load() has rolled back. If the code is CONFLICT
 * the same batch may be loaded again. If it is TRANSIENT, UNKNOWN or ACCESS the
 * destination is fit only for close().
 */
#ifndef TIDEMARK_CORE_PLUGIN_DESTINATION_H
#define TIDEMARK_CORE_PLUGIN_DESTINATION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/connection.h"
#include "core/base/strlist.h"
#include "core/data/batch.h"
#include "core/data/schema.h"
#include "core/data/watermark.h"
#include "core/plugin/explanation.h"
#include "core/plugin/grants.h"
#include "core/plugin/problem.h"

struct destination {
	const struct destination_ops *ops;
};

enum load_mode {
	LOAD_UPSERT,
	LOAD_APPEND, /* TABLE_raw + view TABLE */
	LOAD_DELETE_INSERT,
	LOAD_UPDATE, /* only rows that are there: target_writes() */
	LOAD_REPLACE
};
const char *load_mode_name(enum load_mode mode);

enum drift_action { DRIFT_ADD, DRIFT_WIDEN, DRIFT_KEEP, DRIFT_STOP };
struct drift_policy {
	enum drift_action on_new_column; /* ADD or STOP */
	enum drift_action on_type_change; /* WIDEN or STOP */
	enum drift_action on_dropped_column; /* KEEP or STOP */
};

/* By what right a run writes: the lease of its pipeline. All zero: by none, as
 * only tests do; then nothing is fenced. */
struct writer {
	/* Its fencing token. Where the pipeline's row has a higher one, nothing
	 * is written: STATE. */
	int64_t fence;
	/* A run before this one may not know that it is over: prepare raises
	 * the row's fence before it returns. */
	bool claim;
	const char *predecessor; /* its session, to be ended; NULL or "" */
	int64_t lease_us; /* a server ends what stands still for so long */
	/* STATE once the lease has run out. Asked inside each transaction that
	 * loads, before the mark is written; NULL: never runs out. */
	int (*check)(void *ctx, struct error *err);
	void *ctx;
};
/* Ask `check`. */
int writer_check(const struct writer *w, struct error *err);
/* STATE: the row that keeps the mark of `pipeline` is not as this run left it.
 * Another run or a hand may have changed it: the error gives the difference and
 * a remedy. `where` is the table of marks. `outcome` says what became of the
 * rows at hand. `seen` is the row as this run left it, `now` as it is; NULL:
 * not known. Their batch_id, fence and found count. */
struct checkpoint;
int writer_overtaken(const char *pipeline, const char *where,
		     const char *outcome, const struct checkpoint *seen,
		     const struct checkpoint *now, struct error *err);
/* STATE when the row of `pipeline` has a higher fence than this writer's. */
int writer_check_fence(const struct writer *w, const char *pipeline,
		       int64_t stored, struct error *err);

/* The table that is to be kept equal. Not owned; outlives the destination's
 * use. */
struct target {
	const char *pipeline;
	/* For advice that names commands: "tidemark RUN CALL" runs it. NULL:
	 * "run" and the pipeline's name. */
	const char *run, *call;
	const char *table; /* as written */
	enum load_mode mode;
	/* The source's schema: its key, its mark column (schema->mark: the
	 * version; -1: none). */
	const struct schema *schema;
	struct drift_policy drift;
	/* replace, or --full-refresh: load beside, swap in finish(). */
	bool refresh;
	/* --full-refresh: may replace a table that Tidemark did not create. */
	bool force;
	/* Mode update, and the source is this very table. A row that has
	 * another mark by now than when it was read was changed since. It is
	 * left for a later read. */
	bool in_place;
	/* A repair: the row just read replaces the stored one. It does so even
	 * if the stored mark is newer than any that was delivered, for a hand
	 * may have written it. If several rows have one key, one is left. A
	 * table that was emptied is filled. */
	bool overwrite;
	/* A dry run: prepare makes ready for preview() in place of load(), and
	 * nothing is written that anybody else sees or that outlives close. */
	bool preview;
	/* Column of the target, but not of the schema, that marks rows which
	 * the source has no longer; NULL: they are removed. */
	const char *soft_delete;
	struct writer writer;
	/* How many others had a mark of the target when its rows' owner was
	 * looked up; NULL: nobody looked. A pipeline without a mark loads
	 * nothing where there are more by now (TRANSIENT). When two pipelines
	 * begin at one moment, neither has a mark that the other could see. */
	const size_t *n_others;
};

/* Is the column written? Not the key; in mode update not the mark either, which
 * is of whoever writes the whole row. */
bool target_writes(const struct target *target, size_t column);
/* Has it any such column? */
bool target_writes_some(const struct target *target);

enum mapping { MAPPING_EXACT, MAPPING_WIDENED, MAPPING_LOSSY };
const char *mapping_name(enum mapping m);

struct column_mapping {
	char *name;
	char *destination_type;
	enum mapping mapping;
};

/* The work that prepare would do. */
struct inspection {
	struct column_mapping *columns; /* schema->n_columns, in order */
	size_t n_columns;
	struct problems problems; /* an error: run refuses before any row */
	struct strlist ddl; /* statements prepare will run */
	struct strlist added; /* columns for a table that exists already */
	struct strlist extra; /* columns of it that the source does not have */
	bool table_exists;
	/* A run would forget the mark and read all rows again. The table is
	 * new, is another one than the mark belongs to, or gets a column. */
	bool anew;
};
void inspection_init(struct inspection *i);
void inspection_release(struct inspection *i);

struct checkpoint {
	char *watermark; /* JSON text; NULL: no mark (fresh, or reset) */
	char *batch_id; /* the last loaded batch's; "" if none */
	int64_t fence; /* fencing token of the writer */
	/* Rows loaded over all time: read from this by recover; also the base
	 * of _tidemark_seq in append. */
	int64_t rows_total;
	/* load: rows that others have put there for this pipeline, beside its
	 * mark, and that are to be counted with this batch's. */
	int64_t rows_beside;
	bool found; /* recover: the row exists */
	/* recover without prepare: what others() answers. Where the target is
	 * missing, marks of the table that was there before. */
	struct strlist others;
	bool missing; /* recover without prepare: there is no target */
	/* load: so many rows, the last of the target's raw table, are removed
	 * in front of the batch's, in its transaction. They were left behind by
	 * a run without a key that did not come to its end. SCHEMA: they are
	 * not there. */
	int64_t cut;
	/* load: the highest mark that this pipeline has delivered, this batch
	 * included, as the source's text; NULL: unknown. A stored version up to
	 * it is our own, and the row just read replaces it even if its mark is
	 * lower. A long transaction that commits last leaves the newest row
	 * with an older mark. Beyond `delivered` the stored version wins. */
	char *delivered;
};
void checkpoint_init(struct checkpoint *c);
void checkpoint_release(struct checkpoint *c);
/* The target is missing, and the row is about a table that is gone. Only its
 * fence is left, since its writer may still live; and the others. */
void checkpoint_set_missing(struct checkpoint *c);
void checkpoint_add_other(struct checkpoint *c, const char *pipeline,
			  const char *mark);
/* `dst` is released first; without a batch, its id is "". */
void checkpoint_copy(struct checkpoint *dst, const struct checkpoint *src);
/* `next` as it is to be written over the mark `stands` (JSON text; NULL: none).
 * The rows that `stands` says are delivered stay so, in the mark and as
 * `delivered`. Another writer may have raised it (raise) since this one looked.
 * `dst` is released first. */
void checkpoint_keep(struct checkpoint *dst, const struct checkpoint *next,
		     const char *stands);

struct load_counts {
	int64_t inserted, updated, unchanged, deleted;
	/* Mode update: of those unchanged, rows whose key is not there. */
	int64_t missing;
};

enum destination_traits {
	DESTINATION_TRANSACTIONAL = 1 << 0, /* mark in the load's transaction */
};

struct destination_ops {
	const char *name;
	/* Ends with a NULL name; never NULL. */
	const struct url_option *options;
	unsigned traits;
	/* Rows that its storage takes as one piece: the engine keeps to
	 * multiples of it where its bounds allow. 0: any number is as good. */
	size_t batch_rows;
	/* Rights that loading `table` takes; as those of a connector. */
	int (*grants)(const struct connection *conn, const char *table,
		      enum load_mode mode, struct grants *out,
		      struct error *err);

	/* Find out about several targets in one go what recover() and prepare()
	 * are about to ask of each; as of a connector. They need no schema. A
	 * slot of NULL: each is asked about by itself. */
	int (*foresee)(struct destination *d,
		       const struct target *const *targets, size_t n,
		       struct error *err);
	/* Behind open(), in its thread, while the source is asked about its
	 * table. It gets a new session ready for what recover() asks of the
	 * target, which needs no schema. NULL: there is nothing to get
	 * ready. */
	int (*warm)(struct destination *d, const struct target *target,
		    struct error *err);

	/* Run one statement that the user wrote (load.before, load.after), in
	 * the handle's own session. It is committed by itself, and its rows are
	 * dropped. CONFIG: it is several, or it leaves a transaction open. The
	 * handle is open, and serves nothing else. NULL: the engine takes no
	 * such statement. */
	int (*execute)(struct destination *d, const char *sql,
		       struct error *err);

	int (*open)(struct destination **out, const struct connection *conn,
		    struct error *err);
	/* Look, write nothing: mapping, drift, problems, DDL. */
	int (*inspect)(struct destination *d, const struct target *target,
		       struct inspection *out, struct error *err);
	/* End target->writer.predecessor. Then refuse (problems_to_error of the
	 * inspection) or make ready, in one transaction. It creates or alters
	 * tables, views and _tidemark_watermark, and raises the row's fence if
	 * the writer is to claim it. If a column was added to an existing table
	 * (and not for refresh), the same transaction sets the stored watermark
	 * of the pipeline to NULL. All rows are then read again, and the column
	 * fills. Keeps `target` until close. */
	int (*prepare)(struct destination *d, const struct target *target,
		       struct error *err);
	/* Remove the stages of this pipeline that a crashed run left behind,
	 * and read the checkpoint. The caller initialises `out`. It also works
	 * without prepare, for `status` and `watermark show`, given the table
	 * (target->pipeline, table set; schema may be NULL). A missing table is
	 * found = false, no error, and nothing is written then. The fence is
	 * that of the pipeline's row all the same, whatever table the row is
	 * about. */
	int (*recover)(struct destination *d, const struct target *target,
		       struct checkpoint *out, struct error *err);
	/* Load the batch and move the mark from the checkpoint last seen by
	 * recover/load to `next`, in one transaction. STATE, nothing
	 * written, if the stored fence is higher than the writer's, or the
	 * stored batch_id is not the one last seen. STATE also if the
	 * writer's check fails. If a batch has a key twice, the last row
	 * wins, and the others count as unchanged. NULL or repeated keys and
	 * values that do not fit are DATA, with column and row key. If
	 * inserted + updated + unchanged is not n_rows, it rolls back (BUG).
	 * n_rows == 0 only moves the mark.
	 *
	 * After an unclear COMMIT, reconnect and read batch_id back. The
	 * mark that raise() has written into the row is kept, and counts for
	 * this very batch: see checkpoint_keep(). Read the row's mark where
	 * it cannot change before the batch is in, or answer CONFLICT if it
	 * did. */
	int (*load)(struct destination *d, const struct batch *batch,
		    const struct checkpoint *next, struct load_counts *out,
		    struct error *err);
	/* In a dry run: `out` is what load() would count for the batch, or the
	 * error is the one load() would give. The statements of the load run on
	 * copies of the rows concerned, in temporary tables of this session's
	 * own. Rows that earlier batches would have written stand there, too,
	 * so constraints of the table itself refuse rows as they would.
	 * Triggers, foreign keys, and other rows with the value of another
	 * unique index are unknown to it. Takes no lock that a writer would
	 * wait for, and no part of the mark. */
	int (*preview)(struct destination *d, const struct batch *batch,
		       const struct checkpoint *next, struct load_counts *out,
		       struct error *err);
	/* In a dry run: append the statements by which load() merges a batch,
	 * on the target's own table where that exists. */
	int (*explain)(struct destination *d, struct explanation *out,
		       struct error *err);
	/* Remove the rows of these keys and move the mark, under the conditions
	 * of load(). `keys` is a batch of the target's schema, and only the
	 * key's columns count. append: all their versions in TABLE_raw. A key
	 * that is not there is passed over. With soft_delete the rows are
	 * marked instead, if they are not yet (SCHEMA: there is no such
	 * column). load() takes the mark from a row that comes again, and
	 * counts it as updated. `*removed`: rows. Not in a refresh. */
	int (*remove)(struct destination *d, const struct batch *keys,
		      const struct checkpoint *next, int64_t *removed,
		      struct error *err);
	/* After the last load of a refresh: swap the new table in and write
	 * `next`, in one transaction. */
	int (*finish)(struct destination *d, const struct checkpoint *next,
		      struct error *err);
	/* Write just the mark (`watermark set|reset`; watermark NULL clears
	 * it). Target as for recover. SCHEMA if the target table is missing. */
	int (*set_watermark)(struct destination *d, const struct target *target,
			     const char *watermark, struct error *err);
	/* The pipeline's row goes, unless its fence is higher than the
	 * writer's; harmless when it has gone. append: another pipeline's row
	 * of the target keeps where the numbers of TABLE_raw are by now.
	 * Target as for recover. */
	int (*forget)(struct destination *d, const struct target *target,
		      struct error *err);
	/* The `predecessor` for a successor: a name of this handle's session at
	 * a server that can end it; "" for a file. A load that had to connect
	 * again changes it. Lives until the next load, or close. */
	const char *(*session)(struct destination *d);
	void (*interrupt)(struct destination *d);
	void (*close)(struct destination *d); /* rolls back; NULL is fine */
	/* Other pipelines with a mark of this very target, in the order of
	 * their names. Appends the name of each row and then its mark, JSON
	 * text. The chunks of a backfill have rows of their own. Target as for
	 * recover; nothing where there is no table. */
	int (*others)(struct destination *d, const struct target *target,
		      struct strlist *out, struct error *err);
	/* The chunk of a backfill, another writer than target->pipeline, is
	 * about to load rows past its mark. The pipeline's mark becomes the
	 * result of watermark_raise_text() with it and `mark`, JSON text
	 * without a value. If that returns NULL nothing is written. Nothing
	 * else of the row changes, so that a run of the pipeline goes on
	 * meanwhile. A row is made if there is none.
	 *
	 * It is durable before it returns, because the rows come after it. A
	 * mark that says too much only makes the pipeline's next read of a row
	 * count. CONFLICT: try again. Target as for recover; the table is
	 * there. */
	int (*raise)(struct destination *d, const struct target *target,
		     const char *mark, struct error *err);
	/* The identity of the target, however it is spelled: new reference to
	 * an object as of core/data/table_identity.h. It is the same for each
	 * name of a table, which need not exist. Target as for recover. */
	int (*identity)(struct destination *d, const struct target *target,
			json_t **out, struct error *err);
};

#endif
