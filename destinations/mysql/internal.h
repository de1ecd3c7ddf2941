/*
 * Shared by the files of this folder: the open destination, and the steps of
 * its work.
 * - mysql.c holds the ops table, session.c opens sessions.
 * - catalog.c reads the existing tables, plan.c decides.
 * - ddl.c and statements.c write SQL, prepare.c alters.
 * - mark.c keeps _tidemark_watermark, commit.c finds out about a COMMIT.
 * - format.c and stage.c bring rows to the server, load.c merges them.
 * - remove.c takes rows away, lock.c waits for others.
 * - refresh.c guards a table that is built aside, swap.c puts it in place.
 * - watchers.c knows who depends on a table, rights.c knows the user's rights.
 * - blame.c says which table, row, or right an error is about.
 *
 * Two things differ from other servers. DDL commits, so all alterations come
 * before a transaction begins, in an order in which every step may be the last.
 * And LOAD DATA LOCAL turns errors into warnings: see stage.c.
 */
#ifndef TIDEMARK_DESTINATIONS_MYSQL_INTERNAL_H
#define TIDEMARK_DESTINATIONS_MYSQL_INTERNAL_H

#include <pthread.h>

#include "clients/mysql.h"
#include "clients/mysql_load.h"
#include "core/plugin/destination.h"
#include "destinations/common/names.h"
#include "destinations/common/place.h"
#include "destinations/common/plan.h"
#include "destinations/common/row_order.h"
#include "destinations/common/soft_delete.h"
#include "destinations/common/sql_load.h"
#include "destinations/mysql/catalog.h"
#include "destinations/mysql/format.h"

/* The engine's table of functions; mysql.c. */
extern const struct destination_ops mysql_destination;

/* A process may be paused inside a transaction, or in the middle of its rows.
 * It must not hold locks for ever: the server ends such a session, and the next
 * run goes on. */
#define MYSQL_TARGET_IDLE_SECONDS 30

/* The server's named locks; lock.c. */
enum mysql_target_lock {
	LOCK_DDL, /* all of Tidemark's in a database */
	LOCK_LOAD, /* a pipeline's transactions, or a raw table's */
	LOCK_REFRESH, /* a pipeline's refresh, from prepare to finish */
	LOCK_KINDS
};

struct mysql_target {
	struct sql_mark mark;
	struct connection conn; /* a copy: an unclear COMMIT reconnects */
	struct mysql_client *db;
	struct strlist ahead; /* questions that are being gathered */
	pthread_mutex_t swapping; /* guards `db` against interrupt() */
	struct mysql_target_dialect dialect;
	int idle_seconds; /* inside a transaction, before the server ends it */
	char *session; /* its number: CONNECTION_ID() */
	bool local; /* LOAD DATA LOCAL is not forbidden, as far as is known */
	size_t packet; /* max_allowed_packet */
	unsigned long lost; /* the session before this one; commit.c */
	char *held[LOCK_KINDS]; /* names of locks that this session has */
	/* Perhaps it also has a transaction, a temporary table, or a lock that
	 * it does not know of. */
	bool used;

	const struct target *target; /* since prepare */
	struct place place;
	struct catalog_table table; /* the one that rows go into now */
	const char *rows; /* its quoted name; in `place` */
	char *signature; /* the table's, once a batch was loaded; signature.c */
	/* In a refresh: what is to be replaced, as prepare saw it. */
	struct catalog_table replaced;
	struct row_order order;
	enum mysql_target_form *forms; /* the batch's columns' */
	char *columns; /* quoted list of them */
	char *load_columns; /* the same for LOAD DATA, with what it SETs */
	char *insert_row; /* (?, ?, ...) */
	char *pull; /* brings the stage's rows into the copy, or NULL */
	bool previewed; /* the table is as the statements take it to be */
	bool staged; /* the stage is there, */
	bool dirty; /* and has rows */
	/* Rows may go straight into the table: it was empty, or all of the
	 * last batch were new. */
	bool direct;
};

/* place.c: CONFIG error for three parts or without a database, SCHEMA for a
 * name that the server does not take. */
int mysql_target_place_set(struct place *out, struct mysql_client *db,
			   const struct target *target, struct error *err);
static inline void mysql_target_place_release(struct place *p)
{
	place_release(p);
}
/* Temporary tables belong to `database`. */
void mysql_target_place_temporary(struct place *p, const char *database);

/* A plan asks this of the target's surroundings. */
struct mysql_target_surroundings {
	char *watermark_engine;
	bool readable; /* something has the name that readers use */
	bool readable_is_view;
	bool invoker; /* its SQL SECURITY */
	int64_t view_columns;
	char *mark_fault; /* the table of the marks' */
};

