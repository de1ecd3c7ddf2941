"""ClickHouse: whose table is it, and who may what: tables, names, rights and
servers that are not as expected. The engine is real, what is between it and us
is played: see tests/fakes/clickhouse_front.py.
"""

import re

import pytest

import oracle
import workload
from bench import (EXIT_ACCESS, EXIT_CONFIG, EXIT_DATA, EXIT_OK, EXIT_SCHEMA,
                   PASSWORD_VARIABLE, sync_items, written)
from clickhouse_items import MODES, NOW, ROWS, change, check, items

# ---- whose table is it

RAW = ("id Int64, name Nullable(String), updated_at Nullable(DateTime64(6, "
       "'UTC')), _tidemark_version UInt64, _tidemark_deleted UInt8, "
       "_tidemark_hash UInt128")
REPLACING = "ReplacingMergeTree(_tidemark_version, _tidemark_deleted)"


@pytest.mark.parametrize("mode", MODES)
def test_column_that_the_source_has_no_more(tidemark, items, mode):
    """Kept, of new rows without a value; these go over straight."""
    source, destination = items(mode)
    tidemark.run()
    source.execute("ALTER TABLE items DROP COLUMN born")
    source.execute(f"UPDATE items SET quantity = 7, updated_at = {NOW} "
                   "WHERE id = 1")
    source.execute("INSERT INTO items (name, quantity, seq, updated_at) "
                   f"VALUES ('new', 1, 900, {NOW})")
    tidemark.run()
    columns = {name: kind for name, kind in oracle.ITEMS.items()
               if name != "born"}
    oracle.check_equal(source, destination, "items",
                       f"{destination.schema}.items", columns)
    if mode in ("upsert", "delete_insert"):
        born = dict(destination.rows(f"{destination.schema}.items",
                                     {"id": "int", "born": "date"}))
        assert born[1] and born[ROWS] and born[ROWS + 1] is None


@pytest.mark.parametrize("made, words", (
    ("CREATE TABLE items (id Int64) ENGINE = MergeTree ORDER BY id",
     ["rename the table"]),
    ("CREATE VIEW items AS SELECT 1 AS id", ["view of somebody else's"]),
    (f"CREATE TABLE items_raw ({RAW}) ENGINE = MergeTree ORDER BY id",
     ["another engine", "MergeTree"]),
    (f"CREATE TABLE items_raw ({RAW}) ENGINE = {REPLACING} ORDER BY (id, name)"
     " SETTINGS allow_nullable_key = 1", ["not sorted by the key"]),
    ("CREATE VIEW items AS SELECT 1 AS id FROM numbers(3) AS more_items_raw",
     ["view of somebody else's"]),
    (f"CREATE TABLE items_raw ({RAW}) ENGINE = {REPLACING} ORDER BY "
     "intDiv(id, 2)", ["not sorted by the key"]),
    (f"CREATE TABLE items_raw ({RAW}) ENGINE = ReplacingMergeTree ORDER BY id",
     ["another engine"]),
    ("CREATE TABLE items_raw (id Int64, _tidemark_version UInt64, "
     f"_tidemark_deleted UInt8) ENGINE = {REPLACING} ORDER BY id",
     ["lacks columns"])))
def test_table_of_another_kind(tidemark, items, made, words):
    """Refused before any row moves, by check as by run."""
    _, destination = items()
    destination.execute(made)
    destination.server.forget()
    done = tidemark.run(expect=EXIT_SCHEMA)
    assert all(word in done.err for word in words), done
    assert words[0] in tidemark("check").expect(EXIT_SCHEMA).out
    assert not [sql for sql in destination.server.statements()
                if not sql.startswith(("SELECT", "CHECK GRANT"))]


@pytest.mark.parametrize("name", ("ba`ck", "back\\slash", "two\nlines",
                                  'quo"te', "dé jà"))
def test_names_that_need_quotes(tidemark, items, name):
    source, destination = items()
    quoted = '"%s"' % name.replace('"', '""')
    tidemark.pipelines["items"]["destination"]["table"] = \
        f"{destination.schema}.{quoted}"
    tidemark.write_config().run()
    change(source)
    assert written(tidemark.run().pipeline()) == ROWS // 10
    tidemark("check").expect(0)
    assert tidemark("verify", "--json").expect(0).pipeline()["equal"]


def test_name_that_is_too_long(tidemark, items):
    _, destination = items()
    tidemark.pipelines["items"]["destination"]["table"] = "t" * 201
    tidemark.write_config()
    for command in ("check", "run"):
        done = tidemark(command).expect(EXIT_SCHEMA)
        assert "200 bytes" in done.out + done.err


