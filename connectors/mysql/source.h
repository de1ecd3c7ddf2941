/*
 * The MySQL connector's own state, shared by its files: what describe found
 * out, and the pass that scan began. mysql.c holds the ops table.
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_SOURCE_H
#define TIDEMARK_CONNECTORS_MYSQL_SOURCE_H

#include "clients/mysql.h"
#include "connectors/common/running_mark.h"
#include "connectors/mysql/layout.h"
#include "connectors/mysql/query.h"
#include "core/plugin/connector.h"

/* Steps of a pass, in this order; a batch never holds rows of two. */
enum mysrc_step {
	STEP_NULLS, /* rows without a mark */
	STEP_LAG, /* looking back behind the mark */
	STEP_SETTLED, /* from the mark to the settled point: moves the mark */
	STEP_TAIL, /* past the settled point: comes again */
	STEP_DONE,
};

struct mysrc_pass {
	const struct scan *scan;
	struct running_mark mark;
	enum mysrc_step step;
	struct strlist last; /* position of the last row; empty: step's begin */
	size_t limit; /* of the page under way */
	size_t read; /* its rows so far */
	bool streaming;
	bool open; /* failpoint snapshot_opened has been passed */
	int64_t rows; /* delivered so far */
	double row_bytes; /* on average, so far; 0: unknown */
	bool measured; /* first_mark is set */
	double first_mark; /* for progress alone */
};

struct mysrc {
	struct connector base;
	struct mydb *db;
	char *name; /* of the connection, for messages */
	struct mysrc_layout layout;
	const struct source_spec *described; /* whose layout it is, or NULL */
	enum strategy strategy; /* it was made for */
	char *mark_column;
	json_t *identity; /* as last told, or NULL */
	json_t *looked; /* what settle() saw, for the next run; or NULL */
	struct mysrc_pass pass;
};

extern const struct connector_ops mysql_connector;

/* Leave what a pass has open. */
void mysrc_end_pass(struct mysrc *c);
/* The layout for this source and mark; read anew if it is another's. */
int mysrc_layout_for(struct mysrc *c, const struct source_spec *source,
		     const struct watermark_spec *mark, struct error *err);

/* keyset.c: pages. */
int mysrc_keyset_begin(struct mysrc *c, struct error *err);
int mysrc_keyset_next(struct mysrc *c, struct batch *out, struct error *err);
/* bounds.c: where each step begins (before it has read a row) and ends; which
 * rows the whole pass may read. */
bool mysrc_has_lag(const struct mysrc *c);
void mysrc_write_begin(const struct mysrc *c, struct mysrc_query *q);
void mysrc_write_end(const struct mysrc *c, struct mysrc_query *q);
void mysrc_write_reach(const struct mysrc *c, struct mysrc_query *q);
/* check.c: NULL marks (by policy) and NULL in the key: DATA with a sample; a
 * key that repeats: SCHEMA. */
int mysrc_check(struct mysrc *c, struct error *err);
int mysrc_count_nulls(struct mysrc *c, int64_t *count, struct error *err);
/* A key that more than one row has, as text (caller frees), or NULL. */
int mysrc_find_repeat(struct mysrc *c, char **out, struct error *err);
int mysrc_refuse_repeat(const char *table, const char *key, struct error *err);
/* What tail: hold keeps back, in the step of the tail. */
int mysrc_count_tail(struct mysrc *c, struct batch *out, struct error *err);
/* rows.c */
int mysrc_append(struct mysrc *c, struct batch *b, struct error *err);

int mysrc_settle(struct connector *base, const struct source_spec *source,
		 const struct schema *schema, const struct watermark_spec *mark,
		 const struct watermark *from, struct settled *out,
		 struct error *err);
int mysrc_identity(struct connector *base, const struct source_spec *source,
		   json_t **out, struct error *err);
/* lineage.c: is it still the table of the mark `from`? SCHEMA if it may be
 * another. */
int mysrc_check_lineage(struct mysrc *c, const struct watermark_spec *mark,
			const struct watermark *from, struct error *err);
/* For a source that is not, or whose ids begin anew. */
#define MYSRC_WAY_OUT                                                          \
	"`tidemark run --full-refresh` builds the target anew; after "         \
	"`tidemark watermark reset` the next run reads everything again, and " \
	"rows of the target with higher marks stay"
int mysrc_inspect(struct connector *base, const struct source_spec *source,
		  const struct watermark_spec *mark,
		  const struct schema *schema, struct problems *out,
		  struct error *err);
int mysrc_tables(struct connector *base, struct table_list *out,
		 struct error *err);
int mysrc_suggest(struct connector *base, const char *table,
		  enum strategy *strategy, char **column, char **reason,
		  struct error *err);

#endif
