#include "connector_world.h"
const struct CMUnitTest suite_postgres_types[] = { { 0 } };
const size_t suite_postgres_types_n = 0;