/* The table that is there now, and the steps to be done. */
struct mysql_target_plan {
	struct plan base;
	struct catalog_table
		table; /* place->base; in a dry run as it will be */
	struct mysql_target_surroundings around;
	struct mysql_target_type *wanted; /* one for each source column */
	size_t n_wanted;
	enum mapping *mappings; /* parallel to `wanted` */
	bool has_database;
	bool has_view; /* append: the view that readers use is up to date */
	struct strlist pulled; /* in a dry run: columns that there are now */
};
extern const struct plan_engine mysql_target_plan_engine;
/* A table, by its quoted name. */
int mysql_target_has_rows(struct mysql_client *db, const char *table, bool *out,
			  struct error *err);

/* ddl.c: append the DDL to plan->inspection.ddl. */
void mysql_target_ddl(struct mysql_target_plan *plan,
		      const struct mysql_target *d, const struct place *place,
		      const struct target *target, const enum drift_step *steps,
		      char *const *grown);
void mysql_target_ddl_mark_table(struct strbuf *sb,
				 const struct mysql_target *d,
				 const struct place *place);
/* Fill plan->copy and plan->pulled; plan->table as it will be. */
void mysql_target_ddl_copy(struct mysql_target_plan *plan,
			   const struct mysql_target *d,
			   const struct place *place,
			   const struct target *target,
			   const enum drift_step *steps, char *const *grown);
/* CREATE OR REPLACE VIEW of the newest row of each key. */
void mysql_target_ddl_view(struct strbuf *sb, const struct place *place,
			   const struct target *target,
			   const struct catalog_table *raw);

int mysql_target_prepare(struct destination *base, const struct target *target,
			 struct error *err);

/* signature.c: is the table still what prepare has seen? In a transaction that
 * holds it against DDL; `triggers`: SQL's digest of them. */
int mysql_target_signature_check(struct sql_mark *m, const char *triggers,
				 struct error *err);
/* TRANSIENT: the next try prepares anew. */
int mysql_target_signature_refuse(const struct target *target,
				  struct error *err);
/* Is the error that of a target which was dropped? */
bool mysql_target_signature_is_gone(const struct mysql_target *d,
				    const struct error *err);
bool mysql_target_signature_same(const struct catalog_table *a,
				 const struct catalog_table *b);

/* lock.c: STATE naming the session that has it, after `seconds`. A lock that is
 * held already is had again. */
int mysql_target_lock_take(struct mysql_target *d, enum mysql_target_lock kind,
			   const char *pipeline, int seconds,
			   struct error *err);
/* Add the question that takes or releases it. */
void mysql_target_lock_foresee(struct mysql_target *d,
			       const struct place *place,
			       enum mysql_target_lock kind,
			       const char *pipeline, int seconds, bool take,
			       struct strlist *out);
void mysql_target_lock_release(struct mysql_target *d,
			       enum mysql_target_lock kind);
/* End the session of that number (a text), if it has one of the pipeline's
 * locks. After a restart of the server another session may have the number. It
 * has no such lock, and without one it stands in nobody's way. */
int mysql_target_lock_end_holder(struct mysql_target *d, const char *session,
				 const char *pipeline, struct error *err);
/* Has this session any of them? */
bool mysql_target_lock_is_held(const struct mysql_target *d);
/* Forget the locks of a session that has ended. */
void mysql_target_lock_forget(struct mysql_target *d);
/* The name, of LOCK_LOAD's say; caller frees. */
char *mysql_target_lock_name(const struct place *place,
			     enum mysql_target_lock kind, const char *pipeline);

/* mark.c */
void mysql_target_mark_init(struct mysql_target *d,
			    const struct destination_ops *ops);
/* The row as it is, into `out`. */
int mysql_target_mark_read(struct mysql_target *d, const char *pipeline,
			   struct checkpoint *out, struct error *err);
/* In prepare, which has the pipeline's lock, as all do who write its row.
 * STATE if the row has a higher fence than the writer; else raise it to the
 * writer's. */
int mysql_target_mark_check_fence(struct mysql_target *d,
				  const struct target *target,
				  struct error *err);
int mysql_target_mark_claim(struct mysql_target *d, const struct target *target,
			    struct error *err);
/* As in struct sql_load_engine. */
int mysql_target_mark_begin(struct sql_mark *m, bool rows, struct error *err);
int mysql_target_mark_look(struct sql_mark *m, bool rows,
			   struct checkpoint *now, char **triggers,
			   struct error *err);
/* identity.c */
int mysql_target_identity(struct destination *base, const struct target *target,
			  json_t **out, struct error *err);

/* commit.c: COMMIT; if its answer is lost, find out. */
int mysql_target_mark_commit(struct sql_mark *m, const struct checkpoint *next,
			     struct error *err);

