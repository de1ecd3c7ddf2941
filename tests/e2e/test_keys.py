"""Keys of every shape, and names that need quoting."""

import pytest

import oracle
from bench import EXIT_DATA, EXIT_SCHEMA, sync_items, written

ENGINES = ("postgres", "sqlite", "duckdb", "mariadb", "mysql")
every_engine = pytest.mark.parametrize("engine", ENGINES)

KEYS = {
    # name: (columns, key, kinds, SQL of row n)
    "composite": ("a integer, b text, c date", "a, b, c",
                  {"a": "int", "b": "text", "c": "date"},
                  "n % 7, 'k' || n % 11, date '2024-01-01' + n"),
    "text": ("a text", "a", {"a": "text"},
             "CASE n % 4 WHEN 0 THEN 'ä' WHEN 1 THEN 'B' WHEN 2 THEN 'a b' "
             "ELSE '_' END || n || CASE WHEN n % 3 = 0 THEN '🐘' ELSE ' ' END"),
    "uuid": ("a uuid", "a", {"a": "uuid"}, "md5(n::text)::uuid"),
    "numeric": ("a numeric", "a", {"a": "decimal"}, "(n * 7919 % 1000) / 8.0"),
    "bytea": ("a bytea", "a", {"a": "bytes"}, "decode(md5(n::text), 'hex')"),
    "timestamptz": ("a timestamptz", "a", {"a": "timestamptz"},
                    "timestamptz '2024-01-01Z' + n * interval '1 us'"),
    "smallint": ("a smallint", "a", {"a": "int"}, "n - 300"),
}


@pytest.mark.thinned(3)
@every_engine
@pytest.mark.parametrize("strategy", ("timestamp", "sequence", "xmin"))
@pytest.mark.parametrize("kind", KEYS)
def test_key_types(tidemark, source, make_destination, kind, strategy, engine):
    """All rows tie on the mark, so paging is by the key alone."""
    columns, key, kinds, row = KEYS[kind]
    destination = make_destination(engine)
    source.execute(
        f"CREATE TABLE keyed ({columns}, v integer, seq bigint NOT NULL, "
        f"updated_at timestamptz NOT NULL, PRIMARY KEY ({key}))",
        f"INSERT INTO keyed SELECT {row}, n, 5, '2024-01-01' "
        "FROM generate_series(1, 600) n")
    columns = {**kinds, "v": "int", "updated_at": "timestamptz"}
    sync_items(tidemark, source, destination, strategy, table="keyed",
               batch={"rows": 77})
    assert tidemark.run().pipeline()["rows_inserted"] == 600
    to = f"{destination.schema}.keyed"
    oracle.check_equal(source, destination, "keyed", to, columns, len(kinds))
    assert tidemark.run().pipeline()["rows_read"] == 0
    source.execute("UPDATE keyed SET v = v + 1, seq = 6, "
                   "updated_at = '2024-02-01' WHERE v % 5 = 0")
    assert written(tidemark.run().pipeline()) == 120
    oracle.check_equal(source, destination, "keyed", to, columns, len(kinds))


def test_text_key_under_a_language_collation(tidemark, source, cluster,
                                             make_destination):
    """Paging uses one total order, whatever the column's collation says."""
    destination = make_destination("postgres")
    collation = source.query(
        "SELECT quote_ident(collname) FROM pg_collation WHERE collname IN "
        "('en-x-icu', 'de-x-icu') ORDER BY 1")
    assert collation, "this server has no ICU collations"
    source.execute(
        f"CREATE TABLE words (w text COLLATE {collation[0][0]} PRIMARY KEY, "
        "updated_at timestamptz NOT NULL DEFAULT '2024-01-01')",
        "CREATE INDEX ON words (updated_at)",
        "INSERT INTO words SELECT chr(65 + n % 26) || CASE n % 2 WHEN 0 THEN "
        "'ä' ELSE 'Z' END || lower(chr(65 + n % 7)) || n / 2 || '-' || n % 3 "
        "FROM generate_series(1, 2000) n ON CONFLICT DO NOTHING",
        "INSERT INTO words SELECT lower(w) FROM words ON CONFLICT DO NOTHING")
    sync_items(tidemark, source, destination, "timestamp", table="words",
               batch={"rows": 100})
    tidemark.run()
    oracle.check_equal(source, destination, "words", "public.words",
                       {"w": "text"})


