/*
 * Shared by the files of this folder: the open destination, and the steps of
 * its work.
 * - clickhouse.c holds the ops table, place.c the names.
 * - catalog.c reads the existing tables, types.c knows how values are kept.
 * - plan.c and plan_check.c decide.
 * - ddl.c writes the statements that make tables, prepare.c runs them.
 * - mark.c keeps _tidemark_watermark, recover.c finds the starting point.
 * - encode.c and encode_own.c write rows, input.c brings them to the server.
 * - statements.c compares them there, load.c loads, remove.c removes.
 * - swap.c replaces, preview.c rehearses.
 *
 * There is no transaction. A batch is one INSERT, which is all or nothing, and
 * the mark is written after it. A step that is done twice changes nothing. Rows
 * are compared with those of their key by a hash, and of two rows with one key
 * the higher version counts. The version is the mark's value, or one more than
 * that of the row which it replaces.
 *
 * Nor is there a lock. Each writer brings its batches to the server in a table
 * of its own. It loads them from there by a statement that fails if the mark
 * was moved since the writer looked. A writer makes that table, and then looks
 * at the mark. Its successor raises the fence of the mark, and then drops all
 * such tables but its own. So a writer that looks later sees the fence. A
 * writer that looked before has lost its table, and DROP ... SYNC waits for the
 * statements that still read it. Only when the successor has dropped them, it
 * looks at the table, its mark and its numbers. Nothing of its predecessors
 * comes any more, wherever they were stopped.
 */
#ifndef TIDEMARK_DESTINATIONS_CLICKHOUSE_INTERNAL_H
#define TIDEMARK_DESTINATIONS_CLICKHOUSE_INTERNAL_H

#include <stdatomic.h>

#include "clients/clickhouse.h"
#include "core/data/digest_rows.h"
#include "core/plugin/destination.h"
#include "destinations/clickhouse/types.h"
#include "destinations/common/mark_keeper.h"
#include "destinations/common/names.h"
#include "destinations/common/plan.h"
#include "destinations/common/refresh.h"
#include "destinations/common/row_order.h"
#include "destinations/common/soft_delete.h"

#define NAME_VERSION "_tidemark_version"
#define NAME_DELETED "_tidemark_deleted"
#define NAME_HASH    "_tidemark_hash"
/* Nine granules of 8192 rows. Each INSERT is a part of its own, which is merged
 * with others later. A few large parts cost less than many small ones. */
#define CLICKHOUSE_TARGET_PIECE 73728
/* As the comment of a table that is ours begins. */
#define NAME_MADE_BY "Made by Tidemark"
/* The rows that the view _tidemark_watermark shows. */
#define CLICKHOUSE_TARGET_MARK_ROWS NAME_WATERMARK_TABLE NAME_RAW_SUFFIX
/* The message of an INSERT that finds a column changed. */
#define CLICKHOUSE_TARGET_ALTERED "a column was altered"
/* An INSERT is answered when its rows are on the disk: or a mark could be
 * there, after a power cut, and its rows not. */
#define CLICKHOUSE_TARGET_DURABLE                                              \
	"fsync_after_insert = 1, fsync_part_directory = 1"
/* ... that the mark is not the one that its writer saw. */
#define CLICKHOUSE_TARGET_MOVED "the mark was moved"
/* ... that its batch is there twice, or in part. */
#define CLICKHOUSE_TARGET_OTHER "the batch is not what was sent"

extern const struct destination_ops clickhouse_destination;

/* The names of a target; all owned. */
struct place {
	char *database;
	char *table; /* plain: the view that readers look at */
	char *base; /* plain: TABLE_raw */
	char *stages; /* how the names of the two below begin, whosever */
	char *stage; /* plain: the table that a refresh fills */
	char *input; /* plain: what a batch is brought to the server in */
	char *readable, *rows, *staging, *incoming; /* quoted, of these */
	bool append;
	char *marks, *marks_rows; /* _tidemark_watermark and what it shows */
};
int clickhouse_target_place_set(struct place *out, const char *database,
				const struct target *target, struct error *err);
