/*
 * A source that is read in pages by (mark, key): `column > t OR (column = t AND
 * (key) > (k))` with ORDER BY and LIMIT, in steps that follow the mark. The
 * parts that all such engines share are here. An engine brings its catalog, its
 * way of comparing values and its loop over a statement's rows (struct
 * paged_dialect).
 *
 * Files:
 * - paged_pass.c: one pass over the pages
 * - paged.c: the pages as statements
 * - paged_bounds.c: where steps begin and end
 * - paged_sql.c: statements
 * - paged_check.c: checks before the first row
 * - paged_rows.c: rows that do not fit
 * - paged_lookup.c: rows of given keys
 * - paged_whole.c: every row of the table
 * - paged_cut.c: ranges cut to size
 * - paged_inspect.c: answers for `check` and `init`
 * - paged_settle.c: the settled point where only a clock tells it
 * - paged_shape.c: whether a table still is as it was described
 */
#ifndef TIDEMARK_CONNECTORS_COMMON_PAGED_H
#define TIDEMARK_CONNECTORS_COMMON_PAGED_H

#include "connectors/common/paged_pass.h"
#include "connectors/common/source_layout.h"
#include "core/base/strbuf.h"
#include "core/plugin/connector.h"

struct paged_source;

/* A position of 33 values may stand in a statement four times, and a value as
 * often as it is compared. */
#define PAGED_MAX_PARAMETERS 400

/* A statement under construction: `?` for each parameter. */
struct paged_query {
	struct strbuf sql;
	char *params[PAGED_MAX_PARAMETERS]; /* owned */
	/* The columns whose values they are; NULL: plain text. */
	const struct source_column *columns[PAGED_MAX_PARAMETERS];
	int n;
};

/* The rows of a small statement, as text. */
struct paged_answer {
	size_t n_rows, n_columns;
	char **cells; /* by rows; NULL is NULL */
};

struct paged_dialect {
	struct source_rules rules;
	/* The beginning of a statement: "SELECT ", and a tag by which the
	 * server's list of statements shows it. */
	const char *select;
	/* The warning of `init` about a mark without an index. */
	const char *unindexed;
	/* The statement ends with each batch: it holds a lock that writers
	 * wait for. */
	bool page_a_batch;
	/* Keys of one statement of a look-up, at most. */
	size_t lookup_keys;
	/* Rows of a page, where a batch takes fewer; 0: as the batch. */
	size_t page_rows;
	/* For paged_settle.c alone. A SELECT of the server's clock in µs; NULL:
	 * this host's clock is the source's. */
	const char *clock;
	/* The reason why a row may be seen only after its time is settled. It
	 * makes the guarantee `lag`; NULL: no reason, so `exact`. */
	const char *late;
	/* Functions for tick.h; NULL: the step of a mark does not matter. */
	const char *const *plain;

	/* Fill table, indexes and `all`; `mark` may be NULL. */
	int (*look)(struct paged_source *s, const struct source_spec *source,
		    const struct watermark_spec *mark,
		    struct source_layout *out, struct error *err);
	/* Append the SQL that orders and compares a column ("t"."a" COLLATE
	 * BINARY). */
	void (*ordered)(struct strbuf *sb, const struct paged_source *s,
			const struct source_column *c);
	/* Append the placeholder of a value that is compared with the column.
	 * Add the value with paged_push. */
	void (*value)(struct paged_query *q, const struct paged_source *s,
		      const struct source_column *c, const char *value);
	/* Append what names the index of a page, behind the table. */
	void (*hint)(struct strbuf *sb, const struct paged_source *s);
	/* Append the condition that a row has one of `n` of the pass's keys,
	 * from key number `first` on. */
	void (*keys)(struct paged_query *q, const struct paged_source *s,
		     size_t first, size_t n);
	/* Append the greatest mark as SQL; its text is as a watermark has
	 * it. */
	void (*newest)(struct strbuf *sb, const struct source_column *mark);
	int (*query)(struct paged_source *s, const struct paged_query *q,
		     struct paged_answer *out, struct error *err);
	/* As clients' explain: caller frees both; either may be NULL. */
	int (*explain)(struct paged_source *s, const struct paged_query *q,
		       char **plan, char **index, struct error *err);
	/* Begin the statement of a page. Then append its rows until the batch
	 * is full (0) or there are no more (1; p->read counts them). Then close
	 * it. */
	int (*page_open)(struct paged_source *s, const struct paged_query *q,
			 struct error *err);
	int (*page_read)(struct paged_source *s, struct batch *b,
			 struct error *err);
	void (*page_close)(struct paged_source *s);
	/* Compare a column of the page just opened with its description. NULL
	 * if the type is the same. Else the server's present spelling of the
	 * type, in words that stay the same (caller frees). */
	char *(*page_type)(struct paged_source *s, size_t column);
	/* Append a column of the last appended row, as it is compared. */
	void (*position)(const struct paged_source *s, const struct batch *b,
			 size_t column, struct strbuf *out);
};

