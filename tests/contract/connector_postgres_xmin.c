#include "connector_world.h"
const struct CMUnitTest suite_postgres_xmin[] = { { 0 } };
const size_t suite_postgres_xmin_n = 0;
