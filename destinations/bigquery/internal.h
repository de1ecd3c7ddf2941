/*
 * Shared by the files of the BigQuery destination: the open destination, the
 * names of its objects, and the steps of inspect, prepare and load. Nobody else
 * includes this.
 *
 * A batch goes by a load job into a stage table of this handle's own. Then one
 * script, a multi-statement transaction, moves the mark, looks at the stage and
 * merges it. It is all or nothing, under a job id made from the batch's
 * identity. The stage has columns c0, c1, ... and r, the row's number: names of
 * the source's columns stand in the script alone.
 */
#ifndef TIDEMARK_DESTINATIONS_BIGQUERY_INTERNAL_H
#define TIDEMARK_DESTINATIONS_BIGQUERY_INTERNAL_H

#include "clients/bigquery.h"
#include "core/base/strbuf.h"
#include "core/plugin/destination.h"
#include "destinations/bigquery/types.h"
#include "destinations/common/drift.h"
#include "destinations/common/existing.h"
#include "destinations/common/mark_keeper.h"
#include "destinations/common/names.h"
#include "destinations/common/refresh.h"
#include "destinations/common/soft_delete.h"

/* The names for one target. Quoted ones are `project`.`dataset`.`name`. */
struct bigquery_place {
	char *dataset;
	char *name; /* the name that people read */
	char *data; /* the table with the rows: `name`, or `name`_raw */
	char *anew; /* the table that a refresh fills */
	char *quoted_name, *quoted_data, *quoted_anew, *quoted_mark;
};

/* How new tables are laid out: options of the URL. */
struct bigquery_layout {
	char *partition; /* "DAY", ... of the mark column; NULL: none */
	bool cluster; /* by the key */
};

struct bigquery_destination {
	struct mark_keeper keeper;
	struct bigquery *client;
	struct bigquery_layout layout;

	/* From prepare on. */
	const struct target *target;
	struct bigquery_place place;
	struct bigquery_type *types; /* for target->schema's columns */
	bool *not_null; /* for the same: the table refuses NULL */
	struct existing prepared; /* the data table, as prepare has left it */
	char *signature; /* scripts compare the table with it; NULL before the
			  * first */
	bool marks_seen, marks_unsafe; /* their table is ours, or is not */
	bool altered; /* a script has found another table */
	int64_t there; /* rows that this pipeline has put there */
	const char *into; /* quoted: the data table, or the one made anew */
	char *stage; /* name; made with the first batch */
	char *quoted_stage;
	bool has_stage;
	bool bare, bare_told; /* there are no transactions: bare.c */
	int64_t n_loads; /* so far, for job ids */
	enum soft_delete soft_delete;
	char *soft_type; /* its column's */
	struct checkpoint seen; /* the mark this handle last saw or wrote */
	int64_t seen_us; /* when that was written: part of job ids */
	char *refresh_id; /* in a refresh: the row's batch_id until it is done
			   */
	bool swap_by_rows; /* same layout: the swap is a transaction */
	struct strbuf kept, kept_names; /* columns that only the table has */
	int64_t built; /* rows put into the table made anew */
	/* In a dry run: `into` is a copy, and this brings the staged keys' rows
	 * into it; NULL: there are none. */
	char *copy, *quoted_copy, *pull;
	char *previewed; /* quoted: what the copy is of */
};

extern const struct destination_ops bigquery_destination;

/* place.c */
/* CONFIG, SCHEMA: a name that BigQuery does not take. */
int bigquery_place_init(struct bigquery_place *p,
			const struct bigquery_destination *d,
			const struct target *target, struct error *err);
void bigquery_place_release(struct bigquery_place *p);
/* A table of the place's dataset; caller frees. */
char *bigquery_place_quote(const struct bigquery_destination *d,
			   const char *dataset, const char *name);
/* NULL if BigQuery takes the name; else what is wrong with it. */
const char *bigquery_column_refused(const char *name);
const char *bigquery_table_refused(const char *name);

