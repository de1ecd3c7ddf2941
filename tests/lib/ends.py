"""The two ends of a pipeline, read without any code of Tidemark's.

An end answers with rows() of some columns as canonical Python values, the names
of all its tables, and the stored watermark. It also has a checksum that moves
when any row is rewritten or changed.
"""

import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
import threading

import duckdb
import psycopg

from bench import password_connection
from canon import canon_row, quote, quote_table, split_table
from servers import APP


class PostgresEnd:
    """A database of one of our clusters."""

    engine = "postgres"
    schema = "public"

    def __init__(self, cluster, database):
        self.cluster, self.database = cluster, database

    def connection(self):
        return password_connection(
            self.cluster.url(self.database, password=None))

    def url(self):
        return self.cluster.url(self.database, password=None)

    def connect(self, **more):
        """By the socket, where no password has to be worked out."""
        more.setdefault("application_name", "test")
        return self.cluster.connect(self.database, APP, **more)

    def session(self):
        """A session of this thread's own: kept, where that is wanted."""
        return self.connect()

    def query(self, sql):
        with self.session() as db:
            return db.execute(sql).fetchall()

    def execute(self, *statements):
        with self.session() as db:
            for sql in statements:
                db.execute(sql)

    def rows(self, table, columns):
        """`columns`: name -> kind; `table` may be a subquery."""
        names = ", ".join(quote(name) for name in columns)
        if not table.startswith("("):
            table = quote_table(table)
        fetched = self.query(f"SELECT {names} FROM {table}")
        return [canon_row(row, columns.values()) for row in fetched]

    def tables(self):
        return [row[0] for row in self.query(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'v', 'm', 'p')"
            # A crash leaves temporary tables to autovacuum.
            " AND relpersistence <> 't' AND relnamespace NOT IN ('pg_catalog'::regnamespace,"
            " 'information_schema'::regnamespace,"
            " 'pg_toast'::regnamespace) ")]

    def columns_of(self, table):
        """Column name -> declared type."""
        return dict(self.query(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
            f" WHERE attrelid = '{quote_table(table)}'::regclass"
            " AND attnum > 0 AND NOT attisdropped"))

    def physical(self, table):
        """Where each row lies and who wrote it: moves when it is rewritten."""
        if self.is_view(table):
            table = self.raw(table)
        return sorted(self.query(
            "SELECT tableoid::bigint, ctid::text, xmin::text FROM "
            + quote_table(table)))

    def literal(self, kind, value):
        """A mark as SQL; `kind`: timestamptz or bigint."""
        return f"'{value}'::{kind}"

    def is_view(self, table):
        return self.query("SELECT relkind = 'v' FROM pg_class WHERE oid = "
                          f"'{quote_table(table)}'::regclass")[0][0]

    @staticmethod
    def raw(table):
        *schema, name = split_table(table)
        return ".".join(quote(part) for part in [*schema, name + "_raw"])

    def watermark(self, pipeline, schema="public"):
        found = self.query(
            f"SELECT watermark::text FROM {schema}._tidemark_watermark "
            f"WHERE pipeline = '{pipeline}'")
        return json.loads(found[0][0]) if found and found[0][0] else None

    def sessions(self):
        """Sessions that are not the tests' own."""
        return self.cluster.order(
            "SELECT pid, application_name, state, query FROM"
            " pg_stat_activity WHERE datname = %s AND application_name"
            " <> 'test' AND backend_type = 'client backend'",
            [self.database]).fetchall()


class KeptEnd(PostgresEnd):
    """An end that a test looks into time and again. It keeps its session,
    because a session costs the server more than the question. Settings of a
    statement do not outlive it."""

    def __init__(self, cluster, database):
        super().__init__(cluster, database)
        self.kept = threading.local()
        self.made = []

    @contextlib.contextmanager
    def session(self):
        db = getattr(self.kept, "db", None)
        if db is None or not self.lives(db):
            # A statement may be prepared for a table that is altered since.
            db = self.kept.db = self.connect(prepare_threshold=None)
            self.made.append(db)
        try:
            yield db
            db.commit()
        finally:
            if not db.closed:
                db.rollback()
                db.execute("DISCARD ALL")

    @staticmethod
    def lives(db):
        """Tests end sessions, and restart servers."""
        try:
            return not db.closed and bool(db.execute("SELECT 1"))
        except psycopg.OperationalError:
            return False

    def hang_up(self):
        for db in self.made:
            db.close()


class BackquoteEnd:
    """MySQL, ClickHouse and BigQuery quote names alike."""

    @staticmethod
    def raw(table):
        return PostgresEnd.raw(table)

    def watermark(self, pipeline, schema=None):
        found = self.query(
            f"SELECT watermark FROM `{schema or self.schema}`"
            f"._tidemark_watermark WHERE pipeline = '{pipeline}'")
        return json.loads(found[0][0]) if found and found[0][0] else None