/* stage.c: the session's temporary table, of the columns of d->table; the
 * batch's rows, in key order, into it or straight into the table. */
int mysql_target_stage_describe(struct mysql_target *d, struct error *err);
/* Make it, or empty it, before a transaction: a run without rows has none. */
int mysql_target_stage_empty(struct mysql_target *d, struct error *err);
/* A temporary table of the batch's columns (of its key alone), without rows. */
int mysql_target_stage_like(struct mysql_target *d, const char *table,
			    bool key_alone, struct error *err);
/* 1: all rows are in. 0: at least one key was there already, and the caller
 * rolls back. Straight into the table, 0 also if something did not fit. DATA
 * naming column and row for a value that does not fit the stage. */
int mysql_target_stage_fill(struct mysql_target *d, const struct batch *b,
			    const char *table, struct error *err);

/* versions.c: may the row with the mark `new` replace the one with `old`? Both
 * are SQL; `there`: the column's type; `delivered`: of the checkpoint, or NULL.
 * Never older over newer, unless the stored one is no newer than what this
 * pipeline has delivered itself. NULL: nothing says which is older, and the
 * source's word counts. */
void mysql_target_version_newer(struct strbuf *sb, const struct type *mark,
				const struct mysql_target_type *there,
				const char *new, const char *old,
				const char *delivered);

/* statements.c: caller frees. `delivered`: of the checkpoint, or NULL. */
char *mysql_target_statement_merge(const struct mysql_target *d,
				   const char *delivered);
char *mysql_target_statement_update(const struct mysql_target *d,
				    const char *delivered);
char *mysql_target_statement_delete(const struct mysql_target *d,
				    const char *delivered);
/* How many rows of the stage are not there. */
char *mysql_target_statement_missing(const struct mysql_target *d);
char *mysql_target_statement_insert(const struct mysql_target *d);
char *mysql_target_statement_append(const struct mysql_target *d,
				    const char *batch_id, int64_t base);
/* In a dry run: the stage's rows of the table into the copy, but for those
 * that are there. The keys that mysql_target_statement_insert (or append) would
 * bring; and then their rows. No temporary table stands twice in a statement:
 * MySQL cannot open it again. */
char *mysql_target_statement_pull(const struct mysql_target *d,
				  const struct strlist *columns);
char *mysql_target_statement_fresh(const struct mysql_target *d);
char *mysql_target_statement_drop_fresh(const struct mysql_target *d);
char *mysql_target_statement_insert_fresh(const struct mysql_target *d);
/* One row of the stage whose key is another text than the stored one, but equal
 * by its collation; NULL: no collation does that. */
char *mysql_target_statement_clash(const struct mysql_target *d);
/* The key of one row, "id=7", that the merge (or append) still has to bring. */
char *mysql_target_statement_pending(const struct mysql_target *d,
				     const char *delivered);

/* Stored rows can differ in more than their key. */
bool mysql_target_statement_may_change(const struct mysql_target *d);
/* The rows of the keys in the stage. */
char *mysql_target_statement_remove(const struct mysql_target *d);

/* remove.c */
int mysql_target_remove_rows(struct sql_mark *m, const struct batch *keys,
			     int64_t *removed, struct error *err);
/* How a batch is merged. */
enum mysql_target_way {
	WAY_APPEND,
	WAY_UPDATE,
	WAY_REPLACE,
	WAY_STEPS,
	WAY_ONCE
};
enum mysql_target_way mysql_target_load_way(const struct mysql_target *d);
/* load.c: the steps of a transaction. */
extern const struct sql_load_engine mysql_target_load_engine;

/* preview.c: a dry run. The rows that a batch is about are brought into a
 * temporary copy of the table, and it is loaded into that. In place of what
 * prepare writes: */
int mysql_target_preview_make(struct mysql_target *d,
			      const struct mysql_target_plan *plan,
			      struct error *err);
/* The rows that mysql_target_statement_insert (or append) brings. */
int mysql_target_preview_insert(struct mysql_target *d, int64_t *count,
				struct error *err);
int mysql_target_explain_load(struct destination *base, struct explanation *out,
			      struct error *err);

/* refresh.c. In prepare, once the table is made. From now on the pipeline's
 * row has a batch_id of this refresh, and any other writer finds itself
 * overtaken. */
int mysql_target_refresh_take_over(struct mysql_target *d,
				   const struct target *target,
				   struct error *err);
/* Clean up after a killed refresh: a swap that has happened gets its mark, and
 * the tables aside are dropped. A refresh under way is left. */
int mysql_target_refresh_settle(struct mysql_target *d,
				const struct place *place, const char *pipeline,
				struct error *err);