@pytest.mark.parametrize("how", ("full-refresh", "replace"))
def test_new_table_keeps_columns_of_others(tidemark, items, how):
    source, destination = items("replace" if how == "replace" else "upsert")
    tidemark.run()
    raw = "items_raw"
    destination.execute(
        f"ALTER TABLE {raw} ADD COLUMN gone Nullable(DateTime64(6, 'UTC'))"
        " COMMENT 'when'",
        f"ALTER TABLE {raw} ADD COLUMN kind String DEFAULT 'new'",
        f"ALTER TABLE {raw} ADD COLUMN twice Int64 ALIAS id * 2")
    tidemark.run(*([] if how == "replace" else ["--full-refresh"]))
    columns = destination.columns_of(raw)
    assert columns["gone"] == "Nullable(DateTime64(6, 'UTC'))"
    assert columns["kind"] == "String" and columns["twice"] == "Int64"
    assert "gone" in destination.columns_of("items")
    check(source, destination)


@pytest.mark.parametrize("mode", ("upsert", "append"))
def test_repair_of_a_wider_column(tidemark, source, make_clickhouse, mode):
    """0.6 of four bytes is not that of eight, however alike they print."""
    destination = make_clickhouse()
    source.execute("CREATE TABLE f (id int PRIMARY KEY, updated_at timestamptz"
                   " NOT NULL, x double precision)",
                   "INSERT INTO f SELECT i, '2024-01-01', i * 0.1 "
                   "FROM generate_series(1, 20) i")
    sync_items(tidemark, source, destination, "timestamp", mode, table="f")
    tidemark.run()
    source.execute("ALTER TABLE f ALTER COLUMN x TYPE real")
    tidemark.run()
    destination.execute("ALTER TABLE f_raw UPDATE x = 77 WHERE id < 6 "
                        "SETTINGS mutations_sync = 2")
    tidemark("verify", "--repair", "--yes").expect(EXIT_OK)
    assert destination.query("SELECT toFloat32(x) FROM f ORDER BY id") == \
        destination.query("SELECT toFloat32(number * 0.1) "
                          "FROM numbers(1, 20)")
    tidemark("verify").expect(EXIT_OK)


@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert"))
def test_defaults_of_columns_of_others(tidemark, items, mode):
    """They are for new rows, whichever way these go; what stands in a row of
    ours that is replaced, stays."""
    source, destination = items(mode, rows=20)
    tidemark.run()
    for column in ("loud String MATERIALIZED upper(name)",
                   "prefix String EPHEMERAL 'by'",
                   "quiet String ALIAS lower(loud)",
                   "both String DEFAULT concat(prefix, loud)",
                   "who LowCardinality(String) DEFAULT concat(both, quiet)",
                   "came DateTime DEFAULT now()", "plain Nullable(Int8)",
                   "n Tuple(id Int64, name String) DEFAULT (7, 'x')",
                   "t JSON DEFAULT '{}'", "byte UInt8 MATERIALIZED quantity",
                   "how_many String DEFAULT toString(byte)"):
        destination.execute(f"ALTER TABLE items_raw ADD COLUMN {column}")
    destination.execute("ALTER TABLE items_raw UPDATE who = 'me' WHERE "
                        "id = 3 SETTINGS mutations_sync = 2")
    change(source)
    workload.fill_items(source, 21, 30, "items", NOW)
    # Not behind all of the rows that are there: it is compared with them.
    source.execute("INSERT INTO items (id, name, quantity, updated_at) VALUES "
                   f"(0, 'zero', 300, {NOW})")
    assert tidemark.run().pipeline()["rows_read"] == 13
    check(source, destination)
    assert destination.query(
        "SELECT count() FROM items_raw WHERE (id > 20 OR id = 0) AND "
        "who = concat('by', upper(name), lower(upper(name))) AND "
        "came > '2020-01-01' AND plain IS NULL AND "
        "how_many = toString(quantity % 256) AND n.id = 7") == [(11,)]
    kept = 1 if mode == "append" else 2
    assert destination.query("SELECT count() FROM items_raw "
                             "WHERE who = 'me'") == [(kept,)]
    destination.server.forget()
    tidemark.run()
    assert not [sql for sql in destination.server.statements()
                if "VIEW" in sql]


