/*
 * Shared by the files of this folder: the open destination, and the steps of
 * its work.
 * - postgres.c holds the ops table, session.c opens sessions.
 * - ahead.c asks many questions in one message.
 * - catalog.c reads the existing tables, plan.c decides, prepare.c alters.
 * - mark.c keeps _tidemark_watermark, commit.c finds out about a COMMIT.
 * - statements.c writes SQL, joins.c sees to their plans, load.c loads.
 * - watch.c counts the effect of a batch.
 * - signature.c tells whether the table is still the one that was prepared.
 * - remove.c removes, lock.c waits for others, refresh.c guards a stage, swap.c
 *   replaces.
 * - owned.c looks for objects that others have made under our names.
 *
 * The session runs under search_path = pg_catalog, pg_temp: every name is
 * qualified, and a stage can only be ours.
 */
#ifndef TIDEMARK_DESTINATIONS_POSTGRES_POSTGRES_H
#define TIDEMARK_DESTINATIONS_POSTGRES_POSTGRES_H

#include <pthread.h>

#include "clients/pg.h"
#include "core/plugin/destination.h"
#include "destinations/common/names.h"
#include "destinations/common/place.h"
#include "destinations/common/plan.h"
#include "destinations/common/row_order.h"
#include "destinations/common/soft_delete.h"
#include "destinations/common/sql_load.h"
#include "destinations/postgres/catalog.h"
#include "destinations/postgres/encode.h"

#define STAGE "pg_temp._tidemark_stage"
/* A dry run's copy of the rows that its batches are about. */
#define PREVIEW_NAME "_tidemark_copy"
#define PREVIEW_COPY "pg_temp." PREVIEW_NAME

/* The engine's table of functions; postgres.c. */
extern const struct destination_ops postgres_destination;

struct postgres_destination {
	struct sql_mark mark;
	struct connection conn; /* a copy: an unclear COMMIT reconnects */
	struct pg *pg;
	pthread_mutex_t swapping; /* guards `pg` against interrupt() */
	char *session; /* "PID START" of ours: for whoever has to end it */
	int64_t lease_us; /* the writer's; 0: none */

	const struct target *target; /* since prepare */
	struct place place;
	struct catalog_table table; /* the one that rows go into now */
	const char *rows; /* its quoted name; in `place` */
	/* The signature of `rows`, and in a refresh the signature of the table
	 * to be replaced (NULL: there is none). In a preview: the signature of
	 * the copied table. */
	char *signature, *replaced;
	bool refill; /* the refresh exchanges the rows of the table */
	struct encoder encoder;
	struct row_order order;
	struct strbuf columns; /* quoted list of the batch's columns */
	char *sql_delete, *sql_update, *sql_insert_all, *sql_insert_new;
	char *sql_missing; /* not in append: rows that are not there */
	char *sql_left_out; /* NULL: nothing can leave rows out */
	/* The stage's rows that replace a stored one; in append, those that
	 * are new: $1 and $2 as of the statements that write. */
	char *sql_replacing, *sql_appending, *sql_appended;
	char *sql_pull; /* brings the stage's rows into the copy, or NULL */
	bool miscounted; /* the last merge did not do what was counted before */
	bool previewed; /* the table is as the statements take it to be */
	/* Rows may go straight into the table: it was empty, or all of the
	 * last batch were new. */
	bool direct;
	bool probes; /* ask about the first large batch whether it may */
	bool staged; /* the stage is there, and `direct` is known */
	unsigned use; /* the number of the session's use; 0: none yet */
	char *refresh_key; /* the advisory lock that this session holds */
};

/* place.c: SCHEMA error for another database, or a name that the server
 * would cut. */
int postgres_place_set(struct place *out, struct pg *pg,
		       const struct target *target, struct error *err);
static inline void postgres_place_release(struct place *p)
{
	place_release(p);
}

/* A plan asks this of the target's surroundings. */
struct postgres_surroundings {
	bool has_schema;
	bool may_create;
	bool may_stage;
	char *database; /* quoted */
	char readable; /* relkind of the name that readers use; 0: none */
	char *readable_fault; /* its owner, unless it is ours */
	char *mark_fault; /* the table of the marks' */
};

/* The table that is there now, and the steps to be done. */
struct postgres_plan {
	struct plan base;
	struct catalog_table table; /* in place->base */
	struct postgres_surroundings around;
	struct sql_type *wanted; /* one for each source column */
	size_t n_wanted;
	enum mapping *mappings; /* parallel to `wanted` */
	bool has_view; /* append: the view that readers use is there */
	bool old_view; /* ... of a version that put the highest mark first */
	bool held; /* the table of the marks was there to be locked */
	bool refill; /* the table stays in a refresh: see refill.c */
};
extern const struct plan_engine postgres_plan_engine;
/* Append the DDL to base.inspection.ddl. */
void postgres_ddl_schema(struct postgres_plan *plan, const struct place *place);
/* CREATE OR REPLACE VIEW of the newest row of each key. */
void postgres_ddl_view(struct strbuf *sb, const struct place *place,
		       const struct target *target,
		       const struct catalog_table *raw);
