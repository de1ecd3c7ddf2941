/* A pipeline with a gate, a table of two columns, and a batch of it whose
 * values a test writes down as texts. For the tests of gate.c alone. */
#ifndef TIDEMARK_TESTS_UNIT_GATE_WORLD_H
#define TIDEMARK_TESTS_UNIT_GATE_WORLD_H

#include "core/sync/gate/gate.h"

/* Key column id, and one column v. */
struct world {
	struct pipeline_settings p; /* orders, from public.t */
	struct gate_limit limit;
	struct schema schema;
	struct batch batch;
};

void world_init(struct world *w, enum type_kind kind);
void world_release(struct world *w);
/* One more row; "" is NULL. A number, a date, an instant, a time of day in µs,
 * or what is kept as text: no other type has rows here. */
void world_row(struct world *w, int64_t id, const char *text);
/* "" if all rows pass, else what is said. */
const char *world_check(struct world *w, struct gate *g, struct error *err);

#endif
