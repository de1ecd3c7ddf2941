/*
 * Shared by the files of this folder: the open destination, and the steps of
 * its work.
 * - sqlite.c holds the ops table, catalog.c reads the existing tables.
 * - types.c knows how values are stored, plan.c decides, prepare.c alters.
 * - mark.c keeps _tidemark_watermark, statements.c writes SQL.
 * - bind.c hands rows over, load.c loads, remove.c removes, swap.c replaces.
 *
 * One file is one database: everything is in its schema `main`, and one
 * transaction holds a batch and its mark.
 */
#ifndef TIDEMARK_DESTINATIONS_SQLITE_INTERNAL_H
#define TIDEMARK_DESTINATIONS_SQLITE_INTERNAL_H

#include <stdatomic.h>

#include "clients/sqlite.h"
#include "core/plugin/destination.h"
#include "destinations/common/names.h"
#include "destinations/common/place.h"
#include "destinations/common/plan.h"
#include "destinations/common/refresh.h"
#include "destinations/common/row_order.h"
#include "destinations/common/soft_delete.h"
#include "destinations/common/sql_load.h"
#include "destinations/sqlite/catalog.h"
#include "destinations/sqlite/types.h"

/* The engine's table of functions; sqlite.c. */
extern const struct destination_ops sqlite_destination;

/* place.c: CONFIG for a name of another schema than main. */
int sqlite_target_place_set(struct place *out, const struct target *target,
			    struct error *err);

struct sqlite_target {
	struct sql_mark mark;
	char *path;
	struct sqlite *db; /* NULL: the file is not there yet */
	/* For interrupt(), which comes from another thread: */
	struct sqlite *_Atomic running;
	atomic_bool interrupted;
	bool keep_log; /* as of struct sqlite_options */

	const struct target *target; /* since prepare */
	struct place place;
	enum version_order version;
	bool soft_zone; /* its instants say that they are UTC */
	bool met; /* the row at hand was there already (statements.c) */
	struct sqlite_statement *insert; /* upsert; append */
	/* The halves of delete_insert; also of upsert, where rows may exchange
	 * the values of another unique index. */
	struct sqlite_statement *remove, *add;
	/* Is a row there that was written; is one that was not written there,
	 * and not to be replaced? NULL: there are no triggers. */
	struct sqlite_statement *look, *same;
	bool *written; /* each row of `order`; NULL: there are no triggers */
	struct sqlite_statement *drop; /* a row by its key, whatever it is */
	/* In a dry run: brings a row into the copy; NULL: there are none. */
	struct sqlite_statement *pull;
	bool previewed; /* the table is as the statements take it to be */
	struct row_order order;
	struct strbuf texts; /* values of one row in text form */
	struct strbuf delivered; /* for the batch at hand, in stored form */
	/* The loaded table's; in a refresh, the replaced table's. */
	char *signature, *replaced;
	int64_t schema_version; /* at which the signature was last looked at */
};

/* sqlite.c: open the file, making it if need be. */
int sqlite_target_make(struct sqlite_target *d, struct error *err);

/* The table that is there now, and the steps to be done. */
struct sqlite_plan {
	struct plan base;
	struct catalog_table table; /* in place->base */
};
extern const struct plan_engine sqlite_target_plan_engine;
/* ddl.c: as in struct plan_engine. */
int sqlite_target_plan_ddl(struct plan *base, struct error *err);
/* For a raw table: CREATE INDEX, and CREATE VIEW. The view has the columns as
 * they are in `raw`, and the source's columns that are still to be added. */
void sqlite_target_ddl_raw_index(struct strbuf *sb, const struct place *place,
				 const struct target *target);
void sqlite_target_ddl_view(struct strbuf *sb, const struct place *place,
			    const struct target *target,
			    const struct catalog_table *raw);

int sqlite_target_prepare(struct destination *base, const struct target *target,
			  struct error *err);

/* signature.c: is the table still what prepare has seen? In the transaction
 * that reads it. Into `*out`, which is freed first; "": there is no table. */
int sqlite_target_signature_read(struct sqlite *db, const char *table,
				 char **out, struct error *err);