def test_default_of_what_marks_a_deleted_row(tidemark, items):
    """Others' columns may say which rows are deleted in words of their own."""
    source, destination = items("upsert", rows=20, soft_delete="gone_at")
    tidemark.run()
    destination.execute("ALTER TABLE items_raw ADD COLUMN gone_at "
                        "Nullable(DateTime64(6, 'UTC'))")
    source.execute("DELETE FROM items WHERE id = 3")
    tidemark("verify", "--repair", "--deletes", "apply", "--max-deletes", "1",
             "--yes").expect(EXIT_OK)
    destination.execute(
        "ALTER TABLE items_raw ADD COLUMN live Bool DEFAULT isNull(gone_at)",
        "ALTER TABLE items_raw ADD COLUMN ours Bool DEFAULT _tidemark_deleted"
        " = 0 AND _tidemark_version > 0",
        "ALTER TABLE items_raw MODIFY COLUMN quantity Nullable(Int128)",
        "ALTER TABLE items_raw ADD COLUMN kind String DEFAULT "
        "toTypeName(quantity)",
        "ALTER TABLE items_raw ADD COLUMN ten Int8 DEFAULT (10 AS number)")
    destination.server.forget()
    source.execute("INSERT INTO items (id, name, updated_at) VALUES "
                   f"(0, 'a', {NOW}), (21, 'b', {NOW})")
    assert written(tidemark.run().pipeline()) == 2
    of = "SELECT live, ours, kind, ten FROM items_raw FINAL WHERE id "
    assert destination.query(of + "= 3") == [(0, 1, "Nullable(Int128)", 10)]
    assert destination.query(of + "IN (0, 21)") == \
        [(1, 1, "Nullable(Int128)", 10)] * 2
    # An older server, which is none of those here, would otherwise take a row
    # that is stored as deleted for one that is not.
    insert, = [sql for sql in destination.server.statements()
               if "\nWITH " in sql]
    assert "enable_global_with_statement = 0" in insert


@pytest.mark.parametrize("columns", (
    ("MODIFY COLUMN quantity LowCardinality(Nullable(Int64))",
     "ADD COLUMN one Int8 DEFAULT 1"),
    ("ADD COLUMN same LowCardinality(Int64) MATERIALIZED id",
     "ADD COLUMN day LowCardinality(Date) DEFAULT toDate(updated_at)",
     "ADD COLUMN text String DEFAULT toString(same)")), ids=("ours", "others"))
def test_types_that_are_not_wise(tidemark, items, columns):
    """A server that makes them when told so takes rows without being told."""
    source, destination = items("upsert", rows=20)
    tidemark.run()
    for column in columns:
        destination.execute(f"ALTER TABLE items_raw {column} SETTINGS "
                            "mutations_sync = 2, "
                            "allow_suspicious_low_cardinality_types = 1")
    change(source)
    source.execute("INSERT INTO items (id, name, updated_at) VALUES "
                   f"(0, 'zero', {NOW})")
    assert written(tidemark.run().pipeline()) == 3
    destination.execute("ALTER TABLE items_raw UPDATE name = 'wrong' WHERE "
                        "id = 5 SETTINGS mutations_sync = 2")
    tidemark("verify", "--repair", "--yes").expect(EXIT_OK)
    check(source, destination)


@pytest.mark.parametrize("how", ("full-refresh", "replace"))
@pytest.mark.parametrize("key", (("id",), ("id", "part")))
def test_refresh_of_another_key(tidemark, make_source, make_clickhouse, how,
                                key):
    """A key's columns take no NULL, the others do: also those that were of
    the other kind before."""
    source, destination = make_source("postgres"), make_clickhouse()
    workload.create_items(source, rows=ROWS)
    source.execute("ALTER TABLE items ADD part int, ADD place text")
    source.execute("UPDATE items SET part = id, place = 'a'")
    sync_items(tidemark, source, destination, "timestamp",
               "replace" if how == "replace" else "upsert")
    pipeline = tidemark.pipelines["items"]
    keys = ("id",), ("id", "part", "place")
    pipeline["key"] = list(keys[key == keys[0]])
    tidemark.write_config().run()
    pipeline["key"] = list(key)
    if key == keys[0]:
        source.execute("UPDATE items SET part = NULL WHERE id < 4",
                       "UPDATE items SET place = NULL WHERE id < 5")
    tidemark.write_config()
    tidemark.run(*([] if how == "replace" else ["--full-refresh"]))
    assert destination.columns_of("items_raw")["part"] == (
        "Int32" if "part" in key else "Nullable(Int32)")
    assert tidemark("verify", "--json").expect(0).pipeline()["equal"]
    tidemark.run()


def test_key_that_is_kept_as_text(tidemark, make_source, make_clickhouse):
    source, destination = make_source("postgres"), make_clickhouse()
    workload.create_items(source, rows=ROWS)
    source.execute("ALTER TABLE items ALTER id DROP IDENTITY IF EXISTS",
                   "ALTER TABLE items ALTER id TYPE numeric")
    sync_items(tidemark, source, destination, "timestamp")
    problems = tidemark("check", "--json").expect(0).pipeline()["problems"]
    assert "key-without-order" in [p["code"] for p in problems]
    tidemark.pipelines["items"]["source"]["expressions"] = {
        "id": "id::numeric(20,0)"}
    tidemark.write_config()
    problems = tidemark("check", "--json").expect(0).pipeline()["problems"]
    assert "key-without-order" not in [p["code"] for p in problems]


