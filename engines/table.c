#include "engines/table.h"

#include <stddef.h>

/* In the order in which an error lists them. */
const struct engine *const engine_table[] = {
	&engine_postgres,   &engine_mysql,    &engine_sqlite, &engine_duckdb,
	&engine_clickhouse, &engine_bigquery, NULL,
};
