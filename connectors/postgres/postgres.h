/*
 * The PostgreSQL connector's own state, shared by its files: what describe
 * found out, and the pass that scan began. postgres.c holds the ops table.
 */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_POSTGRES_H
#define TIDEMARK_CONNECTORS_POSTGRES_POSTGRES_H

#include "clients/pg.h"
#include "connectors/common/paged_pass.h"
#include "connectors/postgres/layout.h"
#include "core/plugin/connector.h"

/* PostgreSQL's part of a pass over pages: timestamp and sequence. */
struct keyset {
	bool cut; /* the page was left among rows that may tie */
	struct leaves leaves; /* the leaves, if it has several */
	json_t *known; /* leaves read up to the mark, or NULL: all */
	size_t leaf; /* the first that is not; leaves.n: none */
};

/* Ranges of blocks, leaf by leaf: xmin. */
struct blocks {
	struct leaves leaves;
	json_t *known; /* leaves that earlier passes have read, or NULL */
	bool *whole; /* by leaf: read without looking at xmin */
	uint64_t mark; /* rows of this transaction or newer are read ... */
	bool everything; /* ... or all of them */
	uint64_t ceiling; /* the mark of the next pass; 0: not taken yet */
	size_t leaf;
	int64_t block; /* where the next extract begins ... */
	int offset; /* ... and in it, the first line number */
	int64_t end; /* the present extract's; -1: no end */
	int64_t last_block; /* the last delivered row's */
	int last_offset;
	int64_t count; /* blocks of the next extract */
	int64_t matched; /* rows of the extract under way */
	int64_t extracts; /* in this pass */
	int64_t held; /* rows of this pass that tail: hold keeps back */
	bool streaming;
	bool in_transaction;
	bool again; /* this is the second pass of the run */
	bool done;
};

/* How far the log must be flushed before the running mark may be handed over;
 * 0: it may. Until then `mark` is handed over. */
struct durable {
	uint64_t unflushed;
	struct watermark mark;
};

struct postgres {
	struct connector base;
	struct pg *pg;
	struct source_layout layout;
	const struct source_spec *described; /* the source of the layout, or
					      * NULL */
	enum strategy strategy; /* it was made for */
	char *mark_column;
	json_t *leaf_list; /* as describe() has found it, or NULL */
	/* As durable.unflushed, of what settle() has found: strategy
	 * sequence. */
	uint64_t unflushed;
	/* settle() found that rows up to the mark may be new: sequence. */
	bool reread;
	bool log_hidden; /* how far the log is flushed cannot be asked */
	bool hashes; /* the session's nested loops are off, for keys */
	struct paged_pass pass; /* xmin: the scan, the running mark, `rows` */
	struct durable durable;
	struct keyset keyset;
	struct blocks blocks;
};

extern const struct connector_ops postgres_connector;

/* pass.c */
void postgres_source_pass_release(struct postgres *c);
/* Leave what a pass has open: its statement, its transaction. */
int postgres_end_pass(struct postgres *c, struct error *err);
/* The layout for this source and mark; read anew if it is another's. */
int postgres_layout(struct postgres *c, const struct source_spec *source,
		    const struct watermark_spec *mark, struct error *err);

/* ahead.c: ask in one message what describe() wants, and identity() and
 * settle() behind it. */
int postgres_source_describe_ahead(struct postgres *c,
				   const struct source_spec *source,
				   const struct watermark_spec *mark,
				   struct error *err);
/* For several tables at once. */
int postgres_foresee(struct connector *base, const struct source_wish *wishes,
		     size_t n, struct error *err);
void postgres_source_identity_ahead(struct pg *pg);
void postgres_source_settle_xmin_ahead(struct postgres *c);

/* rows.c */
/* Append the current row of the stream to the batch. */
int postgres_source_rows_append(struct postgres *c, struct batch *b,
				struct error *err);
/* The server gave up on the statement: name the table, and the row before. */
int postgres_source_rows_stream_failed(const struct postgres *c,
				       const struct batch *b,
				       struct error *err);
/* The named failpoints of a stream; `read` counts the page's rows. */
int postgres_source_rows_failpoints(struct postgres *c, size_t read,
				    struct error *err);

/* keyset.c, keyset_leaves.c */
extern const struct paged_pages postgres_source_pages;
int postgres_source_keyset_begin(struct postgres *c, struct error *err);
void postgres_source_keyset_release(struct keyset *k);

/* blocks.c */
int postgres_source_blocks_begin(struct postgres *c, struct error *err);
int postgres_source_blocks_next(struct postgres *c, struct batch *out,
				struct error *err);
void postgres_source_blocks_release(struct blocks *b);

/* pause.c */
int postgres_pause(struct connector *base, struct error *err);
/* Before a page that follows one that was cut off: no row with the position of
 * the last one was left behind. */
int postgres_source_pause_check_ties(struct postgres *c, size_t first,
				     struct error *err);

/* pressure.c */
/* rights.c: rights that the role lacks; `*readable` false: nothing can be read
 * without them. Behind postgres_layout(). */
int postgres_rights_inspect(struct postgres *c,
			    const struct watermark_spec *mark,
			    struct problems *out, bool *readable,
			    struct error *err);

/* grants.c */
int postgres_grants(const struct connection *conn,
		    const struct source_spec *source,
		    const struct watermark_spec *mark,
		    const struct pressure_question *asked, struct grants *out,
		    struct error *err);

int postgres_pressure(struct connector *base, const struct pressure_question *q,
		      struct pressure *out, struct error *err);

/* lookup.c */
int postgres_source_lookup_next(struct postgres *c, struct batch *out,
				struct error *err);

/* settle.c and settle_*.c */
int postgres_explain(struct connector *base, size_t rows,
		     struct explanation *out, struct error *err);
int postgres_settle(struct connector *base, const struct source_spec *source,
		    const struct schema *schema,
		    const struct watermark_spec *mark,
		    const struct watermark *from, struct settled *out,
		    struct error *err);
int postgres_source_settle_timestamp(struct postgres *c,
				     const struct watermark_spec *mark,
				     const struct watermark *from,
				     struct settled *out, struct error *err);
int postgres_source_settle_sequence(struct postgres *c,
				    const struct source_spec *source,
				    const struct watermark_spec *mark,
				    const struct watermark *from,
				    struct settled *out, struct error *err);
int postgres_source_settle_xmin(struct postgres *c,
				const struct watermark *from,
				struct settled *out, struct error *err);

/* cut.c */
int postgres_cut(struct connector *base, const struct source_spec *source,
		 const struct watermark_spec *mark, const struct range *range,
		 int64_t rows, struct range_cut *out, struct error *err);

/* identity.c, inspect.c, suggest.c */
int postgres_identity(struct connector *base, const struct source_spec *source,
		      json_t **out, struct error *err);
int postgres_inspect(struct connector *base, const struct source_spec *source,
		     const struct watermark_spec *mark,
		     const struct schema *schema, struct problems *out,
		     struct error *err);
int postgres_tables(struct connector *base, struct table_list *out,
		    struct error *err);
int postgres_suggest(struct connector *base, const char *table,
		     enum strategy *strategy, char **column, char **reason,
		     struct error *err);

#endif
