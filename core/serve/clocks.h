/*
 * The clock of this machine and that of the state store. Turns go by the
 * store's, so that each `serve` of a store has the same ones.
 */
#ifndef TIDEMARK_CORE_SERVE_CLOCKS_H
#define TIDEMARK_CORE_SERVE_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct store;

/* In µs, and zero at first. */
struct clocks {
	int64_t ahead_us; /* the store's clock less ours */
	int64_t ours_us; /* our clock less the time since the boot */
	int64_t stores_us; /* the store's clock less that */
	bool set; /* ours was, and they were not compared since */
};

/* Now, by the store's clock: as good as the last comparison, which is off by
 * half the time that the store took to answer. */
int64_t clocks_store_now(const struct clocks *c);
/* Was this machine's clock set since the last call? A warning says so. Compare
 * them before anything goes by them. */
bool clocks_look(struct clocks *c);
/* Ask the store. `*was_set`: its clock or ours was since the last comparison,
 * so times that were reckoned between may be wrong; or it is the first one.
 * Returns 0, or the store's error. */
int clocks_compare(struct clocks *c, struct store *store, bool *was_set,
		   struct error *err);

#endif
