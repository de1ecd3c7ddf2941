/* The facts of the engines of the tree, a file each, and their table. */
#ifndef TIDEMARK_ENGINES_TABLE_H
#define TIDEMARK_ENGINES_TABLE_H

#include "core/base/engine.h"

extern const struct engine engine_postgres;
extern const struct engine engine_mysql;
extern const struct engine engine_sqlite;
extern const struct engine engine_duckdb;
extern const struct engine engine_clickhouse;
extern const struct engine engine_bigquery;

#endif
