/*
 * A state store in an SQL database: the statements, the migrations and what
 * they mean, the same for every engine (sql_lease.c: leases; sql_runs.c:
 * looking at the history and ending it; sql_letters.c: dead letters;
 * sql_pace.c: what a pace was set to;
 * sql_chunks.c: backfills;
 * sql_store.c: the rest). An engine
 * (stores/sqlite, stores/postgres) opens a session, says how its statements are
 * run, and uses the functions here as its ops.
 *
 * Statements take text parameters $1, $2, ... whose first uses are in that
 * order, name tables without a schema, and keep to the SQL that all engines
 * here share.
 */
#ifndef TIDEMARK_STORES_COMMON_SQL_STORE_H
#define TIDEMARK_STORES_COMMON_SQL_STORE_H

#include "core/base/strbuf.h"
#include "core/plugin/store.h"
#include "stores/common/migrations.h"

struct sql_store;

/* Called for each row; values are text or NULL and live until it returns. A
 * negative code ends the query. */
typedef int (*sql_row)(void *ctx, const char *const *values, struct error *err);

struct sql_session {
	/* Take the lock under which migrations are applied, in a transaction
	 * of its own; make the place for the tables if it is missing. */
	int (*begin_migration)(struct sql_store *s, struct error *err);
	int (*begin)(struct sql_store *s, struct error *err);
	/* The same, and its commit outlives a crash of the machine. */
	int (*begin_durable)(struct sql_store *s, struct error *err);
	int (*commit)(struct sql_store *s, struct error *err);
	void (*rollback)(struct sql_store *s); /* harmless outside one */
	/* Several statements without parameters. */
	int (*script)(struct sql_store *s, const char *sql, struct error *err);
	/* One statement; `row` NULL: rows dropped. `shape`: the rows that are
	 * due, see clients/answer.h. */
	int (*run)(struct sql_store *s, const char *sql,
		   const char *const *params, int n_params, const char *shape,
		   sql_row row, void *ctx, struct error *err);
	/* Names of the tables where ours live, one a row. */
	const char *tables_sql;
	/* The store's clock as an expression: µs since 1970. */
	const char *now_sql;
	const char *for_update; /* behind a SELECT: locks its rows */
	/* The same, of those that nobody else has locked. */
	const char *skip_locked;
	/* In a transaction: nobody else adds chunks until its end. NULL: it
	 * is the only one that writes as it is. */
	const char *lock_chunks_sql;
	bool is_file; /* for the processes of one machine */
};

/* First member of an engine's store. */
struct sql_store {
	struct store base;
	const struct sql_session *session;
	const struct migrations *known;
	char *where; /* of the store, safe to show; freed by its owner */
};

/* ERROR_SCHEMA is said of the tables that are kept equal; of the store's own it
 * is that they are not to be had: ACCESS, with `cure`. `err` may be NULL. */
int sql_store_damaged(int rc, const char *cure, struct error *err);

/* The ops of core/plugin/store.h, but for open and close. */
int sql_store_migrate(struct store *base, int *applied, int *version,
		      struct error *err);
int sql_store_version(struct store *base, int *version, struct error *err);
int sql_store_take_lease(struct store *base, const struct lease *wanted,
			 int64_t lease_us, enum lease_answer *answer,
			 struct lease *out, struct lease *before,
			 struct error *err);
int sql_store_renew_lease(struct store *base, const struct lease *l,
			  int64_t lease_us, bool *held, struct error *err);
int sql_store_amend_lease(struct store *base, const struct lease *l, bool *held,
			  struct error *err);
int sql_store_give_lease(struct store *base, const struct lease *l,
			 struct error *err);
int sql_store_get_lease(struct store *base, const char *name, bool *held,
			struct lease *out, struct error *err);
int sql_store_save_attempt(struct store *base, const struct attempt *a,
			   struct error *err);
int sql_store_save_batch(struct store *base, const struct batch_record *b,
			 const struct attempt *a, const char *mark,
			 struct error *err);
int sql_store_list_attempts(struct store *base, const struct run_filter *filter,
			    struct attempt_list *out, struct error *err);
int sql_store_list_runs(struct store *base, const struct run_filter *filter,
			struct run_list *out, struct error *err);
int sql_store_list_batches(struct store *base, const char *run_id,
			   struct batch_list *out, struct error *err);
int sql_store_close_attempts(struct store *base, const char *pipeline,
			     struct error *err);
int sql_store_prune(struct store *base, int64_t keep_us, struct error *err);
int sql_store_save_dead_letters(struct store *base,
				const struct dead_letter_list *letters,
				struct error *err);
int sql_store_list_dead_letters(struct store *base,
				const struct dead_letter_filter *filter,
				struct dead_letter_list *out,
				struct error *err);
int sql_store_count_dead_letters(struct store *base, const char *pipeline,
				 int64_t *out, struct error *err);
int sql_store_delete_dead_letters(struct store *base,
				  const struct dead_letter_list *letters,
				  struct error *err);
int sql_store_get_watermark(struct store *base, const char *pipeline,
			    char **out, struct error *err);
int sql_store_set_watermark(struct store *base, const char *pipeline,
			    const char *attempt_id, const char *watermark,
			    struct error *err);
int sql_store_get_pace(struct store *base, const char *pipeline,
		       struct pace_record *out, struct error *err);
int sql_store_set_pace(struct store *base, const char *pipeline,
		       const char *settings, struct error *err);

int sql_store_add_chunks(struct store *base, const struct chunk_list *chunks,
			 const struct chunk_rule *rule, struct error *err);
int sql_store_list_chunks(struct store *base, const char *pipeline,
			  struct chunk_list *out, struct error *err);
int sql_store_claim_chunk(struct store *base, const char *pipeline,
			  const char *config, const struct lease *wanted,
			  int64_t lease_us, bool *found, struct chunk *out,
			  struct error *err);
int sql_store_save_chunk(struct store *base, const struct chunk *c, bool *held,
			 struct error *err);
int sql_store_delete_chunks(struct store *base, const char *pipeline,
			    const char *backfill_id, struct error *err);

/* For the files here: in a transaction, whose end frees the lease's row. */
int sql_store_take_lease_locked(struct sql_store *s, const struct lease *wanted,
				int64_t lease_us, enum lease_answer *answer,
				struct lease *out, struct lease *before,
				struct error *err);
/* For the files here: append `sql` with each @ as the store's now. */
void sql_store_add_now(const struct sql_store *s, struct strbuf *out,
		       const char *sql);
/* For the files here: commit if `rc` is 0, else roll back. */
int sql_store_end(struct sql_store *s, int rc, struct error *err);

#endif
