"""Filling a source with its table, and reading a destination back: by the
engines' own clients, without any code of Tidemark's.
"""

import struct

from ends import quote, quote_table

TABLE, ZEROS = "fidelity", "zeros"
REFUSED_KEY = 7


def backtick(name):
    return f"`{name}`"


def quote_at(end, name):
    return backtick(name) if end.engine in ("mariadb", "mysql") else quote(name)


class Filling:
    """How one engine declares the tables. `lenient` comes before values that
    the server itself would refuse."""

    def __init__(self, key, mark, quote_name, lenient=()):
        self.key, self.mark, self.quote = key, mark, quote_name
        self.lenient = lenient

    def create(self, table, columns):
        cells = "".join(f"{self.quote(each.name)} {each.declared}, "
                        for each in columns)
        return f"CREATE TABLE {table} (id {self.key}, {cells}{self.mark})"

    def insert(self, table, key, cells):
        """`cells`: columns and their values, None for NULL."""
        names = ["id", *(self.quote(column.name) for column, _ in cells)]
        values = [str(key), *(value.sql if value else "NULL"
                              for _, value in cells)]
        return (f"INSERT INTO {table} ({', '.join(names)})"
                f" VALUES ({', '.join(values)})")

    def statements(self, source):
        """All that fills an empty database."""
        yield from source.preparation
        yield self.create(TABLE, source.columns)
        for row in range(source.n_rows()):
            yield self.insert(TABLE, row, [
                (column, column.in_row(row)) for column in source.columns])
        yield from self.lenient
        for table, column, value in source.refused():
            yield self.create(table, [column])
            yield self.insert(table, REFUSED_KEY, [(column, value)])
        if source.nulled():
            yield from self.zeros(source.nulled())

    def zeros(self, nulled):
        """One table of all that `zero_dates: null` makes NULL."""
        yield self.create(ZEROS, [column for column, _ in nulled])
        for row in range(max(len(values) for _, values in nulled)):
            yield self.insert(ZEROS, row, [
                (column, values[min(row, len(values) - 1)])
                for column, values in nulled])


MYSQL_FILLING = Filling(
    "int NOT NULL PRIMARY KEY",
    "updated_at timestamp(6) NOT NULL DEFAULT '2024-01-01 00:00:00.000000',"
    " INDEX (updated_at)", backtick,
    ["SET sql_mode = 'ALLOW_INVALID_DATES'"])
POSTGRES_FILLING = Filling(
    "integer PRIMARY KEY",
    "updated_at timestamptz NOT NULL DEFAULT '2024-01-01'", quote)
FILLINGS = {"mariadb": MYSQL_FILLING, "mysql": MYSQL_FILLING,
            "postgres": POSTGRES_FILLING}


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
        db.execute("SET TimeZone = 'UTC'")
        db.execute("SET search_path = ''")
        types = dict(db.execute(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
            f" WHERE attrelid = '{quote_table(table)}'::regclass"
            " AND attnum > 0 AND NOT attisdropped").fetchall())
        rows = db.execute(
            "SELECT " + ", ".join(map(expression, types, types.values()))
            + f" FROM {quote_table(table)} ORDER BY id").fetchall()
    return types, [dict(zip(types, map(value, row, types.values())))
                   for row in rows]


def read_sqlite(end, table):
    """What lies there, in the type in which it lies there."""
    types = end.columns_of(table)
    rows = end.query("SELECT " + ", ".join(map(quote, types))
                     + f" FROM {quote_table(table)} ORDER BY id")
    return types, [dict(zip(types, row)) for row in rows]


def read_duckdb(end, table):
    """Numbers and bytes as such, instants as the wall clock of UTC, which is
    not put through a zone's doubles; what is left as DuckDB prints it."""
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


READERS = {"postgres": read_postgres, "sqlite": read_sqlite,
           "duckdb": read_duckdb}
