/*
 * The contract of a state store: leases, run history, dead letters and the
 * mirror of marks, and the chunks of backfills. Called by core/sync; a handle
 * is used by one thread at a time. Nothing here decides what is loaded: a
 * transactional destination's own mark, and the fence beside it, win.
 */
#ifndef TIDEMARK_CORE_PLUGIN_STORE_H
#define TIDEMARK_CORE_PLUGIN_STORE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/connection.h"
#include "core/base/strlist.h"
#include "core/plugin/grants.h"

struct store {
	const struct store_ops *ops;
};

/* A store that is a database has its tables in one schema, which this one
 * tells from others. */
#define STORE_MIGRATIONS_TABLE "tidemark_migrations"
/* Is a table of that schema the store's? */
bool store_has_table(const char *name);

/* Who may write a pipeline, and until when. All times are µs by the store's
 * clock, whose "now" comes with what is read. Owned texts. */
struct lease {
	char *name; /* the pipeline */
	char *holder; /* no two holdings have the same */
	char *host;
	int64_t pid;
	char *process; /* process_mark() of the holder */
	char *session; /* at the destination, as its session() said; "" */
	int64_t since, until; /* until 0: given back */
	int64_t fence; /* only grows */
	int64_t now;
};
void lease_init(struct lease *l);
void lease_release(struct lease *l);

enum lease_answer {
	LEASE_BUSY, /* `before` has it */
	LEASE_TAKEN, /* from nobody: `before` was given back */
	LEASE_INHERITED, /* `before` may not know that it is over; or nothing
			  * is known of who was before (host "") */
};

/* One run: a window, under a config. Owned texts. */
struct run_record {
	char *run_id;
	char *pipeline;
	char *tenant;
	int64_t logic_version;
	char *window_from, *window_to; /* marks, JSON text, or NULL */
	char *state; /* QUEUED, RUNNING, SUCCEEDED, FAILED */
	int64_t created_at, updated_at;
};
struct run_list {
	struct run_record *items;
	size_t n;
	size_t capacity;
};
void run_list_release(struct run_list *list);

/* Which of them; NULL: any. */
struct run_filter {
	const char *pipeline, *run_id;
	int64_t limit;
};

/* One try of one run. Texts owned by the caller when writing; by the list
 * when reading. Times in µs since 1970, 0: not yet. */
struct attempt {
	char *attempt_id; /* unique */
	char *run_id; /* stable over retries */
	char *pipeline;
	char *tenant;
	char *state; /* RUNNING, SUCCEEDED, FAILED */
	/* caught_up, stopped, failed, busy, retried (another attempt followed);
	 * "" while running. */
	char *outcome;
	char *host;
	int64_t pid;
	int64_t logic_version;
	int64_t started_at, ended_at, heartbeat_at;
	int64_t batches, rows_read, rows_inserted, rows_updated, rows_unchanged,
		rows_deleted, rows_dead_lettered;
	char *watermark_before, *watermark_after; /* JSON text or NULL */
	char *guarantee; /* exact, lag, none; "" unknown */
	char *guarantee_reason;
	char *error_code, *error_message; /* NULL unless FAILED */
	char *paused; /* what holds it, JSON text, or NULL */
	int64_t progress; /* of its window, in millionths; -1: not known */
};
struct attempt_list {
	struct attempt *items;
	size_t n;
	size_t capacity;
};
void attempt_init(struct attempt *a);
void attempt_release(struct attempt *a);
void attempt_list_release(struct attempt_list *list);

/* One batch: loaded, or refused (error_code set). Texts as in an attempt. */
struct batch_record {
	char *attempt_id, *batch_id, *pipeline;
	char *window_from, *watermark; /* marks before and behind it */
	char *error_code, *error_message;
	int64_t number; /* from 1 in the attempt */
	int64_t rows, inserted, updated, unchanged, deleted, dead_lettered;
	int64_t read_us, load_us, at;
};
struct batch_list {
	struct batch_record *items;
	size_t n;
	size_t capacity;
};
void batch_list_release(struct batch_list *list);

/* A row that the destination refused. Owned texts, none NULL but as said. */
struct dead_letter {
	char *id; /* of pipeline and key, or of the row if it has no key */
	char *pipeline, *run_id, *attempt_id, *batch_id;
	char *key; /* JSON object: value_key_json() */
	char *key_digest; /* "": there is no key */
	char *row; /* JSON object; NULL in a list of just the names */
	bool truncated; /* of long values only the beginning is kept */
	char *row_digest;
	char *category; /* permanent, transient, unknown */
	char *error_code, *server_code, *error_message; /* server_code: "" */
	char *checkpoint; /* the mark before its batch, JSON; or NULL */
	int64_t attempts; /* how often it was refused */
	int64_t next_try_at; /* 0: not by itself */
	int64_t created_at, updated_at; /* first and last refused */
};
struct dead_letter_list {
	struct dead_letter *items;
	size_t n;
	size_t capacity;
};
void dead_letter_list_release(struct dead_letter_list *list);

