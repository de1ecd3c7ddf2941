/* Shared by the files that load the table `orders`. */
#ifndef TIDEMARK_TESTS_CONTRACT_DESTINATION_LOAD_H
#define TIDEMARK_TESTS_CONTRACT_DESTINATION_LOAD_H

#include "destination_suite.h"

#define DAY(d) "2026-01-" d " 12:00:00+00"
#define ALL    "SELECT id, name FROM orders ORDER BY id;"

/* Rows of `orders`: id, name, amount, at. Each load is previewed before, and
 * has to count what that has said. */
struct world *load_world(void **state, enum load_mode mode);

#endif