void clickhouse_target_place_release(struct place *p);

struct catalog_column {
	char *name, *type, *comment;
	char *default_kind, *expression; /* "DEFAULT", "now()"; or "" */
	bool has_default, computed, sorting;
	bool ephemeral; /* there is nothing to read: only defaults do */
};
struct catalog_table {
	bool exists, view;
	char *engine, *engine_full, *comment, *uuid, *sorting_key;
	struct catalog_column *columns;
	size_t n_columns;
};
void clickhouse_target_catalog_init(struct catalog_table *t);
void clickhouse_target_catalog_release(struct catalog_table *t);
/* No such table: exists is false. */
int clickhouse_target_catalog_read(struct clickhouse *db, const char *database,
				   const char *name, struct catalog_table *out,
				   struct error *err);
/* Its question; caller frees. */
char *clickhouse_target_catalog_sql(const char *database, const char *name);
const struct catalog_column *
clickhouse_target_catalog_find(const struct catalog_table *t, const char *name);
/* As the comment of a table or view says. */
bool clickhouse_target_catalog_is_made_by_us(const struct catalog_table *t);

/* A row of _tidemark_watermark. */
struct mark_row {
	bool found;
	char *watermark; /* NULL: none */
	char *batch_id, *target, *table_uuid;
	char *written_at; /* as the server has it; NULL: it is written now */
	int64_t fence, rows_total, target_rows;
	uint64_t revision;
};
void clickhouse_target_mark_row_release(struct mark_row *m);
void clickhouse_target_mark_row_copy(struct mark_row *dst,
				     const struct mark_row *src);
void clickhouse_target_mark_row_checkpoint(const struct mark_row *m,
					   struct checkpoint *out);
/* Is the writer of `now` still the one of `seen`? */
bool clickhouse_target_mark_is_handed_on(const struct mark_row *now,
					 const struct mark_row *seen);

struct clickhouse_target {
	struct mark_keeper keeper;
	struct clickhouse *db;
	atomic_bool interrupted;
	char *session; /* a dry run's: its objects are its own */
	char *previewed; /* and what it would have written */

	const struct target *target; /* since prepare */
	struct place place;
	struct catalog_table there; /* the form of `into` */
	char *into; /* quoted: the table that is loaded: rows or staging */
	char *stored; /* a batch is compared with it: a table or SELECT */
	bool input_made; /* the table for batches is there */
	bool input_full; /* and not empty */
	bool plain; /* the columns have the types that are sent */
	/* In append, before the first load: the server may remember a batch
	 * whose rows are gone. */
	bool doubtful;
	bool missing; /* rows are sent that it did drop */
	/* The table has what this call writes, and its mark is still to come:
	 * a server without transactions takes nothing back. */
	bool written;
	char *preparation; /* no two have the same */
	enum soft_delete soft_delete;
	struct row_order order;
	struct mark_row seen; /* the pipeline's row, as last seen or written */
	int64_t refreshed; /* rows loaded since prepare, in a refresh */
	int64_t built; /* rows put into its stage by that */
};

/* Plain: the table that is loaded, `into`. */
const char *clickhouse_target_place_loaded(const struct clickhouse_target *d);

/* plan.c: the existing objects, and the work to be done. */
struct clickhouse_target_plan {
	struct plan base;
	struct catalog_table table; /* in place->base */
	struct catalog_table readable;
	struct mark_row mark;
	char **wanted; /* types; one for each column of the source */
	size_t n_wanted;
	bool has_database;
	bool refills; /* a dropped column: the stored hashes are of its values
		       */
	/* Tables of ours that are not durable yet, quoted; not owned. */
	const char *volatile_tables[2];
	size_t n_volatile;
};
extern const struct plan_engine clickhouse_target_plan_engine;
/* plan_check.c: fill in problems: those that no table can mend, as in struct
 * plan_engine, and the others. */
