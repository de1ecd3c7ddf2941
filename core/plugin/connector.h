/*
 * The contract of a source: a table of functions. Called by core/sync from
 * one thread at a time; only interrupt() may come from another thread.
 * Sessions are read-only. Every error is set in `err` and the negative code
 * returned; a lost connection is TRANSIENT and leaves the connector fit only
 * for close().
 */
#ifndef TIDEMARK_CORE_PLUGIN_CONNECTOR_H
#define TIDEMARK_CORE_PLUGIN_CONNECTOR_H

#include <jansson.h>

#include "core/base/connection.h"
#include "core/base/strlist.h"
#include "core/data/batch.h"
#include "core/data/schema.h"
#include "core/data/watermark.h"
#include "core/plugin/explanation.h"
#include "core/plugin/grants.h"
#include "core/plugin/problem.h"

/* The code of a DATA error: the marks are not written alike, so that they
 * cannot be compared, and no range of them be read. */
#define CONNECTOR_MARK_NOTATION "mark-notation"

struct connector {
	const struct connector_ops *ops;
};

struct source_expression {
	char *name;
	char *sql;
};

/* A column gets this name at the destination. */
struct source_rename {
	char *from, *to;
	char *at; /* where the config says so, for messages */
	bool loose; /* tables without the column are passed over */
};

/* Names of columns that are not renamed. */
enum casing { CASING_AS_IS, CASING_SNAKE };

/* The value of a date without month or day (0000-00-00, MySQL). */
enum zero_dates { ZERO_DATES_ERROR, ZERO_DATES_NULL };

/* The rows and columns of a table. The connector does not own it; it outlives
 * the calls. */
struct source_spec {
	const char *table; /* as written: schema.table */
	/* A SELECT in place of the table; NULL: none. `table` is then a name
	 * for messages. */
	const char *query;
	const struct strlist *columns; /* empty: all */
	/* Replace or add columns. */
	const struct source_expression *expressions;
	size_t n_expressions;
	const char *where; /* SQL or NULL */
	const struct strlist *key; /* empty: the primary key */
	/* The pipeline as a command takes it, for advice; NULL: not known. */
	const char *call;
	/* The command that runs it so; as of struct target. */
	const char *run;
	/* Where no columns are named: all but these. NULL: none is left out. */
	const struct strlist *exclude;
	const char *exclude_at; /* where the config says so, for messages */
	/* naming.h's alone: a connector goes by the source's names. */
	const struct source_rename *renames;
	size_t n_renames;
	const char *casing_at; /* as exclude_at */
	enum casing casing;
	enum zero_dates zero_dates;
	bool exclude_loose; /* tables without those of `exclude` are passed over
			     */
};

enum nulls_policy { NULLS_ERROR, NULLS_INCLUDE, NULLS_SKIP };
enum tail_policy { TAIL_DELIVER, TAIL_HOLD };

struct watermark_spec {
	enum strategy strategy;
	const char *column; /* NULL for xmin */
	int64_t lag_us; /* timestamp */
	int64_t lag_count; /* sequence */
	const char *time_zone; /* "auto", "UTC", "+05:30", "Europe/Rome" */
	bool settle; /* false: settle: off (guarantee at most lag/none) */
	enum tail_policy tail;
	enum nulls_policy nulls;
	/* The column only puts rows in order, for a range: its type may be any
	 * that can be. */
	bool any_type;
	/* A table without a key will do. See struct scan. */
	bool keyless;
};

/* Rows by the value of the mark column: from `from` on, and before `to`. NULL:
 * without an end there. */
struct range {
	const char *from, *to;
	bool nulls; /* in place of all that: the rows without a value */
};

/* The beginning of a range. */
struct range_cut {
	char *end; /* where the rest begins; NULL: there is none */
	int64_t rows; /* before it */
};

/* So many rows are more than any range has: it is counted, and not cut. */
#define RANGE_ROWS_ALL INT64_MAX

enum guarantee { GUARANTEE_EXACT, GUARANTEE_LAG, GUARANTEE_NONE };
const char *guarantee_name(enum guarantee g);