NAMES = ('Order.Lines', 'say "hi"', "it's", 'with space', 'UPPER', 'ünïcödé',
         'select', 'back\\slash', '$1 %s %n {}')


@pytest.mark.thinned(3)
@every_engine
@pytest.mark.parametrize("name", NAMES)
def test_names_that_need_quoting(tidemark, source, make_destination, name,
                                 engine):
    destination = make_destination(engine)
    quoted = '"' + name.replace('"', '""') + '"'
    source.execute(
        f"CREATE SCHEMA {quoted}",
        f"CREATE TABLE {quoted}.{quoted} ({quoted} bigint PRIMARY KEY, "
        "value text, updated_at timestamptz NOT NULL DEFAULT '2024-01-01')",
        f"INSERT INTO {quoted}.{quoted} SELECT n, 'v' || n "
        "FROM generate_series(1, 50) n")
    sync_items(tidemark, source, destination, "timestamp", batch={"rows": 20})
    pipeline = tidemark.pipelines["items"]
    pipeline["source"]["table"] = f"{quoted}.{quoted}"
    to = f"{destination.schema}.{quoted}"
    pipeline["destination"]["table"] = to
    tidemark.write_config().run()
    columns = {name: "int", "value": "text"}
    here = source.query(f"SELECT {quoted}, value FROM {quoted}.{quoted}")
    oracle.check_rows(here, destination.rows(to, columns))
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.thinned(3)
@every_engine
@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert"))
def test_pipelines_with_odd_names(tidemark, source, make_destination, engine,
                                  mode):
    destination = make_destination(engine)
    source.execute("CREATE TABLE t (id int PRIMARY KEY, updated_at timestamptz "
                   "NOT NULL DEFAULT '2024-01-01')",
                   "INSERT INTO t VALUES (1)")
    name = "it's \"odd\" · 🐘"
    sync_items(tidemark, source, destination, "timestamp", mode, name=name,
               table="t")
    tidemark.run(name)
    assert tidemark.run(name).pipeline()["rows_read"] == 0


def test_no_key_is_refused(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    source.execute("CREATE TABLE bare (id int, updated_at timestamptz)",
                   "INSERT INTO bare VALUES (1, '2024-01-01')")
    sync_items(tidemark, source, destination, "timestamp", table="bare")
    error = tidemark.run(expect=EXIT_SCHEMA).pipeline()["error"]["message"]
    assert "bare" in error and "key" in error
    # A key that the config names will do.
    tidemark.pipelines["items"]["key"] = ["id"]
    tidemark.write_config().run()
    assert destination.rows("main.bare", {"id": "int"}) == [(1,)]


@pytest.mark.thinned(2)
@every_engine
@pytest.mark.parametrize("row, code, word", (
    ("NULL", EXIT_DATA, "NULL"),
    ("1", (EXIT_DATA, EXIT_SCHEMA), "id"),
))
def test_bad_keys_are_refused(tidemark, source, make_destination, engine, row,
                              code, word):
    """NULL or repeated key values: named, and nothing is written."""
    destination = make_destination(engine)
    source.execute("CREATE TABLE bare (id int, updated_at timestamptz)",
                   "INSERT INTO bare VALUES (1, '2024-01-01'), "
                   f"(2, '2024-01-01'), ({row}, '2024-01-02')")
    sync_items(tidemark, source, destination, "timestamp", table="bare",
               key=["id"])
    done = tidemark("run", "--json")
    assert done.code in (code if isinstance(code, tuple) else (code,)), done
    message = done.pipeline()["error"]["message"]
    assert "bare" in message and "id" in message and word in message
    to = f"{destination.schema}.bare"
    if "bare" in destination.tables():
        assert destination.rows(to, {"id": "int"}) == []
