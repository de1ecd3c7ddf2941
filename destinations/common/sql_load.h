/*
 * One transaction for a batch and the mark that speaks of it, at an engine that
 * has both (SQLite, PostgreSQL, MySQL and MariaDB). An engine brings the steps.
 * Their order is here, and what follows when one fails:
 *
 * - the row of the mark is compared, fence and all, before a row is written;
 * - so is the table with the one that was prepared;
 * - the rows come before the mark, in the same transaction;
 * - this handle takes the mark for written once the COMMIT is known to be good;
 * - after an error nothing of the transaction is left.
 */
#ifndef TIDEMARK_DESTINATIONS_COMMON_SQL_LOAD_H
#define TIDEMARK_DESTINATIONS_COMMON_SQL_LOAD_H

#include "destinations/common/sql_mark.h"

/* An engine brings these. No slot is NULL. */
struct sql_load_engine {
	/* Before BEGIN: the rows of a batch (or of one of keys, to be removed)
	 * in their order, and what is to receive them. */
	int (*ready)(struct sql_mark *m, const struct batch *b, bool keys,
		     struct error *err);
	/* BEGIN, behind whatever keeps other writers of the pipeline away. With
	 * `rows` to come, nobody alters the table from here to the end. */
	int (*begin)(struct sql_mark *m, bool rows, struct error *err);
	/* Read the pipeline's row; and with `rows` to come, what the table is
	 * like, where one statement tells both: `*table`, which the caller
	 * frees. */
	int (*look)(struct sql_mark *m, bool rows, struct checkpoint *now,
		    char **table, struct error *err);
	/* TRANSIENT: the table is not as it was prepared. */
	int (*same)(struct sql_mark *m, const char *table, struct error *err);
	/* The rows of a batch; those of its keys, to be removed. `next`: the
	 * mark that will be written behind them. */
	int (*rows)(struct sql_mark *m, const struct batch *b,
		    const struct checkpoint *next, struct load_counts *out,
		    struct error *err);
	int (*remove)(struct sql_mark *m, const struct batch *keys,
		      int64_t *removed, struct error *err);
	/* Put the table that a refresh has filled in place of the old one. 1:
	 * the mark is written and all is committed. */
	int (*swap)(struct sql_mark *m, const struct checkpoint *next,
		    struct error *err);
	/* COMMIT behind writer_check(), and find out what became of it if that
	 * is unclear. `next`: the mark that was written, or NULL. */
	int (*commit)(struct sql_mark *m, const struct checkpoint *next,
		      struct error *err);
	/* Behind the end, which has come to `rc`: tidy up, or say more. The
	 * code of all. */
	int (*done)(struct sql_mark *m, const struct batch *b, int rc,
		    struct error *err);
	const char *instant; /* the engine's name for one, "TIMESTAMPTZ" */
};
/* For `done`, where there is nothing to do. */
int sql_load_done(struct sql_mark *m, const struct batch *b, int rc,
		  struct error *err);

/* Slots of struct destination_ops. */
int sql_load(struct destination *base, const struct batch *batch,
	     const struct checkpoint *next, struct load_counts *out,
	     struct error *err);
/* In a transaction of sql_mark_engine.begin. */
int sql_load_preview(struct destination *base, const struct batch *batch,
		     const struct checkpoint *next, struct load_counts *out,
		     struct error *err);
int sql_load_remove(struct destination *base, const struct batch *keys,
		    const struct checkpoint *next, int64_t *removed,
		    struct error *err);
/* For destination_ops.finish. */
int sql_load_swap(struct sql_mark *m, const struct checkpoint *next,
		  struct error *err);

#endif