void postgres_ddl(struct postgres_plan *plan, const struct place *place,
		  const struct target *target, const enum drift_step *steps);

/* Fill base.copy. */
void postgres_ddl_copy(struct postgres_plan *plan, const struct place *place,
		       const struct target *target,
		       const enum drift_step *steps);

/* prepare.c. The stage is made when the first rows are to come:
 * `ready` asks for it, outside of a transaction. */
int postgres_prepare_stage(struct postgres_destination *d, struct error *err);
int postgres_prepare(struct destination *base, const struct target *target,
		     struct error *err);

/* lock.c: BEGIN, with locks that are not waited for for ever: STATE naming the
 * session that has one. Rolled back when it fails. */
enum {
	LOCK_DDL = 1,
	/* With it, the table that it is in: SCHEMA if that is not ours alone.
	 */
	LOCK_ROW = 2,
	/* With it, the rows of all that load into this table. */
	LOCK_TARGET = 4,
	/* The table that is loaded, against DDL; waited for as long as its
	 * statements would be. */
	LOCK_TABLE = 8
};
int postgres_lock_begin(struct postgres_destination *d, const char *pipeline,
			unsigned what, struct error *err);
/* The same with LOCK_ROW, in three steps. Add to a message the statements up to
 * the lock of the table of marks, then those behind it; read their answers.
 * `looked`: postgres_stop_sql came between them. */
void postgres_lock_ahead_table(struct postgres_destination *d,
			       const struct place *place, int64_t lease_us);
void postgres_lock_ahead_row(struct postgres_destination *d,
			     const struct place *place, const char *pipeline,
			     bool looked);
int postgres_lock_asked(struct postgres_destination *d, const char *pipeline,
			struct error *err);
/* The pid that has the advisory lock $1. */
extern const char postgres_lock_advisory_sql[];

/* mark.c */
void postgres_mark_init(struct postgres_destination *d,
			const struct destination_ops *ops);
void postgres_mark_table_sql(struct strbuf *sb, const struct place *place);
/* The row as it is, into `out`; `lock` waits for a writer that is still
 * committing or rolling back. */
int postgres_mark_read(struct postgres_destination *d, const char *pipeline,
		       bool lock, struct checkpoint *out, struct error *err);
/* In prepare's transaction: the row's fence is at least the writer's; STATE if
 * it is higher. */
int postgres_mark_claim(struct postgres_destination *d,
			const struct target *target, struct error *err);
/* As in struct sql_load_engine. */
int postgres_mark_begin(struct sql_mark *m, bool rows, struct error *err);
int postgres_mark_look(struct sql_mark *m, bool rows, struct checkpoint *now,
		       char **table, struct error *err);
/* commit.c: COMMIT; if its answer is lost, find out. */
int postgres_mark_commit(struct sql_mark *m, const struct checkpoint *next,
			 struct error *err);
/* grants.c */
int postgres_destination_grants(const struct connection *conn,
				const char *table, enum load_mode mode,
				struct grants *out, struct error *err);
/* identity.c */
int postgres_target_identity(struct destination *base,
			     const struct target *target, json_t **out,
			     struct error *err);

/* statements.c: from `wanted`, `table` and the target's schema. */
void postgres_statements_make(struct postgres_destination *d,
			      const struct postgres_plan *plan);
void postgres_statements_release(struct postgres_destination *d);
/* A stored row's mark counts; then `delivered` is a parameter. */
bool postgres_statement_has_version(const struct target *target);
void postgres_statement_column(struct strbuf *sb, const char *alias,
			       const char *name);

/* signature.c: is the table still what prepare has seen? */
/* The signature of a quoted name into `*out`, which is freed first; NULL: there
 * is no such table. */
int postgres_signature_read(struct pg *pg, const char *table, char **out,
			    struct error *err);
/* TRANSIENT: the next try prepares anew. */
int postgres_signature_refuse(const struct target *target, struct error *err);
int postgres_signature_compare(const struct target *target,
			       const char *expected, const char *found,
			       struct error *err);
/* As in struct sql_load_engine. */
int postgres_signature_same(struct sql_mark *m, const char *table,
			    struct error *err);
/* At the end of a load, where its lock does not exclude all DDL. */
int postgres_signature_check_again(struct postgres_destination *d,
				   struct error *err);
/* Is the error that of a table which was dropped? */
bool postgres_signature_is_gone(const struct error *err);

