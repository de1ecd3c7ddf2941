/*
 * The pipeline's row of _tidemark_watermark where SQL with text parameters and
 * transactions keeps it (SQLite, Postgres, MySQL and MariaDB, DuckDB). An
 * engine brings its statements, as it writes them, and says how one is run; the
 * guards that keep two writers apart are here:
 *
 * - a row whose fence is higher than the writer's is another's;
 * - so is a row that is not as this handle left it;
 * - a pipeline without a mark loads nothing where others have got one since.
 *
 * Where a place is asked for, NULL is that of the target since prepare.
 */
#ifndef TIDEMARK_DESTINATIONS_COMMON_SQL_MARK_H
#define TIDEMARK_DESTINATIONS_COMMON_SQL_MARK_H

#include "core/base/strbuf.h"
#include "destinations/common/mark_keeper.h"
#include "destinations/common/soft_delete.h"

/* In a statement these stand for quoted names: the table of marks, the table
 * with the rows, and the table that a refresh fills. */
#define SQL_MARKS    "{marks}"
#define SQL_ROWS     "{rows}"
#define SQL_BUILDING "{building}"

/* The kind of a parameter. */
enum mark_value {
	MARK_NONE, /* there are no more */
	MARK_PIPELINE,
	MARK_WATERMARK,
	MARK_BATCH_ID,
	MARK_SEEN_ID, /* the batch_id that is expected to stand there */
	MARK_LOADED, /* the table that is loaded */
	MARK_NOW, /* by the clock of this machine */
	MARK_SCHEMA, /* in struct mark_place, as are */
	MARK_TABLE,
	/* Whole numbers: */
	MARK_TABLE_ID,
	MARK_SHARED, /* 1 or 0 */
	MARK_FENCE,
	MARK_ROWS_TOTAL,
	MARK_ROWS_MORE,
	MARK_CREATED, /* 1: Tidemark made the target; -1: as it is */
	MARK_VALUES
};
#define MARK_FIRST_NUMBER   MARK_TABLE_ID
#define SQL_MARK_PARAMETERS 9

struct mark_statement {
	const char *sql;
	enum mark_value params[SQL_MARK_PARAMETERS]; /* as its markers stand */
	const char *shape; /* its rows': clients/answer.h */
};

/* A statement is told those of these that it asks for. */
struct mark_facts {
	const char *texts[MARK_VALUES];
	int64_t numbers[MARK_VALUES];
};
struct mark_facts sql_mark_of(const char *pipeline);

/* Parameters as an engine gets them. */
struct sql_values {
	size_t n;
	const char *texts[SQL_MARK_PARAMETERS]; /* NULL: NULL */
	bool numbers[SQL_MARK_PARAMETERS]; /* parameters whose text is a whole
					    * number */
	char room[SQL_MARK_PARAMETERS][24];
	struct strbuf now;
};

/* Rows of texts, all in memory. */
struct sql_rows {
	struct strlist cells;
	size_t n_columns;
};
size_t sql_rows_count(const struct sql_rows *rows);
/* NULL: NULL. */
const char *sql_rows_cell(const struct sql_rows *rows, size_t row,
			  size_t column);
int64_t sql_rows_number(const struct sql_rows *rows, size_t row, size_t column);
void sql_rows_release(struct sql_rows *rows);

struct sql_load_engine;
struct sql_mark;

/* An engine brings these. No slot is NULL. */
struct sql_mark_engine {
	const struct sql_load_engine *load;
	/* `out` is empty before; its `n_columns` is set, too. */
	int (*query)(struct sql_mark *m, const char *sql, const char *shape,
		     const struct sql_values *values, struct sql_rows *out,
		     struct error *err);
	/* `touched` may be NULL. */
	int (*change)(struct sql_mark *m, const char *sql,
		      const struct sql_values *values, int64_t *touched,
		      struct error *err);
	/* BEGIN, COMMIT and ROLLBACK of a transaction without the locks that
	 * `load` takes against other writers. */
	int (*begin)(struct sql_mark *m, struct error *err);
	int (*commit)(struct sql_mark *m, struct error *err);
	void (*rollback)(struct sql_mark *m);
	/* The target's place, since prepare. */
	struct mark_place (*place)(const struct sql_mark *m);
	/* The row that was to be written is not as it was seen: STATE. */
	int (*lost)(struct sql_mark *m, const struct target *target,
		    struct error *err);

	/* Others that have a mark of the target: names, and what else there
	 * is. */
	struct mark_statement meet;
	/* The row, if it is as it was seen. */
	struct mark_statement write;
	/* The mark of the row that is to be raised, first of its columns; and
	 * its new mark. */
	struct mark_statement look, raise;
	/* The numbers of a raw table go on behind the highest, whoever gave it;
	 * the row goes. */
	struct mark_statement hand_on, forget;
	/* The mark of a table without rows says that it has none. */
	struct mark_statement emptied;
	/* The rows of a raw table whose numbers are beyond MARK_ROWS_TOTAL
	 * go. */
	struct mark_statement cut;
	/* How many rows has the table that a refresh fills? */
	struct mark_statement built;
};

/* First member of an engine's destination. */
struct sql_mark {
	struct mark_keeper keeper;
	const struct sql_mark_engine *engine;
	/* The pipeline's row as this handle last saw or wrote it: batch_id,
	 * fence and rows_total. */
	struct checkpoint seen;
	char *stands; /* the mark, as the load's transaction has found it */
	bool first; /* nothing was loaded yet, by the mark */
	/* In a refresh, since prepare: rows loaded, and of them those put into
	 * its table. In a dry run: rows previewed. */
	int64_t refreshed, built;
	enum soft_delete soft_delete; /* the target's, since prepare */
};
void sql_mark_init(struct sql_mark *m, const struct destination_ops *ops,
		   const struct mark_engine *keeper,
		   const struct sql_mark_engine *engine);
