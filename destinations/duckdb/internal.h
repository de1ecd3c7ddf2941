/*
 * Shared by the files of the DuckDB destination: the open destination, the
 * names of its objects, and the steps of inspect, prepare and load. Nobody else
 * includes this.
 *
 * Tables have no PRIMARY KEY: DuckDB's index costs three times the load time
 * and must stay in memory. The load itself keeps one row a key. The file has
 * one writer at a time; within this process duck_turn_begin() sees to it. Each
 * batch looks its keys up in the target, inside its transaction, before it
 * appends.
 */
#ifndef TIDEMARK_DESTINATIONS_DUCKDB_INTERNAL_H
#define TIDEMARK_DESTINATIONS_DUCKDB_INTERNAL_H

#include <pthread.h>

#include "clients/duckdb.h"
#include "core/base/strbuf.h"
#include "core/data/batch.h"
#include "core/plugin/destination.h"
#include "destinations/common/drift.h"
#include "destinations/common/existing.h"
#include "destinations/common/mark_order.h"
#include "destinations/common/names.h"
#include "destinations/common/refresh.h"
#include "destinations/common/soft_delete.h"
#include "destinations/common/sql_load.h"

#define DUCKDB_TYPE_SIZE 32
/* Rows of a row group: a batch of fewer is written twice, to the log and, with
 * others, at a checkpoint. */
#define DUCKDB_ROW_GROUP 122880

/* How a stored value is told from a new one. */
enum duckdb_target_compare {
	COMPARE_EQUAL, /* by the type's own = */
	COMPARE_BYTES, /* a text: its column may have a collation */
	COMPARE_TEXT, /* INTERVAL, whose = takes a month for thirty days */
};

/* How a source's type is kept. */
struct duckdb_type {
	char text[DUCKDB_TYPE_SIZE]; /* "DECIMAL(10,2)" */
	enum duckdb_target_compare
		compare; /* for the table's column, since prepare */
	struct duck_type fill; /* the form in chunks */
	enum mapping mapping;
};

/* The names for one target. Quoted ones are catalog.schema.name. */
struct duckdb_target_place {
	char *catalog, *schema;
	char *name; /* the name that people read */
	char *data; /* the table with the rows: `name`, or `name`_raw */
	char *stage; /* the table that a refresh fills */
	char *quoted_schema, *quoted_name, *quoted_data, *quoted_stage,
		*quoted_mark;
};

/* Keys that a table may hold, while it holds only keys that this process has
 * put there since it was made. A key that is surely not among them need not be
 * looked up. Handles that write to the table share it. Whoever has the turn
 * (duck_turn_begin()) uses it. */
#define DUCKDB_FILTERS 3
struct duckdb_target_known {
	bool all; /* the table holds no other keys */
	struct duckdb_target_filter {
		uint32_t *words;
		size_t bytes;
		size_t room; /* keys still to be added */
	} filters[DUCKDB_FILTERS];
	size_t n_filters;
	uint64_t *hashes, *table; /* for one batch; reused */
	size_t hashes_capacity, table_capacity;
	const void *database;
	char *into; /* the table, quoted */
	char *key; /* the names of its columns, quoted */
	size_t users;
	struct duckdb_target_known *next;
};

struct duckdb_target_destination {
	struct sql_mark mark;
	pthread_mutex_t lock; /* guards `db`, for interrupt */
	struct duck *db;
	char *path;
	char *memory_limit, *threads, *external_access;
	char *catalog;
	bool look; /* as of struct connection */
	bool on_disk; /* false: no file yet, `db` is an empty one in memory */

	/* From prepare on. */
	const struct target *target;
	struct duckdb_target_place place;
	struct duckdb_type *types; /* for target->schema's columns */
	bool *not_null; /* for the same: the table refuses NULL */
	enum mark_order mark_order; /* for the same schema's mark */
	const char *into; /* quoted: the data table, or the stage */
	const char *into_name;
	char soft_type[DUCKDB_TYPE_SIZE]; /* its column's */
	bool in_place; /* changed rows are updated, not deleted and inserted */
	/* In a dry run: `place` is that of a temporary copy, and this brings
	 * the staged keys' rows into it; NULL: there are none. */
	char *pull;
	char *previewed; /* quoted: what the copy is of */
	struct duckdb_target_known *known; /* shared */
	int64_t *matched; /* for each row of the batch; reused */
	uint32_t *rows;
	size_t matched_capacity, rows_capacity;
};

extern const struct destination_ops duckdb_target_destination;

/* open.c */
extern const struct url_option duckdb_target_url_options[];
int duckdb_target_open_options(struct duckdb_target_destination *d,
			       const char *url, struct error *err);