/* existing.c: look, never write. */
int bigquery_existing_look(struct existing *e, struct bigquery_destination *d,
			   const struct bigquery_place *p, const char *pipeline,
			   struct error *err);
/* The data table alone: `has_data` and what goes with it. */
int bigquery_existing_data(struct existing *e, struct bigquery_destination *d,
			   const struct bigquery_place *p, struct error *err);

/* owned.c: before the first look at the marks. SCHEMA: something else has their
 * table's name, and is not read. */
int bigquery_owned_check(struct bigquery_destination *d,
			 const struct bigquery_place *p, struct error *err);

/* signature.c: is the data table still the one that prepare has read? Each
 * script asks at its end, by INFORMATION_SCHEMA: its columns in their order,
 * and when it was made.
 *
 * hold: before the first script, after prepare. Reads what the scripts compare
 * with, and compares it with what prepare has read. TRANSIENT: it is another.
 * A server without scripts is asked before each batch. */
int bigquery_signature_hold(struct bigquery_destination *d, struct error *err);
/* Append the assertion, and `more` (" AND ..."); nothing before hold. */
void bigquery_signature_assert(struct strbuf *sql,
			       const struct bigquery_destination *d,
			       const char *more);
/* `rc` of a script, or TRANSIENT if the table was altered. If rows that were
 * delivered lost values by that, the pipeline's mark is taken away first. */
int bigquery_signature_explain(struct bigquery_destination *d, int rc,
			       struct error *err);
/* In prepare, after DDL of our own. */
int bigquery_signature_renew(struct bigquery_destination *d, struct error *err);

/* ddl.c */
int bigquery_inspect(struct bigquery_destination *d,
		     const struct target *target,
		     const struct bigquery_place *p, const struct existing *e,
		     const struct bigquery_type *types, struct inspection *out,
		     struct error *err);
/* "CREATE TABLE ..." of the target's columns and those `kept` besides (NULL:
 * none); caller frees. */
char *bigquery_ddl_create(const struct bigquery_destination *d,
			  const struct target *target, const char *quoted,
			  const struct bigquery_type *types, const char *kept);
/* Does a refresh keep that column, which only the table has? */
bool bigquery_ddl_keeps(const struct existing *e, const struct target *target,
			size_t column);
/* Append those: ", `name` TYPE", and ", `name`". */
void bigquery_ddl_kept(struct strbuf *columns, struct strbuf *names,
		       const struct existing *e, const struct target *target);
/* The query of the view of the newest rows; caller frees. */
char *bigquery_ddl_view(const struct target *target,
			const struct bigquery_place *p);

/* prepare.c */
int bigquery_prepare_target(struct bigquery_destination *d,
			    const struct target *target, struct error *err);

/* mark_look.c */
/* Fill the row's part of `e`: the table may be missing. */
int bigquery_mark_look(struct existing *e, struct bigquery_destination *d,
		       const struct bigquery_place *p, const char *pipeline,
		       struct error *err);
/* mark.c */
/* Write the row anew, whoever wrote it last, unless its fence is higher:
 * STATE. `mark`, `created` and `delivered` of `e`; sets its `written_us`. */
int bigquery_mark_put(struct bigquery_destination *d,
		      const struct bigquery_place *p, const char *pipeline,
		      struct existing *e, struct error *err);
int bigquery_mark_create_table(struct bigquery_destination *d,
			       const struct bigquery_place *p,
			       struct error *err);
/* `rc`, or STATE if another run has taken over: it has then swept the missing
 * or refused objects. */
int bigquery_mark_why(struct bigquery_destination *d, int rc,
		      struct error *err);
int bigquery_mark_forget(struct bigquery_destination *d,
			 const struct bigquery_place *p,
			 const struct target *target, struct error *err);
/* After a load that found another mark than was seen. CONFLICT, and the mark is
 * seen, if only its delivered rows were raised. */