def test_check_names_missing_rights(tidemark, items):
    """The front says what CHECK GRANT would say of such a user."""
    _, destination = items()
    url = destination.url().replace("//app@", "//reader@")
    assert "//reader@" in url
    tidemark.connect("warehouse", {**destination.connection(), "url": url})
    problems = tidemark.write_config()("check", "--json").expect(
        0).pipeline()["problems"]
    fixes = [p["fix"] for p in problems if p["code"] == "missing-rights"]
    assert len(fixes) == 4 and all(" TO `reader`" in fix for fix in fixes)
    assert "CREATE TABLE" in fixes[0]


def test_version_that_cannot_be_raised(tidemark, items):
    source, destination = items()
    tidemark.run()
    destination.execute(
        "INSERT INTO items_raw SELECT * REPLACE (18446744073709551615 AS "
        "_tidemark_version) FROM items_raw WHERE id = 3")
    change(source)
    done = tidemark.run(expect=EXIT_DATA)
    assert "_tidemark_version" in done.err and "full-refresh" in done.err
    tidemark.run("--full-refresh")
    check(source, destination)


def test_lowcardinality_is_kept(tidemark, items):
    """A raw table made by hand, of types that hold the source's."""
    source, destination = items()
    tidemark.run()
    destination.execute(
        "ALTER TABLE items_raw MODIFY COLUMN name "
        "LowCardinality(Nullable(String)) SETTINGS mutations_sync = 2")
    change(source)
    assert written(tidemark.run().pipeline()) == 6
    check(source, destination)
    assert destination.columns_of("items_raw")["name"] == \
        "LowCardinality(Nullable(String))"


def test_mode_update_is_refused(tidemark, items):
    items("update")
    assert "replaces whole rows" in tidemark.run(expect=EXIT_CONFIG).err


def test_table_dropped_by_hand(tidemark, items):
    source, destination = items()
    tidemark.run()
    destination.execute("DROP TABLE items_raw SYNC")
    assert tidemark.run().pipeline()["rows_inserted"] == ROWS
    check(source, destination)


def test_table_emptied_by_hand(tidemark, items):
    """The same batches again are not taken for those that were there."""
    source, destination = items()
    tidemark.run()
    destination.execute("TRUNCATE TABLE items_raw")
    assert "emptied" in tidemark.run(expect=EXIT_SCHEMA).err
    tidemark("watermark", "reset", "items").expect(0)
    tidemark.run()
    check(source, destination)


# ---- who may what

def test_wrong_password(tidemark, items):
    _, destination = items()
    tidemark.connect("warehouse", {"url": destination.url(),
                                   "password": "not-it"})
    tidemark.write_config()
    done = tidemark.run(expect=EXIT_ACCESS)
    assert "password is incorrect" in done.err and "not-it" not in done.err


def test_no_right_to_write(tidemark, items):
    _, destination = items()
    tidemark.connect("warehouse", {
        "url": destination.url().replace("app@", "reader@"),
        "password": "${%s}" % PASSWORD_VARIABLE}).write_config()
    assert "grant" in tidemark.run(expect=EXIT_ACCESS).err


@pytest.mark.parametrize("url, code, word", (
    ("clickhouse://app@db.invalid/x", EXIT_CONFIG, "clickhouses://"),
    ("clickhouse://app@127.0.0.1:1/x", EXIT_ACCESS, "127.0.0.1:1"),
    ("clickhouse://app@127.0.0.1/x?compresion=1", EXIT_CONFIG, "compresion"),
    ("clickhouse://app@127.0.0.1/x?compression=gzip", EXIT_CONFIG, "zstd or")))
def test_url(tidemark, items, url, code, word):
    items()
    tidemark.connect("warehouse", url).write_config()
    assert word in tidemark.run(expect=code).err


def test_no_such_database(tidemark, items):
    _, destination = items()
    url = destination.connection()
    url["url"] = re.sub(r"/\w+$", "/absent", url["url"])
    tidemark.connect("warehouse", url).write_config()
    assert "absent" in tidemark.run(expect=EXIT_SCHEMA).err


@pytest.mark.parametrize("version, fine", (
    ("25.8.1.1", True), ("25.7.9.1", False), ("23.8.16.40", False),
    ("18.16.1", False), ("27.1.1.1", True)))
def test_server_of_another_age(tidemark, items, version, fine):
    _, destination = items(rows=3)
    destination.server.fault({"match": r"SELECT concat\(version\(\)",
                              "do": "version", "version": version, "times": 9})
    done = tidemark("run", "--json")
    destination.server.fault()
    assert done.code == (0 if fine else EXIT_ACCESS), done
    assert fine or (version in done.err and "25.8" in done.err)