int clickhouse_target_plan_check_mode(struct plan *plan, struct error *err);
void clickhouse_target_plan_check(struct clickhouse_target_plan *plan);

/* grants.c */
int clickhouse_target_grants(const struct connection *conn, const char *table,
			     enum load_mode mode, struct grants *out,
			     struct error *err);

/* rights.c: warnings of what the user may not do. */
int clickhouse_target_plan_warn(struct plan *base, struct error *err);

/* ddl.c */
/* `old`: what it is to replace, whose columns that the source does not have it
 * keeps. */
void clickhouse_target_ddl_table(struct strbuf *sb, const char *table,
				 const struct target *target,
				 const char *const *types,
				 const struct catalog_table *old);
void clickhouse_target_ddl_view(struct strbuf *sb, const struct place *place,
				const struct target *target,
				const struct catalog_table *raw);
void clickhouse_target_ddl_input(struct strbuf *sb, const char *table,
				 bool temporary, const struct schema *schema);
/* Append what has to be run to plan->inspection.ddl; `types`: of the source's
 * columns as they are or will be. */
void clickhouse_target_ddl_plan(struct clickhouse_target_plan *plan,
				const struct place *place,
				const struct target *target,
				const enum drift_step *steps,
				const char *const *types);
/* "`a` Nullable(String) COMMENT 'tidemark: json'"; caller frees. */
char *clickhouse_target_ddl_column_type(const struct schema *schema,
					size_t column, const char *plain);
/* The DDL of _tidemark_watermark. */
void clickhouse_target_ddl_marks(struct strbuf *sb, const char *table);

int clickhouse_target_prepare(struct destination *base,
			      const struct target *target, struct error *err);
/* `there` is that table of ours from now on. */
int clickhouse_target_prepare_read(struct clickhouse_target *d,
				   const char *table, struct error *err);
/* Prepare what depends on `there`. */
void clickhouse_target_prepare_statements(struct clickhouse_target *d,
					  const struct target *target);

/* mark.c. None of these is a transaction. Each writes a row that replaces
 * the last one it has seen, and reads it back; STATE if another writer was
 * quicker. */
/* SCHEMA if the table of the marks has a fault. `durable` (may be NULL): it was
 * made with CLICKHOUSE_TARGET_DURABLE, or does not exist yet. */
int clickhouse_target_mark_has_table(struct clickhouse_target *d,
				     const struct place *place, bool *out,
				     bool *durable, struct error *err);
/* As engine_full has it. */
bool clickhouse_target_catalog_is_durable(const struct catalog_table *t);
/* The SELECT list of a row of the marks, and such a row. */
void clickhouse_target_mark_write_select(struct strbuf *sb,
					 const struct place *place);
void clickhouse_target_mark_take(struct mark_row *out,
				 const struct clickhouse_rows *rows,
				 size_t row);
int clickhouse_target_mark_read(struct clickhouse_target *d,
				const struct place *place, const char *pipeline,
				struct mark_row *out, struct error *err);
/* And `question`, if there is one: of one number, in the same statement. */
int clickhouse_target_mark_ask(struct clickhouse_target *d,
			       const struct place *place, const char *pipeline,
			       const char *question, struct mark_row *out,
			       int64_t *answer, struct error *err);
int clickhouse_target_mark_put(struct clickhouse_target *d,
			       const struct place *place, const char *pipeline,
			       const struct mark_row *seen,
			       struct mark_row *next, bool deleted,
			       struct error *err);
/* STATE if another writer was here since. */
int clickhouse_target_mark_lock(struct clickhouse_target *d, struct error *err);
/* And what else there is to ask: `question` is of one number, or NULL. */
int clickhouse_target_mark_lock_and_ask(struct clickhouse_target *d,
					const char *question, int64_t *answer,
					struct error *err);
/* `rc`, or STATE if another run has taken over: it has then changed the missing
 * or refused objects. TRANSIENT if only the mark was moved. */
int clickhouse_target_mark_why(struct clickhouse_target *d, int rc,
			       struct error *err);