int bigquery_mark_follow(struct bigquery_destination *d, int rc,
			 struct error *err);
/* The slot. `e`: what is there. */
int bigquery_mark_raise(struct bigquery_destination *d,
			const struct bigquery_place *p, const char *pipeline,
			const struct existing *e, const char *mark,
			struct error *err);
/* Give up a refresh (NULL: any that is under way). A process that goes on with
 * it notices that it has lost it. */
int bigquery_mark_release(struct bigquery_destination *d,
			  const struct bigquery_place *p, const char *pipeline,
			  const char *refresh_id, struct error *err);

/* recover.c */
extern const struct mark_engine bigquery_mark_keeper;
/* Where the target is, and what is there; both to be released in any case. */
int bigquery_find(struct bigquery_destination *d, const struct target *target,
		  struct bigquery_place *place, struct existing *existing,
		  struct error *err);

/* script.c: statements as jobs. */
struct bigquery_numbers {
	int64_t values[4]; /* from the first row; 0 where there is none */
};
/* Numbers and texts by name. */
struct bigquery_values {
	struct bigquery_parameter items[16];
	char *texts[16]; /* owned */
	size_t n;
};
void bigquery_values_text(struct bigquery_values *v, const char *name,
			  const char *text);
void bigquery_values_number(struct bigquery_values *v, const char *name,
			    int64_t number);
void bigquery_values_release(struct bigquery_values *v);
/* A statement of this handle's own; what lost against another is tried again.
 * `out` may be NULL. */
int bigquery_execute(struct bigquery_destination *d, const char *sql,
		     const struct bigquery_values *v,
		     struct bigquery_numbers *out, struct error *err);
/* TRANSIENT: the table is not the one that prepare has read. */
int bigquery_signature_refuse(const struct target *target, struct error *err);
/* DATA: the table holds a key of the batch more than once. */
int bigquery_repeats(const struct target *target, struct error *err);
/* STATE. */
int bigquery_overtaken(const char *pipeline, struct error *err);
/* A transaction that moves the mark to `next`, or is part of a refresh: at
 * most once, by its job id. */
int bigquery_transact(struct bigquery_destination *d, const char *sql,
		      const struct bigquery_values *v,
		      const struct checkpoint *next,
		      struct bigquery_numbers *out, struct error *err);

/* bare.c: for an emulator that has no transactions, statement by statement: the
 * rows, and then the mark. If the load breaks off between them, the rows are
 * read again, and change nothing. CONFIG for settings that cannot be served so;
 * a warning for the rest. */
int bigquery_bare_check(struct bigquery_destination *d,
			const struct target *target, struct error *err);
void bigquery_bare_types(const struct bigquery_destination *d,
			 struct bigquery_type *types, size_t n);
int bigquery_bare_load(struct bigquery_destination *d,
		       const struct bigquery_values *v, size_t n_rows,
		       bool delivered, struct bigquery_numbers *out,
		       struct error *err);
/* bare_mark.c: of the pipeline's row, how many there are with `more`; the mark
 * moves, if it is as it was seen. */
int bigquery_bare_marks(struct bigquery_destination *d,
			const struct bigquery_place *p, const char *more,
			const struct bigquery_values *v, int64_t *out,
			struct error *err);
int bigquery_bare_move(struct bigquery_destination *d,
		       const struct bigquery_values *v, struct error *err);
/* As bigquery_mark_raise, of a row that is `there` or not. */
int bigquery_bare_raise(struct bigquery_destination *d,
			const struct bigquery_place *p, bool there,
			const struct bigquery_values *v, struct error *err);
int bigquery_bare_mark_put(struct bigquery_destination *d,
			   const struct bigquery_place *p, bool created,
			   const struct bigquery_values *v, struct error *err);

/* versions.c: append " AND ...", nothing without a mark. An older version never
 * replaces a newer one. The exception is a stored version up to the last one
 * that this pipeline has delivered itself (`delivered`: in @delivered). Without
 * a mark that can be read, nothing says which is older, and the source's word
 * counts. */
