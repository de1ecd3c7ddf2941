"""The table of workload.py where there are no sequences: in a file of SQLite
or DuckDB, and what MySQL shares with them."""

SQLITE_DDL = """
CREATE TABLE {table} (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    amount DECIMAL(12,2),
    quantity INTEGER NOT NULL DEFAULT 0,
    active BOOLEAN,
    ratio REAL,
    payload BLOB,
    document JSON,
    born DATE,
    seq BIGINT NOT NULL DEFAULT 0,
    updated_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX {table}_updated ON {table} (updated_at, id);
CREATE INDEX {table}_seq ON {table} (seq, id);
"""

SQLITE_FILL = """
INSERT INTO {table} (name, amount, quantity, active, ratio, payload, document,
                     born, seq, updated_at)
WITH RECURSIVE s(n) AS
    (SELECT {first} UNION ALL SELECT n + 1 FROM s WHERE n < {last})
SELECT 'item ' || n || CASE n % 7 WHEN 0 THEN ' ''quoted'' "x" \\ '
                       WHEN 1 THEN ' ünïcödé 🐘'
                       WHEN 2 THEN char(10) || 'break' ELSE '' END,
       CASE WHEN n % 11 = 0 THEN NULL ELSE (n * 137 % 100000) / 100.0 END,
       n % 50, CASE n % 3 WHEN 0 THEN 1 WHEN 1 THEN 0 END,
       CASE WHEN n % 5 = 0 THEN NULL ELSE n / 7.0 END,
       CASE WHEN n % 4 = 0 THEN NULL ELSE randomblob(16) END,
       CASE WHEN n % 6 = 0 THEN NULL
            ELSE json_object('n', n, 'tags', json_array('a', n)) END,
       CASE WHEN n % 9 = 0 THEN NULL
            ELSE date('2020-01-01', (n % 2000) || ' days') END,
       {first_seq} + n - {first}, {stamp}
FROM s
"""

DUCKDB_DDL = """
CREATE SEQUENCE {table}_ids;
CREATE TABLE {table} (
    id BIGINT DEFAULT nextval('{table}_ids') PRIMARY KEY,
    name VARCHAR NOT NULL,
    amount DECIMAL(12,2),
    quantity INTEGER NOT NULL DEFAULT 0,
    active BOOLEAN,
    ratio DOUBLE,
    payload BLOB,
    document JSON,
    born DATE,
    seq BIGINT NOT NULL DEFAULT 0,
    updated_at TIMESTAMPTZ NOT NULL
);
"""

DUCKDB_FILL = """
INSERT INTO {table} (name, amount, quantity, active, ratio, payload, document,
                     born, seq, updated_at)
SELECT 'item ' || n || CASE n % 7 WHEN 0 THEN ' ''quoted'' "x" \\ '
                       WHEN 1 THEN ' ünïcödé 🐘'
                       WHEN 2 THEN chr(10) || 'break' ELSE '' END,
       CASE WHEN n % 11 = 0 THEN NULL ELSE (n * 137 % 100000) / 100.0 END,
       n % 50, CASE n % 3 WHEN 0 THEN true WHEN 1 THEN false END,
       CASE WHEN n % 5 = 0 THEN NULL ELSE n / 7.0 END,
       CASE WHEN n % 4 = 0 THEN NULL ELSE encode(md5(n::VARCHAR)) END,
       CASE WHEN n % 6 = 0 THEN NULL
            ELSE '{{"n": ' || n || ', "tags": ["a", ' || n || ']}}' END,
       CASE WHEN n % 9 = 0 THEN NULL
            ELSE DATE '2020-01-01' + CAST(n % 2000 AS INTEGER) END,
       {first_seq} + n - {first}, {stamp}
FROM range({first}, {last} + 1) r(n)
"""


class WithoutSequences:
    """Numbers go on from the largest there is."""

    labelled = "'c' || id"

    @staticmethod
    def first_seq(source, table):
        return source.query("SELECT coalesce(max(seq), 0) + 1 FROM "
                            + table)[0][0]

    @classmethod
    def next_seq(cls, source, table):
        return f"{cls.first_seq(source, table)} + id"


class SqliteDialect(WithoutSequences):
    ddl, fill = SQLITE_DDL, SQLITE_FILL
    old_stamp = ("strftime('%Y-%m-%d %H:%M:%f+00:00', '2024-03-01 00:00:00.5',"
                 " ((n / 5) / 1000.0) || ' seconds')")
    now = "strftime('%Y-%m-%d %H:%M:%f+00:00', 'now')"

    @staticmethod
    def instant(text):
        return f"'{text}+00:00'"


class DuckdbDialect(WithoutSequences):
    ddl, fill = DUCKDB_DDL, DUCKDB_FILL
    old_stamp = ("TIMESTAMPTZ '2024-03-01 00:00:00.5+00'"
                 " + to_milliseconds(n // 5)")
    now = "now()"

    @staticmethod
    def instant(text):
        return f"TIMESTAMPTZ '{text}+00'"