struct paged_source {
	struct connector base;
	const struct paged_dialect *dialect;
	struct source_layout layout;
	const struct source_spec *described; /* the mark's at that time */
	enum strategy strategy; /* it was made for */
	char *mark_column;
	struct paged_pass pass;
};

void paged_init(struct paged_source *s, const struct connector_ops *ops,
		const struct paged_dialect *dialect);
void paged_release(struct paged_source *s);
/* Leave what a pass has open. */
void paged_end_pass(struct paged_source *s);
/* The layout for this source and mark; read anew if the stored one belongs to
 * others. */
int paged_layout_for(struct paged_source *s, const struct source_spec *source,
		     const struct watermark_spec *mark, struct error *err);

/* Slots of struct connector_ops, for a connector whose struct begins with a
 * paged_source. */
int paged_describe(struct connector *base, const struct source_spec *source,
		   const struct watermark_spec *mark, struct schema *out,
		   struct error *err);
int paged_cut(struct connector *base, const struct source_spec *source,
	      const struct watermark_spec *mark, const struct range *range,
	      int64_t rows, struct range_cut *out, struct error *err);
int paged_scan(struct connector *base, const struct scan *scan,
	       struct error *err);
int paged_next(struct connector *base, struct batch *out, struct error *err);
int paged_suggest(struct connector *base, const char *table,
		  enum strategy *strategy, char **column, char **reason,
		  struct error *err);
/* paged_settle.c: settle by the clock, or by the greatest number in the column.
 * For engines that have no list of open transactions, or need none. */
int paged_settle(struct connector *base, const struct source_spec *source,
		 const struct schema *schema, const struct watermark_spec *mark,
		 const struct watermark *from, struct settled *out,
		 struct error *err);
/* As paged_inspect, and whose clock the mark shows. */
int paged_inspect_clock(struct connector *base,
			const struct source_spec *source,
			const struct watermark_spec *mark,
			const struct schema *schema, struct problems *out,
			struct error *err);
/* Add the mark's meaning to an identity, if `source` is the one described. */
void paged_identify_mark(const struct paged_source *s,
			 const struct source_spec *source, json_t *identity);
/* Index on the mark, NULL marks, the key; the engine adds its own. */
int paged_inspect(struct paged_source *s, const struct source_spec *source,
		  const struct watermark_spec *mark, struct problems *out,
		  struct error *err);

/* paged_rows.c: for engines that append row by row. Decode a column of the
 * row at hand at `row` of `v`. */
typedef int (*paged_decode)(struct paged_source *s, struct vector *v,
			    size_t row, size_t column, struct error *err);
/* The row under construction is to blame, for this column. Put table, column
 * and key before the message, and undo the row. Returns the error's code. */
int paged_blame(struct paged_source *s, struct batch *b, size_t column,
		paged_decode decode, struct error *err);
/* The same if its key has a NULL. */
int paged_check_row(struct paged_source *s, struct batch *b,
		    paged_decode decode, struct error *err);
/* Decode the row at hand into the batch and the hidden mark, and check it. The
 * caller ends it with batch_row_done(). */
int paged_take_row(struct paged_source *s, struct batch *b, paged_decode decode,
		   struct error *err);

/* paged_lookup.c: rows of given keys, in place of paged steps. */
int paged_lookup(struct paged_source *s, struct batch *out, struct error *err);

/* paged_whole.c: each row, without a mark. */
int paged_whole(struct paged_source *s, struct batch *out, struct error *err);

