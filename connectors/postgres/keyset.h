/*
 * The parts of a keyset pass: where each step begins and ends, and what is
 * refused before the first page.
 */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_KEYSET_H
#define TIDEMARK_CONNECTORS_POSTGRES_KEYSET_H

#include "connectors/postgres/postgres.h"
#include "connectors/postgres/query.h"

/* keyset.c: the statement of the step's next page, for a stream. */
void postgres_source_keyset_write_page(struct postgres *c, struct query *q,
				       size_t rows);

/* Append which rows the whole pass may read, by their mark. */
void postgres_source_keyset_write_reach(const struct postgres *c,
					struct query *q);
/* Append which rows the whole pass is going to read: nothing if none is new,
 * unless it looks back. */
void postgres_source_keyset_write_past(const struct postgres *c,
				       struct query *q);
/* Append "mark > value". */
void postgres_source_keyset_compare_mark(const struct postgres *c,
					 struct query *q,
					 const char *comparison,
					 const char *value);
/* Append which rows the range has. */
void postgres_source_keyset_write_range(const struct postgres *c,
					struct query *q,
					const struct range *range);
/* Append where the step begins, before it has read a row. */
void postgres_source_keyset_write_begin(const struct postgres *c,
					struct query *q);
/* Append where the step ends. */
void postgres_source_keyset_write_end(const struct postgres *c,
				      struct query *q);

/* Leaves (partitions, heirs) that the mark does not know hold rows of any age.
 * So they are read one after another up to the mark, before anything else. The
 * running mark's pending lists the leaves that are read, and the position of
 * the pass in the present one. */
int postgres_source_keyset_leaves_begin(struct postgres *c, struct error *err);
void postgres_source_keyset_leaves_resume(
	struct postgres *c); /* where a run was cut short */
void postgres_source_keyset_leaves_note(
	struct postgres *c); /* into the running mark */
void postgres_source_keyset_leaves_next(
	struct postgres *c); /* the one under way is read */
/* The one that the step reads; NULL in any other step. */
const struct leaf *postgres_source_keyset_leaf(const struct postgres *c);

/* NULL marks (by policy) and NULL in the key: DATA with a sample; a key that
 * repeats: SCHEMA. */
int postgres_source_keyset_check(struct postgres *c, struct error *err);

/* Count the rows that tail: hold keeps back, in the step of the tail. */
int postgres_source_keyset_count_tail(struct postgres *c, struct batch *out,
				      struct error *err);

#endif