/* The findings of settle(), before any snapshot that serves rows. */
struct settled {
	/* As watermark.value: up to and including this everything is settled;
	 * NULL: nothing is. */
	char *value;
	json_t *pending; /* strategy's own, opaque to the engine, or NULL */
	enum guarantee guarantee;
	/* The reason for the guarantee, and the grants that would mend it;
	 * "". */
	char *reason;
	/* {"pid","since","state","application","query"...} of the oldest
	 * transaction that holds the mark, or NULL. */
	json_t *held_by;
	int64_t lag_us; /* source clock minus settled instant; -1 unknown */
	/* Rows that are there and that we are not shown: why, and what to
	 * grant; NULL: none known. */
	char *hidden;
	/* Members of `pending` of a mark whose rows were all read since; NULL:
	 * none. They tell the table's parts from those that come later, whose
	 * rows may be of any age, and sequences from those that began anew. */
	json_t *parts;
	/* The end of the source's log at a time when all that `value` covers
	 * had ended, and how far the log is flushed. A crash of the source
	 * takes back what lies behind that, and gives its numbers out again.
	 * 0: there is no such log, or nothing is known of it. */
	uint64_t log_end, log_flushed;
};
void settled_init(struct settled *s);
void settled_release(struct settled *s);

struct scan {
	const struct source_spec *source;
	const struct schema *schema; /* from describe */
	/* NULL: each row that there is now, wherever its mark is, once, in no
	 * particular order. Then `from` and `settled` are NULL too, and the
	 * batches' marks mean nothing. */
	const struct watermark_spec *mark;
	/* Without a key no page may end among rows of one mark, and no
	 * statement begin there. The position is a mark alone: rows beyond it
	 * follow, and those of the batch's last mark may go on in the next
	 * batch. */
	const struct watermark *from; /* value NULL: the whole table */
	const struct settled *settled;
	const json_t *identity; /* put into each batch's watermark */
	/* NULL: the rows past the mark. Else the rows that have these keys now,
	 * wherever their marks are, in no particular order. A row without a
	 * mark counts only where nulls: include. A key without a row is passed
	 * over. Texts are as value_print() writes them, schema->n_key for each
	 * key, key after key; thousands of them are fine. Rows of other keys
	 * may come along, if an engine compares more loosely than by bytes.
	 * Each batch's watermark is `from`, with what was delivered by now;
	 * `settled` may be NULL. */
	const struct strlist *keys;
	/* Not NULL: the rows of this range, wherever the mark is, in position
	 * order. `from` is the position of a row behind which to go on, or has
	 * no value. `settled` may be NULL. Rows without a mark outside of the
	 * range do not matter. Each batch's watermark is the position of its
	 * last row; for a range of `nulls` it is `from`. */
	const struct range *range;
	/* With a range: in no particular order, and so in one statement, where
	 * an engine can, whether or not an index has the mark. The batches'
	 * marks mean nothing. */
	bool unordered;
};

/* A pass in the mark's order, page after page. */
static inline bool scan_is_ordered(const struct scan *s)
{
	return s->mark && !s->keys && !s->unordered;
}

/* Rows of one mark cannot be told apart: see struct scan. */
static inline bool scan_is_keyless(const struct scan *s)
{
	return scan_is_ordered(s) && !s->schema->n_key;
}

/* A table that is about to be read; mark NULL: as of describe. */
struct source_wish {
	const struct source_spec *source;
	const struct watermark_spec *mark;
};

/* Questions to a server before more is read from it. */
struct pressure_question {
	bool active, lag;
	const char *query; /* the user's own, for one number; NULL: none */
	/* The number is a yes or no, and a truth value is one as well. No row,
	 * or NULL, is no: 0. */
	bool truth;
};
struct pressure {
	int64_t active; /* sessions that run something, but for our own */
	int64_t lag_us; /* the lag of the replica that is furthest behind */
	char *replica; /* the name of that replica, or NULL */
	double number;
};
void pressure_release(struct pressure *p);

/* One table of the source, for init. */
struct table_info {
	char *name; /* quoted where needed: as the config takes it */
	char *kind; /* "table", "partitioned", "view", "foreign" */
	int64_t row_estimate;
};
struct table_list {
	struct table_info *items;
	size_t n;
	size_t capacity;
};
void table_list_release(struct table_list *list);

struct connector_ops {
	const char *name;
	/* Ends with a NULL name; never NULL. */
	const struct url_option *options;
	/* Rights that reading takes: on `source` by `mark` (both NULL: nothing
	 * is read), and for the questions `asked` of the server (NULL: none).
	 * It goes by the config alone and connects to nothing. CONFIG: the URL
	 * does not name the user, or the place. A slot of NULL: the engine has
	 * no users. */
	int (*grants)(const struct connection *conn,
		      const struct source_spec *source,
		      const struct watermark_spec *mark,
		      const struct pressure_question *asked, struct grants *out,
		      struct error *err);

