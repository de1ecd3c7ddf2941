"""Every source with its table, in the order of docs/types.md."""

from from_bigquery import BIGQUERY_SOURCE
from from_clickhouse import CLICKHOUSE_SOURCE
from from_duckdb import DUCKDB_SOURCE
from from_mysql import MARIADB_SOURCE, MYSQL_SOURCE
from from_postgres import POSTGRES_SOURCE
from from_sqlite import SQLITE_SOURCE

SOURCES = {source.name: source for source in (
    POSTGRES_SOURCE, MARIADB_SOURCE, MYSQL_SOURCE, SQLITE_SOURCE,
    DUCKDB_SOURCE, CLICKHOUSE_SOURCE, BIGQUERY_SOURCE)}