void sql_mark_release(struct sql_mark *m);

/* COMMIT if `rc` is 0, else or when that fails ROLLBACK. The code of all. */
int sql_mark_end(struct sql_mark *m, int rc, struct error *err);

/* The target, since prepare. */
const struct target *sql_mark_target(const struct sql_mark *m);

/* Tell one of an engine's statements as sql_mark_query() would run it. */
void sql_mark_tell(struct sql_mark *m, const struct mark_statement *statement,
		   const struct mark_place *at, const struct mark_facts *facts,
		   void (*told)(struct sql_mark *m, const char *sql,
				const struct sql_values *values));
/* Run one of an engine's statements. */
int sql_mark_query(struct sql_mark *m, const struct mark_statement *statement,
		   const struct mark_place *at, const struct mark_facts *facts,
		   struct sql_rows *out, struct error *err);
int sql_mark_change(struct sql_mark *m, const struct mark_statement *statement,
		    const struct mark_place *at, const struct mark_facts *facts,
		    int64_t *touched, struct error *err);

/* The row into `out`, if it is there. Its first columns are watermark,
 * batch_id, fence and rows_total. */
int sql_mark_read(struct sql_mark *m, const struct mark_statement *statement,
		  const struct mark_place *at, const char *pipeline,
		  struct checkpoint *out, struct error *err);
/* The same for the target, with MARK_LOADED being `loaded`. Behind those
 * columns is the table's signature (`*table`), and if `fault` is not NULL the
 * fault of the table of marks. Caller frees both. */
int sql_mark_read_held(struct sql_mark *m,
		       const struct mark_statement *statement,
		       const char *loaded, struct checkpoint *out, char **table,
		       char **fault, struct error *err);
void sql_mark_take(const struct sql_rows *rows, size_t row,
		   struct checkpoint *out);
/* The same, and the marks of others at the target. Behind those columns is
 * whether the row is the pipeline's own ("1", "t"), and the name of its
 * pipeline. */
int sql_mark_read_all(struct sql_mark *m,
		      const struct mark_statement *statement,
		      const struct mark_place *at, const char *pipeline,
		      struct checkpoint *out, struct error *err);

/* STATE: `now` is not as this handle left it, or has a higher fence. */
int sql_mark_compare(struct sql_mark *m, const struct target *target,
		     const struct checkpoint *now, struct error *err);
/* STATE, with the words for it. `seen_id`: the batch_id that was expected;
 * `now` NULL: not known. */
int sql_mark_overtaken(struct sql_mark *m, const struct target *target,
		       const char *seen_id, const struct checkpoint *now,
		       struct error *err);
/* Behind the locks of all that load into the table. In the first load of a
 * pipeline: TRANSIENT if others have got a mark since the last look. */
int sql_mark_meet(struct sql_mark *m, const struct target *target,
		  struct error *err);
/* Both of them, in the load's transaction. */
int sql_mark_hold(struct sql_mark *m, const struct target *target,
		  const struct checkpoint *now, struct error *err);
/* The checkpoint from which the handle goes on, once prepare has run. A
 * refresh holds on to the row that prepare wrote: the present row may be
 * another run's. */
int sql_mark_resume(struct sql_mark *m, const struct target *target,
		    const struct checkpoint *now, struct error *err);

/* `next`, and `rows_more` more, in the load's transaction. */
int sql_mark_write(struct sql_mark *m, const struct target *target,
		   const struct checkpoint *next, int64_t rows_more,
		   struct error *err);
/* In the transaction that has removed rows: a target that we have emptied
 * ourselves is not taken for one that somebody else has. */
int sql_mark_removed(struct sql_mark *m, int64_t removed, struct error *err);
/* For `lost`, where the row was compared before. */
int sql_mark_changed_hands(struct sql_mark *m, const struct target *target,
			   struct error *err);
void sql_mark_remember(struct sql_mark *m, const char *batch_id, int64_t fence,
		       int64_t rows_total);
/* After the COMMIT: this is what the next batch expects to find. */
void sql_mark_advance(struct sql_mark *m, const struct checkpoint *next,
		      int64_t rows_more);
/* Was the COMMIT of `next` (NULL: it had no mark) the one that made the row
 * what it is `now`? An identity that was there before, as that of a batch which
 * is replayed, says nothing. */
bool sql_mark_is_there(const struct sql_mark *m, const struct checkpoint *next,
		       const struct checkpoint *now);

/* The row of a mark that is set by hand. A run that is under way notices,
 * because its identity is a new one. */
int sql_mark_put(struct sql_mark *m, const struct mark_statement *statement,
		 const struct mark_place *at, const char *pipeline,
		 const char *watermark, int created, struct error *err);
/* Raise the pipeline's row by the rows that `mark` says are delivered, behind
 * its lock. 1: there is no row; then `*raised` (caller frees) is the row's
 * text. */
int sql_mark_raise(struct sql_mark *m, const struct mark_place *at,
		   const char *pipeline, const char *mark, char **raised,
		   struct error *err);

/* The same of an engine that makes the row first, without a mark, so that there
 * is one to lock. */
int sql_mark_make_and_raise(struct sql_mark *m,
			    const struct mark_statement *make,
			    const struct mark_place *at, const char *pipeline,
			    const char *mark, struct error *err);
/* Others that have a mark of the target, where `meet` tells both, name and
 * mark. */
int sql_mark_list(struct sql_mark *m, const struct mark_place *at,
		  const char *pipeline, struct strlist *out, struct error *err);

/* Slot of struct mark_engine. */
int sql_mark_forget(struct mark_keeper *k, const struct mark_found *f,
		    const struct target *target, struct error *err);

#endif