class MysqlEnd(BackquoteEnd):
    """A database of a MariaDB or MySQL server."""

    def __init__(self, server, database):
        self.server, self.database = server, database
        self.engine, self.schema = server.name, database

    def connection(self):
        return password_connection(
            self.server.url(self.database, password=None))

    def url(self, **more):
        return self.server.url(self.database, password=None, **more)

    def connect(self):
        db = self.server.admin(self.database)
        with db.cursor() as cursor:
            cursor.execute("SET time_zone = '+00:00'")
        return db

    def query(self, sql):
        with self.connect() as db, db.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def execute(self, *statements):
        with self.connect() as db, db.cursor() as cursor:
            for sql in statements:
                cursor.execute(sql)

    def rows(self, table, columns):
        names = ", ".join(f"`{name}`" for name in columns)
        if not table.startswith("("):
            table = f"`{split_table(table)[-1]}`"
        return [canon_row(row, columns.values()) for row in
                self.query(f"SELECT {names} FROM {table}")]

    def tables(self):
        return [row[0] for row in self.query("SHOW TABLES")]

    def columns_of(self, table):
        """Column name -> declared type."""
        return dict(self.query(
            "SELECT column_name, column_type FROM information_schema.columns"
            f" WHERE table_schema = '{self.database}'"
            f" AND table_name = '{split_table(table)[-1]}'"))

    def physical(self, table):
        """How many rows of the table the engine has written so far. Only this
        number moves when a row is rewritten unchanged. The server neither
        counts nor writes a row that it finds to be the same by itself."""
        if self.is_view(table):
            table = self.raw(table)
        name = split_table(table)[-1]
        counter = self.server.written_sql % (self.database, name)
        return [int(row[0]) for row in self.query(counter)]

    def is_view(self, table):
        found = self.query(
            "SELECT table_type FROM information_schema.tables"
            f" WHERE table_schema = '{self.database}'"
            f" AND table_name = '{split_table(table)[-1]}'")
        return found[0][0] == "VIEW"

    def literal(self, kind, value):
        """A mark as SQL; `kind`: timestamptz or bigint."""
        if kind == "bigint":
            return str(int(value))
        return "timestamp '%s'" % value.removesuffix("+00")

    def sessions(self):
        """Sessions that are not the tests' own."""
        return self.query(
            "SELECT id, command, state FROM information_schema.processlist "
            f"WHERE user = '{APP}' AND db = '{self.database}'")


class ClickhouseEnd(BackquoteEnd):
    """A database of a ClickHouse server, read through the views that users
    read."""

    engine = "clickhouse"

    def __init__(self, server, database):
        self.server, self.database = server, database
        self.schema = database

    def connection(self):
        return password_connection(self.url())

    def url(self):
        return self.server.url(self.database, password=None)

    def query(self, sql):
        return self.server.query(self.database, sql)

    def execute(self, *statements):
        for sql in statements:
            self.server.execute(self.database, sql)

    @staticmethod
    def expression(name, kind):
        # As JSON, bytes would have to be UTF-8 and numbers fit a double.
        column = f"`{name}`"
        return f"hex({column})" if kind == "bytes" else f"toString({column})"

    @staticmethod
    def value(text, kind):
        if kind == "bytes" and text is not None:
            return bytes.fromhex(text)
        return text in ("true", "1") if kind == "bool" and text else text

    def rows(self, table, columns):
        names = ", ".join(self.expression(*each) for each in columns.items())
        if not table.startswith("("):
            table = f"`{self.database}`.`{split_table(table)[-1]}`"
        return [canon_row(map(self.value, row, columns.values()),
                          columns.values())
                for row in self.query(f"SELECT {names} FROM {table}")]

    def tables(self):
        return [row[0] for row in self.query("SHOW TABLES")]

    def columns_of(self, table):
        """Column name -> declared type."""
        return dict(self.query(
            "SELECT name, type FROM system.columns WHERE database = "
            f"'{self.database}' AND table = '{split_table(table)[-1]}'"))

    def physical(self, table):
        """The number of the last INSERT, and of mutations: the server itself
        merges parts when it likes, which changes neither."""
        of = (f"database = '{self.database}' AND table = "
              f"'{split_table(table)[-1]}_raw'")
        return self.query(
            "SELECT max(max_block_number), (SELECT count() FROM"
            f" system.mutations WHERE {of}) FROM system.parts"
            f" WHERE active AND {of}")

    def sessions(self):
        """Requests stand for themselves."""
        return []

    def connect(self, **_):
        return None

    def hang_up(self):
        """Nothing is held."""


