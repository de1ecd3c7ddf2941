/*
 * The gate: conditions of the config that the rows of a batch have to meet
 * before it is loaded. It is compiled once for a run against the source's
 * columns, and then checked column by column. Nothing is allocated for a row.
 *
 * NULL meets every condition but not_null; NaN is within no bound. Texts are
 * compared by their bytes. `unique` compares a row with those before it in the
 * run, at least GATE_UNIQUE_ROWS of them. Further back a repeated value is not
 * seen, and memory stays flat. One row that comes twice in a run (a re-read)
 * repeats nothing.
 *
 * It knows nothing of destinations. core/sync/run/row_bounds.h checks how many
 * rows a run may bring.
 */
#ifndef TIDEMARK_CORE_SYNC_GATE_GATE_H
#define TIDEMARK_CORE_SYNC_GATE_GATE_H

#include "core/settings/settings.h"

#define GATE_UNIQUE_ROWS 131072

struct gate;

/* Compile the gate for these columns. Faults are added to `problems`, and the
 * gate is then not to be used. SCHEMA: a missing column, or a bound that does
 * not fit its type. Never NULL; `p` and `schema` outlive it. */
struct gate *gate_new(const struct pipeline_settings *p,
		      const struct schema *schema, struct problems *problems);
/* The same for a run: the first of the problems is the error, `*out` NULL. */
int gate_open(struct gate **out, const struct pipeline_settings *p,
	      const struct schema *schema, struct error *err);
void gate_free(struct gate *g); /* NULL is fine */

/* 0, or DATA naming for each condition that does not hold the column, how many
 * rows, and the keys of some. Each batch of a run once, in order. */
int gate_check(struct gate *g, const struct batch *b, struct error *err);

#endif
