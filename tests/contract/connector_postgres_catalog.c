#include "connector_world.h"
const struct CMUnitTest suite_postgres_catalog[] = { { 0 } };
const size_t suite_postgres_catalog_n = 0;