/* `next`, which is taken, becomes the pipeline's row, as last seen. One that
 * says when it was written goes on saying so. */
int clickhouse_target_mark_move(struct clickhouse_target *d,
				const char *pipeline, struct mark_row *next,
				struct error *err);
/* After a load of `n_rows`. */
int clickhouse_target_mark_advance(struct clickhouse_target *d,
				   const struct checkpoint *next,
				   int64_t n_rows, struct error *err);
/* Undo the row of a refresh that ends without finish(), as far as possible. */
void clickhouse_target_mark_give_back(struct clickhouse_target *d);
char *clickhouse_target_mark_new_id(const char *prefix);
/* ahead.c: what an idle run asks, in few requests. */
/* The questions of recover() and, for a run, of its plan: the catalog's. */
int clickhouse_target_ahead_recover(struct clickhouse_target *d,
				    const struct place *place,
				    const struct target *target,
				    struct error *err);
/* The marks, whose table has no fault: for recover() and the plan. */
int clickhouse_target_ahead_marks(struct clickhouse_target *d,
				  const struct place *place,
				  const char *pipeline, struct error *err);
/* Behind a plan that changes nothing: the questions of prepare(), and those of
 * recover() behind it. `rows`: whether there are any comes first. */
int clickhouse_target_ahead_prepare(struct clickhouse_target *d,
				    const struct plan *plan, bool rows,
				    struct error *err);
/* The questions of other files; caller frees. */
char *clickhouse_target_database_sql(const struct place *place);
char *clickhouse_target_rows_sql(const struct place *place);
char *clickhouse_target_mark_table_sql(const struct place *place);
char *clickhouse_target_mark_sql(const struct place *place,
				 const char *pipeline, const char *question);
char *clickhouse_target_mark_all_sql(const struct place *place,
				     const char *pipeline);
char *clickhouse_target_leftovers_sql(const struct place *place);

/* recover.c */
int clickhouse_target_resume(struct mark_keeper *k, struct checkpoint *out,
			     struct error *err);
/* mark_others.c */
extern const struct mark_engine clickhouse_target_mark_keeper;
/* identity.c */
int clickhouse_target_identity(struct destination *base,
			       const struct target *target, json_t **out,
			       struct error *err);

/* encode.c: the rows of `order` in ClickHouse's Native format, column by
 * column, as one block. A column has its name and type, then whether each value
 * is NULL (not for the key's columns), then the values. encode_own.c: columns
 * of ours behind them: version, hash, number in the batch. */
enum encode_stage { ENCODE_NAME, ENCODE_NULLS, ENCODE_VALUES };
struct encoder {
	const struct batch *batch;
	const struct row_order *order;
	const char *table; /* for messages */
	int64_t first_seq;
	size_t n_columns; /* ours, too */
	bool begun; /* the block */
	enum encode_stage stage; /* the stage of `column` */
	size_t column, next; /* row of `order` */
	size_t sent; /* bytes of `chunk` */
	struct strbuf chunk;
	uint64_t *names, all_names; /* hashes of the columns', and their sum */
	struct digest_rows block; /* some rows of `order`, to be hashed */
	bool halfway; /* failpoint mid_load has been passed */
};
void clickhouse_target_encoder_init(struct encoder *e, const struct batch *b,
				    const struct row_order *order,
				    const char *table);
void clickhouse_target_encoder_release(struct encoder *e);
long clickhouse_target_encoder_read(void *ctx, void *out, size_t room,
				    struct error *err);
void clickhouse_target_encoder_rewind(void *ctx);
void clickhouse_target_encode_number(struct encoder *e, uint64_t number);
void clickhouse_target_encode_text(struct encoder *e, const void *text,
				   size_t n);
/* Write `column`, which is one of ours: its name and type; `n` values. */
void clickhouse_target_encode_own_begin(struct encoder *e);
void clickhouse_target_encode_own(struct encoder *e, const uint32_t *rows,
				  size_t n);