/* Without `create`, a file that is missing is not made: an empty database in
 * memory stands for it. */
int duckdb_target_open_database(struct duckdb_target_destination *d,
				bool create, struct error *err);

/* prepare.c */
/* One for each column; caller frees. */
struct duckdb_type *duckdb_target_types_new(struct duckdb_target_destination *d,
					    const struct schema *schema);
int duckdb_target_prepare_target(struct duckdb_target_destination *d,
				 const struct target *target,
				 struct error *err);

/* preview.c: a dry run. The rows that a batch is about are brought into a
 * temporary copy of the table, and it is loaded into that. `place` becomes the
 * copy's. */
int duckdb_target_preview_make(struct duckdb_target_destination *d,
			       const struct target *target,
			       struct duckdb_target_place *place,
			       const struct existing *e,
			       const struct duckdb_type *types,
			       struct error *err);
int duckdb_target_destination_explain(struct destination *base,
				      struct explanation *out,
				      struct error *err);

/* place.c */
/* The same names in the session's temporary database. */
void duckdb_target_place_copy(struct duckdb_target_place *out,
			      const struct duckdb_target_place *p);
int duckdb_target_place_init(struct duckdb_target_place *p,
			     const struct duckdb_target_destination *d,
			     const struct target *target, struct error *err);
void duckdb_target_place_release(struct duckdb_target_place *p);

/* known.c */
/* Share what is known of the table at d->into, or begin to know all of it if it
 * is new. The caller has the turn. */
void duckdb_target_known_join(struct duckdb_target_destination *d, bool empty);
void duckdb_target_known_leave(struct duckdb_target_destination *d);
/* The batch's rows whose keys the table may hold; its keys are known from now
 * on. False: nothing is known of its rows, look all of them up. */
bool duckdb_target_known_batch(struct duckdb_target_known *k,
			       const struct batch *b, uint32_t *maybe,
			       size_t *n_maybe);

/* types.c */
/* `is_json`: the library has the JSON type. */
void duckdb_target_type_of(struct duckdb_type *out, const struct type *source,
			   bool is_json);
enum duckdb_target_compare duckdb_target_type_compare(const char *actual);
/* Does a column of type `actual` hold every value of `source`? FIT_GROWS puts
 * the type that would into `grown`. */
enum fit duckdb_target_type_fit(const struct duckdb_type *wanted,
				const char *actual,
				char grown[DUCKDB_TYPE_SIZE]);

/* existing.c: look, never write. The columns of the data table only when
 * looked at closely: a query more costs 2 ms of a run that has nothing to
 * do. */
int duckdb_target_existing_look(struct existing *e,
				struct duckdb_target_destination *d,
				const struct duckdb_target_place *p,
				const char *pipeline, struct error *err);
/* SCHEMA if something that is no table has the name of the table of marks. */
int duckdb_target_existing_refuse_marks(
	const struct existing *e, const struct duckdb_target_destination *d,
	struct error *err);
int duckdb_target_existing_look_closely(struct existing *e,
					struct duckdb_target_destination *d,
					const struct duckdb_target_place *p,
					const char *pipeline,
					struct error *err);

/* ahead.c: rows of the table of marks, which must be there. Pipelines that
 * begin soon have theirs read in one go. The answer is kept by the database for
 * as long as it holds (duck_query_rows()). So nobody sees an older row than it
 * would have read itself. */
struct duckdb_target_mark {
	const char *pipeline, *watermark, *batch_id;
	int64_t fence, rows_total;
	bool created; /* created_target */
	int64_t delivered; /* target_rows */
	const char *target; /* lower case */
	bool own; /* the pipeline's own row */
	bool here; /* its target is the one asked about */
};
typedef void duckdb_target_row(void *ctx, const struct duckdb_target_mark *m);
/* The pipeline's own row, and those of its target, by name of the pipeline.
 * `each` may not ask. */
int duckdb_target_rows(struct duckdb_target_destination *d,
		       const struct duckdb_target_place *p,
		       const char *pipeline, duckdb_target_row *each, void *ctx,
		       struct error *err);
int duckdb_target_foresee(struct destination *base,
			  const struct target *const *targets, size_t n,
			  struct error *err);

/* ddl.c */
int duckdb_target_inspect(struct duckdb_target_destination *d,
			  const struct target *target,
			  const struct duckdb_target_place *p,
			  const struct existing *e,
			  const struct duckdb_type *types,
			  struct inspection *out, struct error *err);
/* Append the DDL that makes the table at `copy` what preparing would make of
 * the target. */