/* watch.c: triggers, rules or policies may take rows away. Then the effect of
 * the batch in the stage is counted before it is merged, and looked for behind
 * it. Elsewhere both do nothing. */
struct watch {
	int64_t replacing, missing, appending;
};
/* The statements for it, where no key tells the rows apart. */
void postgres_watch_keyless(struct postgres_destination *d);
int postgres_watch_begin(struct postgres_destination *d, int n,
			 const char *const *params, struct watch *out,
			 struct error *err);
/* DATA naming the objects on the table, unless the counted work was done. */
int postgres_watch_end(struct postgres_destination *d, const struct watch *w,
		       int n, const char *const *params,
		       const struct load_counts *done, struct error *err);
/* The batch's rows that a COPY has not brought: DATA, by the same words. */
int postgres_watch_left_out(struct postgres_destination *d, int64_t n,
			    struct error *err);
/* Report triggers of the table that may move the mark there. */
int postgres_watch_mark(struct pg *pg, const char *table,
			const struct target *target, struct problems *out,
			struct error *err);

/* joins.c: how the stage's rows, as many as d->order has, are joined with
 * `table` until the transaction at hand is over. */
int postgres_joins_choose(struct postgres_destination *d, const char *table,
			  struct error *err);

/* The rows of the keys in the stage; caller frees. */
char *postgres_statement_remove(const struct postgres_destination *d);

/* load.c: the batch's rows, in the order of d->order, into `table`. */
int postgres_load_copy(struct postgres_destination *d, const struct batch *b,
		       const char *table, struct error *err);
/* remove.c */
int postgres_remove_rows(struct sql_mark *m, const struct batch *keys,
			 int64_t *removed, struct error *err);
/* preview.c: a dry run. The rows that a batch is about are brought into a
 * temporary copy of the table, and it is loaded into that. In place of
 * d->table's catalog: */
int postgres_preview_make(struct postgres_destination *d,
			  const struct postgres_plan *plan, struct error *err);
int postgres_explain_load(struct destination *base, struct explanation *out,
			  struct error *err);

/* load.c: the steps of a transaction; are changed rows deleted and inserted
 * again? */
extern const struct sql_load_engine postgres_load_engine;
bool postgres_load_replaces(const struct postgres_destination *d);
int postgres_swap_tables(struct sql_mark *m, const struct checkpoint *next,
			 struct error *err);
int postgres_finish(struct destination *base, const struct checkpoint *next,
		    struct error *err);
/* refill.c: a refresh of a table on which other objects depend. The table
 * stays, and one transaction exchanges its rows. */
/* Would a swap lose anything? `*refill` is set then, and a problem of severity
 * INFO names it; a SCHEMA problem where the rows cannot be exchanged. */
int postgres_refill_inspect(struct pg *pg, const struct place *place,
			    const struct target *target, uint32_t oid,
			    bool *refill, struct problems *out,
			    struct error *err);
/* With the drift known: a SCHEMA problem for each column whose type would have
 * to change under a view. */
int postgres_refill_check(struct postgres_plan *plan, struct pg *pg,
			  struct error *err);
/* Under the table's lock: its rows become those of what was built. */
int postgres_refill(struct postgres_destination *d,
		    const struct catalog_table *old, struct error *err);

/* refresh.c. From prepare to finish() the session of a refresh holds an
 * advisory lock. So nobody takes its stage for a left-over, and no second
 * refresh begins: STATE naming the backend, after some seconds. */
int postgres_refresh_lock(struct postgres_destination *d,
			  const struct target *target, struct error *err);
/* Give the lock back, if it is held. */
void postgres_refresh_unlock(struct postgres_destination *d);
/* In the transaction that makes the stage. From now on the pipeline's row has a
 * batch_id of this refresh, and any other writer finds itself overtaken. */
int postgres_refresh_take_over(struct postgres_destination *d,
			       const struct target *target, struct error *err);
/* Drop the stage of a refresh that was killed; a refresh under way is left. */
int postgres_refresh_drop_leftover(struct postgres_destination *d,
				   struct error *err);

/* session.c: the session's temporary table, of the columns of d->table. */
int postgres_stage_create(struct postgres_destination *d, struct error *err);
/* Open the session; also to reconnect. */
int postgres_session_open(struct postgres_destination *d, struct pg **out,
			  struct error *err);
/* Ask ahead for the session's name: its pid and when it began. */
void postgres_session_ahead(struct postgres_destination *d);
int postgres_session_start(struct postgres_destination *d, struct error *err);
/* End the one of that name, if it is still there: it may hold locks although
 * nobody talks to it any more. Through any connection. */
int postgres_session_end(struct pg *pg, const char *session, struct error *err);
/* Roll back what is open, if the connection still lives. */
void postgres_session_rollback(struct postgres_destination *d);

#endif