class FileEnd:
    """SQLite and DuckDB: a file that only this process opens."""

    schema = "main"

    def __init__(self, path):
        self.path = str(path)

    def connection(self):
        return self.url()

    def url(self):
        return f"{self.engine}:{self.path}"

    def execute(self, *statements):
        db = self.connect()
        try:
            for sql in statements:
                db.execute(sql)
            db.commit()
        finally:
            db.close()

    def query(self, sql):
        db = self.connect()
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()

    def sessions(self):
        return []

    def raw(self, table):
        return PostgresEnd.raw(table)

    def watermark(self, pipeline, schema="main"):
        found = self.query(f"SELECT watermark FROM {schema}._tidemark_watermark"
                           f" WHERE pipeline = '{pipeline}'")
        return json.loads(found[0][0]) if found and found[0][0] else None

    def after_crash(self):
        """A copy to look into, so that recovery is left to Tidemark."""
        place = tempfile.TemporaryDirectory()  # its own disk may be full
        for suffix in ("", "-wal", "-shm", "-journal", ".wal"):
            if os.path.exists(self.path + suffix):
                shutil.copy(self.path + suffix, place.name)
        copy = type(self)(os.path.join(place.name,
                                       os.path.basename(self.path)))
        copy.place = place  # goes with the copy
        return copy


class SqliteEnd(FileEnd):
    engine = "sqlite"

    def connect(self):
        return sqlite3.connect(self.path)

    def rows(self, table, columns):
        names = ", ".join(quote(name) for name in columns)
        return [canon_row(row, columns.values()) for row in
                self.query(f"SELECT {names} FROM {quote_table(table)}")]

    def tables(self):
        return [row[0] for row in self.query("SELECT name FROM sqlite_master"
                                             " WHERE type IN ('table', 'view')")]

    def columns_of(self, table):
        name = split_table(table)[-1].replace("'", "''")
        return dict(self.query(
            f"SELECT name, type FROM pragma_table_info('{name}')"))


class DuckdbEnd(FileEnd):
    engine = "duckdb"

    def connect(self):
        # One thread: others would be started for nothing.
        return duckdb.connect(self.path, config={"threads": 1})

    @staticmethod
    def expression(name, kind):
        # The Python module needs pytz for timestamps with a zone.
        column = quote(name)
        if kind == "timestamptz":
            return (f"CASE WHEN isinf({column}) THEN CAST({column} AS VARCHAR)"
                    f" ELSE CAST(epoch_us({column}) AS VARCHAR) END")
        return column

    def rows(self, table, columns):
        names = ", ".join(self.expression(*each) for each in columns.items())
        return [canon_row(row, columns.values()) for row in
                self.query(f"SELECT {names} FROM {quote_table(table)}")]

    def tables(self):
        return [row[0] for row in self.query(
            "SELECT table_name FROM information_schema.tables")]

    def columns_of(self, table):
        schema, name = split_table(table)
        return dict(self.query(
            "SELECT column_name, data_type FROM information_schema.columns "
            f"WHERE table_schema = '{schema}' AND table_name = "
            + "'" + name.replace("'", "''") + "'"))


class BigqueryEnd(BackquoteEnd):
    """A dataset of BigQuery's."""

    engine = "bigquery"

    def __init__(self, front, dataset):
        self.front, self.dataset, self.schema = front, dataset, dataset

    def connection(self):
        return self.url()

    def url(self, **options):
        return self.front.url(self.dataset, **options)

    def query(self, sql):
        return self.front.values(sql, self.dataset)

    def execute(self, *statements):
        for sql in statements:
            self.front.query(sql, self.dataset)

    @staticmethod
    def quote(table):
        return ".".join(f"`{part}`" for part in split_table(table))

    def rows(self, table, columns):
        names = ", ".join(f"`{name}`" for name in columns)
        return [canon_row(row, columns.values()) for row in
                self.query(f"SELECT {names} FROM {self.quote(table)}")]

    def tables(self):
        return self.front.tables(self.dataset)

    def fields(self, table):
        """As the API has them."""
        name = split_table(table)[-1]
        found = self.front.api("GET", f"/datasets/{self.dataset}/tables/{name}")
        return {field["name"]: field for field in found["schema"]["fields"]}

    def columns_of(self, table):
        return {name: field["type"]
                for name, field in self.fields(table).items()}

    def sessions(self):
        return []

    def hang_up(self):
        """Nothing is open between two requests."""


def open_copy(end):
    """`end` as it is on disk now, without touching what it would recover."""
    return end.after_crash() if isinstance(end, FileEnd) else end
