/*
 * How a side of a comparison is read: whole, by keys, or past the mark.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_READING_H
#define TIDEMARK_CORE_SYNC_VERIFY_READING_H

#include "core/sync/verify/side.h"

/* The work on each row, in a thread of the side's own. */
struct verify_look {
	const struct compare *compare;
	enum compare_side which;
	long mark; /* column that says that a row is gone; -1: none */
	void (*row)(void *ctx, enum compare_side side, const struct batch *b,
		    size_t row, const struct compare_hash *key,
		    const struct compare_hash *all);
	/* Called some rows before `row`: fetch what it will need; or NULL. */
	void (*soon)(void *ctx, enum compare_side side,
		     const struct compare_hash *key);
	void *ctx;
	struct digest_rows slots;
};

/* Read each row that is wanted of both at the same time; `keys`: of
 * keys_schema. */
int verify_read_both(struct verify_side *sides, bool keys,
		     const struct verify_look *look, struct error *err);
/* One side alone, beside other work of the caller's: */
struct verify_reading;
int verify_reading_start(struct verify_reading **out, struct verify_side *s,
			 const struct verify_look *look, struct error *err);
/* Wait for the next rows, and have them looked at; harmless at the end. */
int verify_reading_step(struct verify_reading *r, struct error *err);
bool verify_reading_is_open(const struct verify_reading *r);
/* How many rows it has given, those that are marked as gone counted. */
uint64_t verify_reading_rows(const struct verify_reading *r);
void verify_reading_end(struct verify_reading *r); /* NULL is fine */
/* Read each row that is wanted. */
int verify_read_whole(struct verify_side *s, const struct verify_look *look,
		      struct error *err);
/* Read the rows that have these keys now. */
int verify_read_keys(struct verify_side *s, const struct strlist *keys,
		     const struct verify_look *look, struct error *err);
/* At the source: read the rows past the mark `from`, wherever they end. SCHEMA
 * if it is the mark of another table. */
int verify_read_past(struct verify_side *s, const struct watermark *from,
		     const struct verify_look *look, struct error *err);

#endif