void duckdb_target_ddl_copy(struct duckdb_target_destination *d,
			    const struct target *target,
			    const struct duckdb_target_place *copy,
			    const struct existing *e,
			    const struct duckdb_type *types,
			    struct strlist *out);
/* Count a table's rows. */
int duckdb_target_count_rows(struct duckdb_target_destination *d,
			     const char *quoted, int64_t *out,
			     struct error *err);
/* "CREATE OR REPLACE VIEW ..." of the newest rows; caller frees. */
char *duckdb_target_view_sql(const struct target *target,
			     const struct duckdb_target_place *p);

/* mark.c */
void duckdb_target_mark_init(struct duckdb_target_destination *d,
			     const struct destination_ops *ops);
int duckdb_target_mark_create_table(struct duckdb_target_destination *d,
				    const struct duckdb_target_place *p,
				    struct error *err);
/* Write the row anew, whoever wrote it last: `mark`, `created` and `delivered`
 * of `e`. */
int duckdb_target_mark_put(struct duckdb_target_destination *d,
			   const struct duckdb_target_place *p,
			   const char *pipeline, const struct existing *e,
			   struct error *err);
/* As in struct sql_load_engine, as are the others that take a struct sql_mark.
 */
int duckdb_target_mark_begin(struct sql_mark *m, bool rows, struct error *err);
int duckdb_target_mark_look(struct sql_mark *m, bool rows,
			    struct checkpoint *now, char **table,
			    struct error *err);

/* fill.c: rows of a batch into a table. */
enum duckdb_target_field_from {
	FIELD_COLUMN, /* the batch's column `column` */
	FIELD_ROW, /* BIGINT: the row's number in the batch */
	FIELD_MATCHED, /* BIGINT: matched[row] */
	FIELD_BATCH, /* VARCHAR: `batch_id` */
	FIELD_SEQ, /* BIGINT: seq + row */
	FIELD_LOADED, /* TIMESTAMPTZ: `loaded_at` */
};

struct duckdb_target_field {
	const char *name;
	enum duckdb_target_field_from from;
	size_t column;
};

struct duckdb_target_fill {
	const char *catalog, *schema, *table;
	const struct duckdb_target_field *fields;
	size_t n_fields;
	const struct duckdb_target_destination *d;
	const struct batch *batch;
	const uint32_t *rows; /* rows of the batch; NULL: all */
	size_t n_rows;
	const int64_t *matched;
	const char *batch_id;
	int64_t seq, loaded_at;
};
int duckdb_target_fill_table(struct duck *db,
			     const struct duckdb_target_fill *fill,
			     struct error *err);

/* decimal.c: exact text to scaled integer. False unless it is a number whose
 * digits fit `precision` and `scale`. */
__extension__ typedef __int128 duckdb_hugeint;
bool duckdb_target_decimal_parse(const uint8_t *text, size_t n,
				 unsigned precision, unsigned scale,
				 duckdb_hugeint *out);
/* Length without the zeros behind the point that say nothing. */
size_t duckdb_target_decimal_trim(const uint8_t *text, size_t n);

/* sql.c: pieces of statements over a table `t` and rows `s` for it. */
void duckdb_target_sql_name(struct strbuf *sql, const struct schema *s,
			    size_t column, const char *table);
void duckdb_target_sql_columns(struct strbuf *sql, const struct schema *s,
			       const char *table);
void duckdb_target_sql_keys(struct strbuf *sql, const struct schema *s);
void duckdb_target_sql_key_join(struct strbuf *sql, const struct schema *s);
void duckdb_target_sql_different(struct strbuf *sql,
				 const struct duckdb_target_destination *d,
				 bool but_mark);

/* Statements over the table at d->into and the staged rows. The first replaces
 * rows by newer ones (nothing is written where all columns are the key's). The
 * second finds the replaced rows. The third finds staged rows that do not
 * repeat a raw table's newest. */
void duckdb_target_sql_update(struct strbuf *sql,
			      const struct duckdb_target_destination *d,
			      const char *delivered);
void duckdb_target_sql_changed(struct strbuf *sql,
			       const struct duckdb_target_destination *d,
			       const char *delivered);
void duckdb_target_sql_appended(struct strbuf *sql,
				const struct duckdb_target_destination *d);

/* mark.c, load.c, match.c and refresh.c: the steps of a transaction. */
extern const struct sql_load_engine duckdb_target_load_engine;
int duckdb_target_commit(struct sql_mark *m, const struct checkpoint *next,
			 struct error *err);
int duckdb_target_remove_rows(struct sql_mark *m, const struct batch *keys,
			      int64_t *removed, struct error *err);
int duckdb_target_refresh_swap(struct sql_mark *m,
			       const struct checkpoint *next,
			       struct error *err);

#endif