void clickhouse_target_encode_own_init(struct encoder *e);
void clickhouse_target_encode_own_release(struct encoder *e);

/* input.c */
/* The table for batches, which is this writer's own: made before the mark is
 * looked at. */
int clickhouse_target_input_make(struct clickhouse_target *d,
				 struct error *err);
/* The batch is in place.incoming. */
int clickhouse_target_input_fill(struct clickhouse_target *d,
				 const struct batch *b, struct error *err);
void clickhouse_target_input_drop(struct clickhouse_target *d);
/* SQL of how many rows of the table may have a key of the batch: 0, or not. The
 * caller frees it. NULL: the rows of the batch are always compared. */
char *clickhouse_target_input_room(const struct clickhouse_target *d,
				   const struct batch *b);

/* versions.c: may the row with the mark `new` replace the one with `old`? Both
 * are SQL; `delivered`: of the checkpoint, or NULL. Never older over newer,
 * unless the stored one is no newer than what this pipeline has delivered
 * itself. Without a mark, or with one that is none, nothing says which is
 * older, and the source's word counts. */
void clickhouse_target_version_newer(struct strbuf *sb, const struct type *mark,
				     const char *new, const char *old,
				     const char *delivered);

/* statements.c: of the batch in place.incoming and what is stored. */
void clickhouse_target_statement_names(struct strbuf *sb,
				       const struct schema *s,
				       const char *prefix);
void clickhouse_target_statement_key(struct strbuf *sb, const struct schema *s,
				     const char *prefix);
/* Three numbers: rows that are new, rows that replace others, all rows that
 * were brought. */
void clickhouse_target_statement_count(struct strbuf *sb,
				       const struct clickhouse_target *d,
				       const char *delivered);
/* `kept`: also the columns that the source does not have, which only
 * clickhouse_target_statement_select() gives. */
void clickhouse_target_statement_insert(struct strbuf *sb,
					const struct clickhouse_target *d,
					bool kept);
void clickhouse_target_statement_select(struct strbuf *sb,
					const struct clickhouse_target *d,
					const struct checkpoint *next);
/* All rows of the batch, when no row of the table has a key of it. */
void clickhouse_target_statement_select_all(struct strbuf *sb,
					    const struct clickhouse_target *d,
					    const struct checkpoint *next);
/* A condition that fails the statement, in which it is, if the mark was moved
 * since it was seen; true otherwise. */
void clickhouse_target_statement_fence(struct strbuf *sb,
				       const struct clickhouse_target *d);

/* SQL of how many rows of the batch are in the table of raw rows already; the
 * caller frees it. */
char *clickhouse_target_input_sent(const struct clickhouse_target *d,
				   const struct batch *b,
				   const struct checkpoint *next);

/* load.c */
/* Count the effect of the batch in place.incoming; duplicates are not
 * counted. */
int clickhouse_target_load_count(struct clickhouse_target *d,
				 const struct checkpoint *next,
				 struct load_counts *out, struct error *err);
/* The token of a batch, as it stands to the mark. Caller frees. */
char *clickhouse_target_load_token(const struct clickhouse_target *d,
				   const struct checkpoint *next);
int clickhouse_target_load(struct destination *base, const struct batch *batch,
			   const struct checkpoint *next,
			   struct load_counts *out, struct error *err);
int clickhouse_target_remove(struct destination *base, const struct batch *keys,
			     const struct checkpoint *next, int64_t *removed,
			     struct error *err);
int clickhouse_target_finish(struct destination *base,
			     const struct checkpoint *next, struct error *err);

/* preview.c */
int clickhouse_target_preview_prepare(struct clickhouse_target *d,
				      const struct target *target,
				      struct error *err);
void clickhouse_target_preview_drop(struct clickhouse_target *d);
int clickhouse_target_preview(struct destination *base,
			      const struct batch *batch,
			      const struct checkpoint *next,
			      struct load_counts *out, struct error *err);
int clickhouse_target_explain(struct destination *base, struct explanation *out,
			      struct error *err);

#endif
