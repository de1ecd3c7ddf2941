/*
 * SQL of the user whose value changes by itself: now(), random(), the next
 * number of a sequence. A column made of it can be neither compared nor
 * verified, since two reads of one row never agree. A `where` made of it lets
 * rows come and go without a newer mark.
 *
 * Functions that the engines have are known by their names. Functions of the
 * user's own are tried: a few rows are read several times.
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_CHANGING_H
#define TIDEMARK_CORE_SYNC_PARTS_CHANGING_H

#include "core/plugin/problem.h"
#include "core/settings/settings.h"

/* The first thing in `sql` that changes by itself to that engine, as "now()";
 * NULL: none is known. Caller frees. */
char *changing_find(const char *engine, const char *sql);
/* Does `sql` ask for rows of a table, in a subquery? They change without a word
 * of the row that is read. A function of the user's own may do it unseen. */
bool changing_reads(const char *engine, const char *sql);

/* By the names alone; no connection. CONFIG, naming pipeline, column and
 * expression. */
int changing_refuse(const struct pipeline_settings *p, struct error *err);
/* Problems of expressions and `where`, for `check`. */
void changing_inspect(const struct pipeline_settings *p, struct problems *out);
/* A guarantee of `exact` becomes `lag`, with the reason, where `where` changes
 * by itself, or it or a computed column reads other rows. */
void changing_settled(const struct pipeline_settings *p, struct settled *s);

/* Read a few rows three times, on connections of their own. CONFIG, as above,
 * if a computed column has another value each time while the rest of its row
 * stays as it is. Nothing is read where there are no expressions, or where a
 * read is paid for by its bytes (BigQuery). */
int changing_try(const struct pipeline_settings *p, struct error *err);

#endif
