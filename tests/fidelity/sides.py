"""Filling a source with its table, and reading a destination back: by the
engines' own clients, without any code of Tidemark's.
"""

import re
import struct

from canon import quote, quote_table, split_table
from settings import MYSQL_SETTLED, POSTGRES_SETTLED
from warehouses import (backtick, read_bigquery, read_clickhouse,
                        spoiled_clickhouse, trimmed_time)

TABLE, ZEROS = "fidelity", "zeros"


def refused_table(key):
    """Where the row with a value that is refused would go."""
    return f"refused_{key}"


def quote_at(end, *names):
    """A name, or a table with its schema, as the engine of `end` quotes."""
    backticks = end.engine in ("mariadb", "mysql", "clickhouse", "bigquery")
    return ".".join(map(backtick if backticks else quote, names))


class Filling:
    """How one engine declares the table. `settle` undoes what is set at the
    server; `lenient` comes before values that it would refuse; `behind` the
    columns."""

    # pylint: disable-next=too-many-arguments
    def __init__(self, key, mark, quote_name, settle=(), lenient=(),
                 behind=""):
        self.key, self.mark, self.quote = key, mark, quote_name
        self.settle, self.lenient, self.behind = settle, lenient, behind

    def create(self, columns):
        cells = "".join(f"{self.quote(each.name)} {each.declared}, "
                        for each in columns)
        return (f"CREATE TABLE {TABLE} (id {self.key}, {cells}{self.mark})"
                + self.behind)

    def insert(self, source, key):
        """Columns that the server computes are left out, as are NULLs."""
        cells = {self.quote(column.name): value.sql
                 for column in source.columns
                 if (value := source.cell(key, column))
                 and value.sql != "DEFAULT"}
        return (f"INSERT INTO {TABLE} ({', '.join(['id', *cells])})"
                f" VALUES ({', '.join([str(key), *cells.values()])})")

    def statements(self, source):
        """All that fills an empty database."""
        yield from self.settle
        yield from source.preparation
        yield self.create(source.columns)
        for key in range(source.n_plain):
            yield self.insert(source, key)
        yield from self.lenient
        for key in source.special_keys():
            yield self.insert(source, key)


MYSQL_FILLING = Filling(
    "int NOT NULL PRIMARY KEY",
    "updated_at timestamp(6) NOT NULL DEFAULT '2024-01-01 00:00:00.000000',"
    " INDEX (updated_at)", backtick, [MYSQL_SETTLED],
    ["SET sql_mode = 'ALLOW_INVALID_DATES'"])
POSTGRES_FILLING = Filling(
    "integer PRIMARY KEY",
    "updated_at timestamptz NOT NULL DEFAULT '2024-01-01'", quote)
FILE_FILLING = Filling(
    "INTEGER PRIMARY KEY",
    "updated_at TIMESTAMP NOT NULL DEFAULT '2024-01-01 00:00:00'", quote)
CLICKHOUSE_FILLING = Filling(
    "Int32",
    "updated_at DateTime64(6, 'UTC') DEFAULT '2024-01-01 00:00:00'", backtick,
    behind=" ENGINE = MergeTree ORDER BY id")
BIGQUERY_FILLING = Filling(
    "INT64 NOT NULL", "updated_at TIMESTAMP DEFAULT '2024-01-01 00:00:00+00'",
    backtick)
FILLINGS = {"mariadb": MYSQL_FILLING, "mysql": MYSQL_FILLING,
            "postgres": POSTGRES_FILLING, "sqlite": FILE_FILLING,
            "duckdb": FILE_FILLING, "clickhouse": CLICKHOUSE_FILLING,
            "bigquery": BIGQUERY_FILLING}


def read_postgres(end, table):
    """Floats by their bits, CHAR(n) with its spaces, bytes as such; what is
    left as the server prints it, in UTC."""
    def expression(name, declared):
        column = quote(name)
        if declared in ("real", "double precision"):
            return f"float{4 if declared == 'real' else 8}send({column})"
        if declared.startswith("character("):
            return f"bpcharsend({column})"
        if declared in ("boolean", "smallint", "integer", "bigint", "bytea"):
            return column
        return f"{column}::text"

    def value(found, declared):
        if found is None:
            return None
        if declared in ("real", "double precision"):
            return struct.unpack(">f" if declared == "real" else ">d",
                                 found)[0]
        if declared.startswith("character("):
            return found.decode()
        return found

    with end.connect() as db:
        for statement in POSTGRES_SETTLED:
            db.execute(statement)
        types = dict(db.execute(
            "SELECT attname, format_type(atttypid, atttypmod)"
            " FROM pg_attribute WHERE attrelid ="
            f" '{quote_table(table)}'::regclass"
            " AND attnum > 0 AND NOT attisdropped").fetchall())
        rows = db.execute(
            "SELECT " + ", ".join(map(expression, types, types.values()))
            + f" FROM {quote_table(table)} ORDER BY id").fetchall()
    return types, [dict(zip(types, map(value, row, types.values())))
                   for row in rows]