void bigquery_sql_newer(struct strbuf *sql,
			const struct bigquery_destination *d, bool delivered);

/* statements.c: texts. `_tidemark_s` is the staged row, `_tidemark_t` the
 * table's: a column of either that had such a name would hide it. */
/* The beginning of every transaction: the mark moves, or the refresh is still
 * this one; the stage holds @rows rows. */
void bigquery_sql_begin(struct strbuf *sql,
			const struct bigquery_destination *d, bool staged);
/* Merge by the target's mode, and COMMIT. Gives inserted, updated, missing. */
void bigquery_sql_load(struct strbuf *sql, const struct bigquery_destination *d,
		       bool delivered);
/* How many rows of the target have a key of the stage that another one has. */
void bigquery_sql_repeats(struct strbuf *sql,
			  const struct bigquery_destination *d);
/* Gives removed. */
void bigquery_sql_remove(struct strbuf *sql,
			 const struct bigquery_destination *d);
/* The statement that compares and writes, for `into`, alone. */
void bigquery_sql_merge(struct strbuf *sql,
			const struct bigquery_destination *d, const char *into,
			bool delivered);
/* `what` ("DELETE", "SELECT COUNT(*)") of the rows of `into` that the staged
 * ones change; and the rows that are missing there. */
void bigquery_sql_changed(struct strbuf *sql, const char *what,
			  const struct bigquery_destination *d,
			  const char *into, bool delivered);
void bigquery_sql_insert_missing(struct strbuf *sql,
				 const struct bigquery_destination *d,
				 const char *into);
/* columns.c. "_tidemark_t.a = _tidemark_s.a AND ...", by which a float that is
 * NaN is itself. */
void bigquery_sql_key_join(struct strbuf *sql, const struct schema *s);
void bigquery_sql_keys(struct strbuf *sql, const struct schema *s,
		       const char *table);
/* The key as rows can be partitioned by it. */
void bigquery_sql_partition(struct strbuf *sql, const struct schema *s);
void bigquery_sql_columns(struct strbuf *sql, const struct schema *s,
			  const char *table);
/* The staged rows, the last of each key, by the source's names. */
void bigquery_sql_staged(struct strbuf *sql,
			 const struct bigquery_destination *d);

/* stage.c: a name that no other handle has; the table; the batch into the stage
 * table; `keys_only`: nothing else. */
void bigquery_stage_name(struct bigquery_destination *d);
int bigquery_stage_make(struct bigquery_destination *d, struct error *err);
int bigquery_stage_load(struct bigquery_destination *d, const struct batch *b,
			bool keys_only, struct error *err);
/* Remove the stages of this pipeline that any handle has left. */
int bigquery_stage_sweep(struct bigquery_destination *d,
			 const struct bigquery_place *p, const char *pipeline,
			 bool *swept, struct error *err);
void bigquery_stage_drop(struct bigquery_destination *d);

/* load.c */
int bigquery_load_batch(struct bigquery_destination *d, const struct batch *b,
			const struct checkpoint *next,
			struct load_counts *counts, struct error *err);
int bigquery_remove_rows(struct bigquery_destination *d,
			 const struct batch *keys,
			 const struct checkpoint *next, int64_t *removed,
			 struct error *err);
/* refresh.c: the swap, with `next`. */
int bigquery_refresh_swap(struct bigquery_destination *d,
			  const struct checkpoint *next, struct error *err);

/* preview.c */
/* After all else is kept: rows go into a copy of the table from now on. */
int bigquery_preview_make(struct bigquery_destination *d,
			  const struct target *target, const struct existing *e,
			  const struct inspection *i, struct error *err);
int bigquery_destination_preview(struct destination *base,
				 const struct batch *batch,
				 const struct checkpoint *next,
				 struct load_counts *out, struct error *err);
int bigquery_destination_explain(struct destination *base,
				 struct explanation *out, struct error *err);

#endif
