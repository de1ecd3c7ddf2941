#include "connector_world.h"
const struct CMUnitTest suite_postgres_settle[] = { { 0 } };
const size_t suite_postgres_settle_n = 0;