/* paged_explain.c: the slot. */
int paged_explain(struct connector *base, size_t rows, struct explanation *out,
		  struct error *err);

/* paged.c: write the statement of the step's next page. */
void paged_write_page(const struct paged_source *s, struct paged_query *q,
		      size_t rows);

/* paged_shape.c: the dialect's page_open(), for a table that is still as
 * described; else TRANSIENT. */
int paged_page_open(struct paged_source *s, const struct paged_query *q,
		    struct error *err);
/* Has a step for this source failed with `rc` because the table was altered
 * since its description? Then the error becomes TRANSIENT, so that the run
 * describes the table anew. Ends the pass of a failed step. */
int paged_judge(struct paged_source *s, const struct source_spec *source,
		const struct watermark_spec *mark, int rc, struct error *err);
/* Slot of a client that checks the types itself. */
char *paged_no_type(struct paged_source *s, size_t column);

/* paged_sql.c */
void paged_query_init(struct paged_query *q);
void paged_query_release(struct paged_query *q);
void paged_push(struct paged_query *q, const struct source_column *c,
		const char *value);
/* "SELECT <what> FROM <table> WHERE <user's> AND "; a condition must follow.
 * `what` NULL: the rows' columns. */
void paged_write_select(struct paged_query *q, const struct paged_source *s,
			const char *what);
/* "column > ?" */
void paged_write_compare(struct paged_query *q, const struct paged_source *s,
			 const struct source_column *c, const char *comparison,
			 const char *value);
/* "mark > ?" */
void paged_write_mark(struct paged_query *q, const struct paged_source *s,
		      const char *comparison, const char *value);
/* Write a condition over the total order's columns from number `first` (0: the
 * mark; 1: the key alone). They are beyond (`above`), or up to and including,
 * the position `values`. */
void paged_write_beyond(struct paged_query *q, const struct paged_source *s,
			size_t first, bool above, char *const *values);
void paged_write_order(struct paged_query *q, const struct paged_source *s,
		       size_t first);
/* The key's columns in a list. */
void paged_write_key(struct strbuf *sb, const struct paged_source *s,
		     bool ordered);
/* paged_lookup.c: a condition for each of the keys. All keys together take
 * PAGED_LOOKUP_PARAMETERS; a key has several. */
#define PAGED_LOOKUP_PARAMETERS 256
void paged_write_keys(struct paged_query *q, const struct paged_source *s,
		      size_t first, size_t n);
/* Slots that most dialects share: no hint, max(column), and the value as the
 * batch has it. */
void paged_no_hint(struct strbuf *sb, const struct paged_source *s);
void paged_newest(struct strbuf *sb, const struct source_column *mark);
void paged_position(const struct paged_source *s, const struct batch *b,
		    size_t column, struct strbuf *out);
/* Ask, and check that the answer has the expected `shape`, see
 * clients/answer.h. */
int paged_ask(struct paged_source *s, const struct paged_query *q,
	      const char *shape, struct paged_answer *out, struct error *err);
int paged_answer_check(const struct paged_answer *a, const char *shape,
		       struct error *err);
/* NULL: NULL, or there is no such row or column. */
const char *paged_cell(const struct paged_answer *a, size_t row, size_t column);
void paged_answer_release(struct paged_answer *a);

/* paged_bounds.c: where a step begins and ends, and which rows a pass may
 * read. */
void paged_write_begin(const struct paged_source *s, struct paged_query *q);
void paged_write_end(const struct paged_source *s, struct paged_query *q);
void paged_write_reach(const struct paged_source *s, struct paged_query *q);
void paged_write_range(struct paged_query *q, const struct paged_source *s,
		       const struct range *range);

/* paged_check.c: NULL marks (by policy) and NULL in the key: DATA with a
 * sample; a key that repeats: SCHEMA. */
int paged_check(struct paged_source *s, struct error *err);
int paged_count_nulls(struct paged_source *s, int64_t *count,
		      struct error *err);
/* A key that more than one row has, as text (caller frees), or NULL. */
int paged_find_repeat(struct paged_source *s, char **out, struct error *err);
/* Count the rows that tail: hold keeps back, in the step of the tail. */
int paged_count_tail(struct paged_source *s, struct batch *out,
		     struct error *err);

#endif