/* Its first questions. */
void mysql_target_refresh_foresee(struct mysql_client *db,
				  const struct place *place,
				  const char *pipeline, struct strlist *out);
/* Are they asked ahead? */
bool mysql_target_refresh_is_ahead(struct mysql_client *db,
				   const struct place *place,
				   const char *pipeline);
/* Write the next mark beside the old one, in a transaction of its own, before
 * the tables are swapped. It takes the old mark's place afterwards. */
int mysql_target_refresh_announce(struct mysql_target *d,
				  const struct checkpoint *next,
				  struct error *err);
int mysql_target_refresh_conclude(struct mysql_client *db,
				  const struct place *place,
				  const char *pipeline, struct error *err);

/* Drop the table that was replaced, before the new one's mark is in place. If
 * a foreign key that nobody showed us is on it: all is as it was before, and a
 * SCHEMA error. */
int mysql_target_refresh_retire(struct mysql_client *db,
				const struct place *place, const char *pipeline,
				struct error *err);

/* watchers.c: objects that notice how the table's rows change, where the
 * catalog does not show them to everybody. Only those that matter to the target
 * are looked for. */
/* Report what may move the mark at the target: triggers that say its name, and
 * in mode update, which does not write it, ON UPDATE. */
int mysql_target_watchers_mark(struct mysql_client *db,
			       const struct place *place,
			       const struct target *target,
			       const struct catalog_table *table,
			       struct problems *out, struct error *err);
/* A warning where `keys_unseen` matters to the mode. */
void mysql_target_watchers_unseen(struct mysql_client *db,
				  const struct target *target,
				  const struct catalog_table *table,
				  struct problems *out);
int mysql_target_watchers_read(struct mysql_client *db, const char *database,
			       const char *table, const struct target *target,
			       struct catalog_table *out, struct error *err);

/* rights.c. Does a grant give `right` on a table; `params`: its database and
 * name? */
int mysql_target_rights_give(struct mysql_client *db, const char *right,
			     const char *const params[2], bool *out,
			     struct error *err);
/* Append those that loading takes and no grant gives: "INSERT, UPDATE". */
int mysql_target_rights_missing(struct mysql_target *d,
				const struct place *place,
				const struct target *target, struct strbuf *out,
				struct error *err);
/* For inspect: a warning that names them. */
/* Append "SELECT, INSERT, ...": what loading takes, and a column that is added
 * later. */
void mysql_target_rights_of_mode(struct strbuf *out, enum load_mode mode);
/* grants.c */
int mysql_target_destination_grants(const struct connection *conn,
				    const char *table, enum load_mode mode,
				    struct grants *out, struct error *err);
int mysql_target_rights_inspect(struct mysql_target *d,
				const struct place *place,
				const struct target *target,
				struct problems *out, struct error *err);
/* GRANT `right` ON `on` TO our user; caller frees. */
char *mysql_target_rights_grant(struct mysql_client *db, const char *right,
				const char *on);

/* blame.c: to an error of ours, add the table, and which right is missing.
 * Returns rc. */
int mysql_target_blame(struct mysql_target *d, const struct target *target,
		       int rc, struct error *err);
/* The table has refused a merge: add the row to the error. To be rolled
 * back. */
int mysql_target_blame_row(struct mysql_target *d,
			   const struct checkpoint *next, struct error *err);

/* swap.c: what a swap would lose: a SCHEMA problem naming it. */
void mysql_target_swap_inspect(struct mysql_target *d,
			       const struct place *place,
			       const struct catalog_table *table,
			       const struct target *target,
			       struct problems *out);
int mysql_target_swap_tables(struct sql_mark *m, const struct checkpoint *next,
			     struct error *err);
int mysql_target_finish(struct destination *base, const struct checkpoint *next,
			struct error *err);

/* session.c: open the session; also to reconnect. */
int mysql_target_session_open(struct mysql_target *d, struct mysql_client **out,
			      struct error *err);
/* BEGIN with a server that does not wait for us for ever, and its end. */
int mysql_target_session_begin(struct mysql_target *d, struct error *err);
/* Tell the server how long a wait may last: the lease; 0: leave it. */
int mysql_target_session_lease(struct mysql_target *d, int64_t lease_us,
			       struct error *err);
/* Its question, if it has one. */
void mysql_target_session_lease_foresee(struct mysql_target *d,
					int64_t lease_us, struct strlist *out);
/* Behind COMMIT: as mysql_target_session_rollback, without ROLLBACK. */
void mysql_target_session_end(struct mysql_target *d);
/* Roll back what is open, if the connection still lives. */
void mysql_target_session_rollback(struct mysql_target *d);
/* A statement with names in it. */
int mysql_target_execf(struct mysql_client *db, struct error *err,
		       const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