/* In a load's transaction. TRANSIENT: the next try prepares anew. */
int sqlite_target_signature_check(struct sqlite_target *d, struct error *err);
int sqlite_target_signature_check_replaced(struct sqlite_target *d,
					   struct error *err);

/* owned.c: is the table of marks there? SCHEMA if something has its name that
 * is no table, or if it has triggers. */
int sqlite_target_owned_has_marks(struct sqlite *db, bool *out,
				  struct error *err);

/* mark.c */
extern const char sqlite_target_mark_table_sql[];
void sqlite_target_mark_init(struct sqlite_target *d,
			     const struct destination_ops *ops);
/* Set the pipeline's watermark without loading; makes its row if there is
 * none. A run that is under way notices. `created` < 0: as it is. */
int sqlite_target_mark_put(struct sqlite_target *d, const struct place *place,
			   const char *pipeline, const char *watermark,
			   int created, struct error *err);
/* In prepare's transaction: STATE if the refresh of another process on this
 * host is under way. */
int sqlite_target_mark_check_free(struct sqlite_target *d, const char *pipeline,
				  struct error *err);
/* In prepare's transaction: the row's fence is at least the writer's, STATE if
 * it is higher; a refresh before it is over. */
int sqlite_target_mark_claim(struct sqlite_target *d,
			     const struct target *target, struct error *err);
/* In the transaction that makes the stage: from now on any other run of the
 * pipeline finds itself overtaken. */
int sqlite_target_mark_take_over(struct sqlite_target *d, const char *pipeline,
				 struct error *err);
/* Undo the row of a refresh that ends without finish(), as far as possible. */
void sqlite_target_mark_give_back(struct sqlite_target *d);
/* The row, if it is about this target: `known` and what comes with it. */
int sqlite_target_mark_history(struct sqlite *db, const struct place *place,
			       const char *pipeline, struct plan *out,
			       struct error *err);
/* As in struct sql_load_engine. */
int sqlite_target_mark_look(struct sql_mark *m, bool rows,
			    struct checkpoint *now, char **table,
			    struct error *err);
/* identity.c */
int sqlite_target_identity(struct destination *base,
			   const struct target *target, json_t **out,
			   struct error *err);

/* statements.c: d->insert, or d->remove and d->add, or all of them, for
 * d->target, into `table` (quoted).
 * `there`: the target's columns. */
int sqlite_target_statements_make(struct sqlite_target *d, const char *table,
				  const struct catalog_table *there,
				  struct error *err);
void sqlite_target_statements_release(struct sqlite_target *d);
/* delivered.c: the order of versions in that table; the parameter of what was
 * delivered; and, for the rows of one batch, the checkpoint's `delivered`. */
enum version_order sqlite_target_version_of(const struct target *target,
					    const struct catalog_table *there);
int sqlite_target_statements_delivered_at(const struct schema *schema);
void sqlite_target_statements_set_delivered(struct sqlite_target *d,
					    const char *text);

/* bind.c: one row's columns at positions 1.. of the statement; texts live in
 * d->texts until the next row. */
void sqlite_target_bind_row(struct sqlite_target *d,
			    struct sqlite_statement *st, const struct batch *b,
			    size_t row);
void sqlite_target_bind_print_instant(struct strbuf *sb, int64_t us);

/* statements.c: "t.key = ?1", of a row that is bound. */
void sqlite_target_statements_key(struct strbuf *sb,
				  const struct schema *schema);

/* preview.c: a dry run. The rows that a batch is about are brought into a
 * temporary copy of the table, and it is loaded into that. */
int sqlite_target_prepare_preview(struct sqlite_target *d,
				  const struct target *target,
				  struct error *err);
int sqlite_target_explain(struct destination *base, struct explanation *out,
			  struct error *err);

/* load.c, remove.c and swap.c: the steps of a transaction. */
extern const struct sql_load_engine sqlite_target_load_engine;
int sqlite_target_remove_rows(struct sql_mark *m, const struct batch *keys,
			      int64_t *removed, struct error *err);
int sqlite_target_swap_tables(struct sql_mark *m, const struct checkpoint *next,
			      struct error *err);
int sqlite_target_finish(struct destination *base,
			 const struct checkpoint *next, struct error *err);

#endif