	/* Ask about several tables in one go. describe(), identity() and
	 * settle() then find the answers, through this session or another to
	 * the same server. It only saves questions: the rest is
	 * asked later. A slot of NULL: each table is asked about by itself. */
	int (*foresee)(struct connector *c, const struct source_wish *wishes,
		       size_t n, struct error *err);

	int (*open)(struct connector **out, const struct connection *conn,
		    struct error *err);
	/* User tables, sorted by name. */
	int (*tables)(struct connector *c, struct table_list *out,
		      struct error *err);
	/* Columns with types, key, mark (NULL: none is asked for), estimates.
	 * No such table, column, or usable key: SCHEMA, with the nearest name.
	 */
	int (*describe)(struct connector *c, const struct source_spec *source,
			const struct watermark_spec *mark, struct schema *out,
			struct error *err);
	/* Problems for `check`. Warnings: no index on the mark column (with the
	 * statement), NULL marks, missing rights (with the GRANT). An error: a
	 * strategy that cannot serve. Appends to `out`. mark NULL: none is
	 * asked for, as of describe. */
	int (*inspect)(struct connector *c, const struct source_spec *source,
		       const struct watermark_spec *mark,
		       const struct schema *schema, struct problems *out,
		       struct error *err);
	/* For init: suggested strategy and column for a table, with the reason
	 * in a sentence. `column` "" for xmin. Caller frees all three. */
	int (*suggest)(struct connector *c, const char *table,
		       enum strategy *strategy, char **column, char **reason,
		       struct error *err);
	/* The identity of the mark's table: new reference to a flat object.
	 * After describe of the same source it tells of the mark's column,
	 * too. */
	int (*identity)(struct connector *c, const struct source_spec *source,
			json_t **out, struct error *err);
	/* `from`: the current mark (sequence looks at its pending part). A
	 * mark that the source cannot have produced: SCHEMA. mark and from
	 * NULL: one statement is going to read all rows. Then only guarantee,
	 * reason and hidden are filled. */
	int (*settle)(struct connector *c, const struct source_spec *source,
		      const struct schema *schema,
		      const struct watermark_spec *mark,
		      const struct watermark *from, struct settled *out,
		      struct error *err);
	/* Cut about `rows` rows off the beginning of a range, in the mark's
	 * order. Rows of one mark stay together, so there may be many more.
	 * Counts the present rows. */
	int (*cut)(struct connector *c, const struct source_spec *source,
		   const struct watermark_spec *mark, const struct range *range,
		   int64_t rows, struct range_cut *out, struct error *err);
	/* Begin a pass; `scan` and all it points to outlive the pass. NULL
	 * marks under NULLS_ERROR: DATA with count and a sample key. */
	int (*scan)(struct connector *c, const struct scan *scan,
		    struct error *err);
	/* Append the statements of the pass that scan() has begun, as they are
	 * for first pages of `rows` rows; none is read. */
	int (*explain)(struct connector *c, size_t rows,
		       struct explanation *out, struct error *err);
	/* Fill the reset batch with the next rows, in position order, up to its
	 * bounds. Set watermark, n_tail, progress. n_rows == 0 is the end of
	 * the pass, and watermark is then the pass's final mark. It may be
	 * newer than the last batch's, e.g. with an xmin ceiling or a pending
	 * sequence. */
	int (*next)(struct connector *c, struct batch *out, struct error *err);
	/* Between two batches: leave neither a statement nor a snapshot open
	 * at a server that others use; next() goes on behind the last batch.
	 * In a pass by keys, over the whole table or in no order it does
	 * nothing. */
	int (*pause)(struct connector *c, struct error *err);
	/* Answer the questions; the rest of `out` is left as it is. It is an
	 * error if rights are missing or no replica answers, and CONFIG if an
	 * answer will never be possible. Not in the middle of a pass. */
	int (*pressure)(struct connector *c, const struct pressure_question *q,
			struct pressure *out, struct error *err);
	/* Make a call that is under way in another thread fail soon. */
	void (*interrupt)(struct connector *c);
	void (*close)(struct connector *c); /* NULL is fine */
};

#endif