/* Which of them; NULL: any. */
struct dead_letter_filter {
	const char *pipeline, *id;
	int64_t limit; /* 0: all */
	bool names; /* without their rows */
};

/* What goes before the config's `pace`. */
struct pace_record {
	char *settings; /* JSON object of texts, or NULL: nothing; owned */
	int64_t changed_at;
};
#define CHUNK_QUEUED  "queued"
#define CHUNK_RUNNING "running"
#define CHUNK_DONE    "done"
#define CHUNK_FAILED  "failed" /* set aside */

/* A piece of a backfill: who works on it has the lease of its chunk_id. Owned
 * texts, none NULL but as said; times in µs since 1970, 0: not yet. */
struct chunk {
	char *chunk_id; /* PIPELINE/BACKFILL/NUMBER */
	char *backfill_id; /* of pipeline, config and window */
	char *pipeline;
	char *config; /* of whose rows: another one does not take it up */
	char *column; /* whose values the ranges are */
	char *window_from, *window_to; /* of the backfill; NULL: open */
	int64_t number; /* from 1 */
	char *range_from, *range_to; /* NULL: open */
	bool nulls; /* the rows without a value, instead */
	int64_t rows; /* as counted; once it is done, as loaded */
	char *state; /* CHUNK_... */
	int64_t attempts;
	char *holder; /* of the lease, in the last attempt; "" */
	char *checksum; /* of both sides, once it is done; or NULL */
	char *error_code, *error_message; /* of the last attempt; or NULL */
	/* What holds its worker, as in an attempt; in a list only while that
	 * one has the lease. */
	char *paused;
	int64_t queued_at, started_at, ended_at;
};
struct chunk_list {
	struct chunk *items;
	size_t n;
	size_t capacity;
};
void chunk_release(struct chunk *c);
void chunk_list_release(struct chunk_list *list);

/* Whether chunks may be added, by what there is of their pipeline. */
struct chunk_rule {
	/* Asked under the lock of all who add: `*add`, true before, set to
	 * false adds nothing, as does a code, which is passed on. */
	int (*judge)(void *ctx, const struct chunk_list *known, bool *add,
		     struct error *err);
	void *ctx;
};

struct store_ops {
	const char *name;
	/* Ends with a NULL name; never NULL. */
	const struct url_option *options;
	/* Rights that the store takes; as those of a connector. */
	int (*grants)(const struct connection *conn, struct grants *out,
		      struct error *err);

