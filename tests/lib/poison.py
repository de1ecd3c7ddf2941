"""A target that refuses some rows of workload.py's table, whichever way its
engine can: by a CHECK, or by NOT NULL."""

import sqlite3

from canon import quote_table, split_table

REASON = {"postgres": "quantity_not_below_zero", "mariadb": "quantity_not_be",
          "mysql": "quantity_not_below_zero", "sqlite": "quantity",
          "clickhouse": "quantity_not_below_zero",
          "duckdb": "amount"}


def refuse_below_zero(end, table):
    """Rows whose quantity is below zero, and amount NULL, are bad from now on.
    `table` was made by a run and is not empty."""
    if end.engine in ("mariadb", "mysql"):
        name = split_table(table)[-1]
        end.execute(f"ALTER TABLE `{name}` ADD CONSTRAINT "
                    "quantity_not_below_zero CHECK (quantity >= 0)")
    elif end.engine == "postgres":
        end.execute(f"ALTER TABLE {quote_table(table)} ADD CONSTRAINT "
                    "quantity_not_below_zero CHECK (quantity >= 0)")
    elif end.engine == "clickhouse":
        name = split_table(table)[-1].removesuffix("_raw") + "_raw"
        end.execute(f"ALTER TABLE `{name}` ADD CONSTRAINT "
                    "quantity_not_below_zero CHECK quantity >= 0")
    elif end.engine == "duckdb":
        end.execute(f"ALTER TABLE {quote_table(table)} ALTER COLUMN amount "
                    "SET NOT NULL")
    else:
        refuse_in_sqlite(end, split_table(table)[-1])


def refuse_in_sqlite(end, name):
    """SQLite adds no constraint to a table that is there."""
    db = sqlite3.connect(end.path, isolation_level=None)
    (sql,), = db.execute("SELECT sql FROM sqlite_master WHERE type = 'table' "
                         "AND name = ?", [name]).fetchall()
    closing = sql.rindex(")")
    mended = (sql[:closing] + ", CHECK (quantity >= 0)" + sql[closing:])
    version, = db.execute("PRAGMA schema_version").fetchone()
    db.execute("PRAGMA writable_schema = ON")
    db.execute("UPDATE sqlite_master SET sql = ? WHERE type = 'table' AND "
               "name = ?", [mended, name])
    db.execute(f"PRAGMA schema_version = {version + 1}")
    db.close()


def poison(source, where, table="items"):
    """Rows that such a target refuses; their marks move."""
    change(source, where, "quantity = -1, amount = NULL", table)


def mend(source, where, table="items"):
    change(source, where, "quantity = 1, amount = 1", table)


def change(source, where, what, table):
    import workload
    of = workload.dialect(source)
    source.execute(f"UPDATE {table} SET {what}, updated_at = {of.now}, "
                   f"seq = {of.next_seq(source, table)} WHERE {where}")