def read_sqlite(end, table):
    """The stored values, in the type in which they are stored."""
    types = end.columns_of(table)
    rows = end.query("SELECT " + ", ".join(map(quote, types))
                     + f" FROM {quote_table(table)} ORDER BY id")
    return types, [dict(zip(types, row)) for row in rows]


def read_duckdb(end, table):
    """Numbers and bytes as such, instants as the wall clock of UTC, which does
    not pass through a zone's doubles. Other values as DuckDB prints them."""
    types = end.columns_of(table)
    plain = ("BOOLEAN", "SMALLINT", "INTEGER", "BIGINT", "UBIGINT", "FLOAT",
             "DOUBLE", "BLOB", "VARCHAR")

    def expression(column, declared):
        if declared in plain:
            return column
        if declared == "TIMESTAMP WITH TIME ZONE":
            return (f"CASE WHEN isinf({column}) THEN CAST({column} AS VARCHAR)"
                    f" ELSE CAST(make_timestamp(epoch_us({column}))"
                    " AS VARCHAR) END")
        return f"CAST({column} AS VARCHAR)"

    cells = [expression(quote(name), declared)
             for name, declared in types.items()]
    db = end.connect()
    try:
        rows = db.execute(f"SELECT {', '.join(cells)} FROM"
                          f" {quote_table(table)} ORDER BY id").fetchall()
    finally:
        db.close()
    return types, [dict(zip(types, row)) for row in rows]


def declared_mysql(db, table):
    """Column types without the display widths that MariaDB still has; its
    JSON is text with a check."""
    with db.cursor() as cursor:
        cursor.execute(
            "SELECT column_name, column_type FROM information_schema.columns"
            " WHERE table_schema = DATABASE() AND table_name = %s"
            " ORDER BY ordinal_position", [split_table(table)[-1]])
        types = {name: re.sub(r"(int|year)\((?!1\))\d+\)", r"\1", declared)
                 for name, declared in cursor.fetchall()}
        cursor.execute(
            "SELECT check_clause FROM information_schema.check_constraints"
            " WHERE constraint_schema = DATABASE()")
        for (clause,) in cursor.fetchall():
            name = re.fullmatch(r"json_valid\(`(.*)`\)", clause)
            if name and types.get(name[1]) == "longtext":
                types[name[1]] = "json"
    return types


def read_mysql(end, table):
    """Numbers, texts and bytes as such, floats as the double that equals
    them, times without zeros at the end."""
    def expression(name, declared):
        column = backtick(name)
        if declared.startswith("bit"):
            return f"{column} + 0"
        if declared == "float":
            return f"CAST({column} AS DOUBLE)"
        if declared.startswith(("decimal", "date", "time", "inet", "uuid")):
            return f"CAST({column} AS CHAR)"
        return column

    def value(found, declared):
        if found is None or not declared.startswith(("date", "time")):
            return found
        return trimmed_time(found)

    with end.connect() as db, db.cursor() as cursor:
        cursor.execute(MYSQL_SETTLED)
        types = declared_mysql(db, table)
        cursor.execute(
            "SELECT " + ", ".join(map(expression, types, types.values()))
            + f" FROM {backtick(split_table(table)[-1])} ORDER BY id")
        return types, [dict(zip(types, map(value, row, types.values())))
                       for row in cursor.fetchall()]


READERS = {"mariadb": read_mysql, "mysql": read_mysql,
           "postgres": read_postgres, "sqlite": read_sqlite,
           "duckdb": read_duckdb, "clickhouse": read_clickhouse,
           "bigquery": read_bigquery}


def spoiled(end, table, columns):
    """Statements that leave no row, but that of NULLs, as it was."""
    if end.engine == "clickhouse":
        return spoiled_clickhouse(end, table, columns)
    target = quote_at(end, end.schema, table)
    cells = ", ".join(f"{quote_at(end, name)} = NULL" for name in columns)
    every = " WHERE TRUE" if end.engine == "bigquery" else ""
    return (f"UPDATE {target} SET {cells}{every}",
            f"DELETE FROM {target} WHERE id = 0")