	/* SQLite: creates directory (0700) and file (0600). `conn` outlives the
	 * handle: a server that was away is connected to again. */
	int (*open)(struct store **out, const struct connection *conn,
		    struct error *err);
	/* Apply pending migrations under a lock; `applied` counts them. An
	 * applied one whose checksum differs, or a schema newer than this
	 * binary: CONFIG saying which number. */
	int (*migrate)(struct store *s, int *applied, int *version,
		       struct error *err);
	/* The last migration that is applied, 0: none; errors as migrate.
	 * Writes nothing. */
	int (*version)(struct store *s, int *version, struct error *err);
	/* Take the lease `wanted` names (name, holder, host, pid, process) for
	 * `lease_us`, if it is free, has run out, or its holder is surely gone;
	 * its fence is one more than any before. `*before`: who had it; `now`
	 * is set in any case. CONFIG when the store is a file and another
	 * machine has a lease in it. */
	int (*take_lease)(struct store *s, const struct lease *wanted,
			  int64_t lease_us, enum lease_answer *answer,
			  struct lease *out, struct lease *before,
			  struct error *err);
	/* `lease_us` from now on; `*held` false once it has run out or is
	 * another's: it never comes back. */
	int (*renew_lease)(struct store *s, const struct lease *l,
			   int64_t lease_us, bool *held, struct error *err);
	/* Write down a higher fence, and the session; `*held` as above. */
	int (*amend_lease)(struct store *s, const struct lease *l, bool *held,
			   struct error *err);
	/* Give it back with `until` and `session` as in `l`: 0 and "", or,
	 * when the one before it may still live, 1 and that one's session.
	 * Harmless when it is another's by now. */
	int (*give_lease)(struct store *s, const struct lease *l,
			  struct error *err);
	/* Who has it: `*held` false when nobody, or no longer. */
	int (*get_lease)(struct store *s, const char *name, bool *held,
			 struct lease *out, struct error *err);
	/* Insert or update by attempt_id; prunes nothing. */
	int (*save_attempt)(struct store *s, const struct attempt *a,
			    struct error *err);
	/* Record the batch, refresh the attempt's counters and heartbeat, and
	 * mirror `mark` (NULL: leave the mirror), in one transaction. The
	 * mirror stays as a newer attempt of the pipeline has left it. */
	int (*save_batch)(struct store *s, const struct batch_record *b,
			  const struct attempt *a, const char *mark,
			  struct error *err);
	/* Newest first. */
	int (*list_attempts)(struct store *s, const struct run_filter *filter,
			     struct attempt_list *out, struct error *err);
	int (*list_runs)(struct store *s, const struct run_filter *filter,
			 struct run_list *out, struct error *err);
	/* Of all attempts of a run, in the order in which they were made. */
	int (*list_batches)(struct store *s, const char *run_id,
			    struct batch_list *out, struct error *err);
	/* For the holder of the pipeline's lease: no attempt that is RUNNING
	 * can be. Each is set to FAILED, "killed" when its process is surely
	 * gone, else "lost". */
	int (*close_attempts)(struct store *s, const char *pipeline,
			      struct error *err);
	/* Forget runs and attempts that began more than `keep_us` ago, but for
	 * the newest of each pipeline, and backfills that ended before that.
	 * Dead letters stay. */
	int (*prune)(struct store *s, int64_t keep_us, struct error *err);
	/* In one transaction. One that is there already (the same id) counts
	 * an attempt more and takes all but created_at from the new. */
	int (*save_dead_letters)(struct store *s,
				 const struct dead_letter_list *letters,
				 struct error *err);
	/* Newest first, by created_at. */
	int (*list_dead_letters)(struct store *s,
				 const struct dead_letter_filter *filter,
				 struct dead_letter_list *out,
				 struct error *err);
	int (*count_dead_letters)(struct store *s, const char *pipeline,
				  int64_t *out, struct error *err);
	/* By id, in one transaction, and only while they are of the attempt
	 * that `letters` names: one that was refused anew meanwhile stays.
	 * Harmless where there is none; the other fields are not looked at. */
	int (*delete_dead_letters)(struct store *s,
				   const struct dead_letter_list *letters,
				   struct error *err);
	/* The mirror of the mark: JSON text or NULL; caller frees. */
	int (*get_watermark)(struct store *s, const char *pipeline, char **out,
			     struct error *err);
	/* Of an attempt, unless the pipeline has a newer one; or by hand
	 * (`attempt_id` NULL). */
	int (*set_watermark)(struct store *s, const char *pipeline,
			     const char *attempt_id, const char *watermark,
			     struct error *err);
	int (*get_pace)(struct store *s, const char *pipeline,
			struct pace_record *out, struct error *err);
	/* `settings` NULL: the config's alone. */
	int (*set_pace)(struct store *s, const char *pipeline,
			const char *settings, struct error *err);
	/* All of one pipeline. The rule is asked and they are added in one
	 * transaction, beside which nobody adds any; one that is there already
	 * stays as it is. */
	int (*add_chunks)(struct store *s, const struct chunk_list *chunks,
			  const struct chunk_rule *rule, struct error *err);
	/* In the order in which they are claimed; `pipeline` NULL: of any. */
	int (*list_chunks)(struct store *s, const char *pipeline,
			   struct chunk_list *out, struct error *err);
	/* Take the next chunk that waits, of this pipeline and config, or one
	 * whose worker is gone or has lost its lease; and with it the lease of
	 * its chunk_id, as take_lease() does (`wanted` without a name). Counts
	 * an attempt. No two ever get the same. `*found` false: there is none
	 * now; `out` is filled only if there is. */
	int (*claim_chunk)(struct store *s, const char *pipeline,
			   const char *config, const struct lease *wanted,
			   int64_t lease_us, bool *found, struct chunk *out,
			   struct error *err);
	/* State, rows, attempts, checksum, error, what holds it, and times of
	 * a chunk; `*held` false, and nothing written, if another holder has
	 * claimed it since. */
	int (*save_chunk)(struct store *s, const struct chunk *c, bool *held,
			  struct error *err);
	/* Forget a backfill, and the leases of its chunks. */
	int (*delete_chunks)(struct store *s, const char *pipeline,
			     const char *backfill_id, struct error *err);
	void (*close)(struct store *s); /* NULL is fine */
};

#endif
