"""ClickHouse as a destination, and read again by verify: what only it can get
wrong. The engine is real, what is between it and us is played: see
tests/fakes/clickhouse_front.py.
"""

import pytest

import oracle
import workload
from bench import (EXIT_DATA, EXIT_DIFFERENT, PASSWORD_VARIABLE, sync_items,
                   written)
from clickhouse_items import MODES, NOW, ROWS, check, items


def test_copy_twice_then_verify(tidemark, make_source, make_clickhouse):
    """As a new user would: no config file, and the database is the URL's."""
    source, destination = make_source("postgres"), make_clickhouse()
    workload.create_items(source, rows=ROWS)
    url = destination.server.url(destination.database, password=None).replace(
        "app@", "app:${%s}@" % PASSWORD_VARIABLE)
    which = (source.url(), url, "--table", "public.items", "--watermark",
             "timestamp:updated_at", "--json")
    password = {"PGPASSWORD": tidemark.env[PASSWORD_VARIABLE]}

    def call(command, *more, expect=0):
        return tidemark(command, *which, *more, env=password).expect(
            expect).pipeline()

    first = call("copy", "--verify")
    assert first["rows_inserted"] == ROWS
    assert call("copy")["rows_read"] == 0
    told = call("verify")
    assert told["equal"] and told["pipeline"] == first["pipeline"]
    assert told["destination_rows"] == ROWS
    oracle.check_rows(source.rows("items", oracle.ITEMS), destination.rows(
        f"{destination.schema}.items", oracle.ITEMS))
    destination.execute("DELETE FROM items_raw WHERE id = 7")
    assert call("verify", expect=EXIT_DIFFERENT)["missing"] == 1
    assert call("verify", "--repair")["repaired"] == 1


@pytest.mark.parametrize("mode", MODES)
def test_verify_finds_and_repairs(tidemark, items, mode):
    """Through the view: what a hand has changed, taken away and added."""
    source, destination = items(mode)
    tidemark.run()
    raw = "items_raw"
    destination.execute(
        f"ALTER TABLE {raw} UPDATE name = 'x' WHERE id = 5 "
        "SETTINGS mutations_sync = 2",
        f"DELETE FROM {raw} WHERE id = 7",
        f"INSERT INTO {raw} SELECT * REPLACE (1000 AS id) FROM (SELECT * FROM "
        f"{raw} WHERE id = 9)")
    said = tidemark("verify", "--json").expect(EXIT_DIFFERENT).pipeline()
    assert {(each["key"]["id"], each["kind"]) for each in said["examples"]} \
        == {(5, "different"), (7, "missing"), (1000, "extra")}
    if mode == "replace":  # any run mends it
        return
    tidemark("verify", "--repair", "--deletes", "apply").expect(0)
    check(source, destination)
    tidemark("verify").expect(0)


def test_one_row_a_key(tidemark, items):
    """TABLE shows the newest of what TABLE_raw has."""
    source, destination = items()
    tidemark.run()
    for turn in range(3):
        source.execute(f"UPDATE items SET name = 'v{turn}', updated_at = "
                       f"'2024-06-0{turn + 1} 00:00:00+00:00' WHERE id <= 5")
        assert written(tidemark.run().pipeline()) == 5
        check(source, destination)
    raw, = destination.query("SELECT count(), countIf(id <= 5) FROM items_raw")
    assert int(raw[0]) > ROWS or int(raw[1]) == 5
    engine, = destination.query(
        "SELECT engine_full, sorting_key FROM system.tables WHERE database = "
        "currentDatabase() AND name = 'items_raw'")
    assert "ReplacingMergeTree(_tidemark_version, _tidemark_deleted)" in engine[0]
    assert engine[1].strip("()") == "id"


def test_rows_that_go_and_come_again(tidemark, items):
    source, destination = items()
    tidemark.run()
    kept, = source.query("SELECT * FROM items WHERE id = 8")
    source.execute("DELETE FROM items WHERE id = 8")
    tidemark("verify", "--deletes", "apply", "--repair").expect(0)
    check(source, destination)
    slots = ", ".join("?" * len(kept))
    db = source.connect()
    db.execute(f"INSERT INTO items VALUES ({slots})", kept)
    db.commit()
    db.close()
    tidemark("verify", "--repair").expect(0)
    check(source, destination)


VALUES = r"""
CREATE TABLE items (id bigint PRIMARY KEY, big numeric(76,10), small numeric(5,2),
  middle numeric(30,8), any_ numeric, payload bytea, words text, who uuid,
  born date, at timestamp, clock time, flag boolean, f real, tags text[],
  doc jsonb, updated_at timestamptz NOT NULL);
INSERT INTO items VALUES
 (1, repeat('9', 66)::numeric + 0.0123456789, -999.99,
  -1234567890123456789012.12345678, 123456789.123456789, '\\x00ff0a09275c', '',
  '00112233-4455-6677-8899-aabbccddeeff', '1900-01-01', '1900-01-01 00:00:00',
  '23:59:59.999999', true, 'NaN', '{a,NULL}', '{"b": 1.10}',
  '2024-01-01 00:00:00+00'),
 (2, -0.0000000001, 0, 0.5, 1.10, '', E'tab\tnl\nback\\ ''quote'' ünï 🐘',
  'ffffffff-ffff-ffff-ffff-ffffffffffff', '2299-12-31',
  '2299-12-31 23:59:59.999999', '00:00:00', false, '-0.0', '{}', 'null',
  '2024-01-01 00:00:01+00'),
 (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
  NULL, NULL, '2024-01-01 00:00:02+00')
""".replace("\\\\x", "\\x")


@pytest.mark.parametrize("mode", MODES[:2])
def test_values_come_back_as_they_were(tidemark, source, make_clickhouse, mode):
    """By ClickHouse's own functions, and by verify."""
    destination = make_clickhouse()
    source.execute(VALUES)
    sync_items(tidemark, source, destination, "timestamp", mode)
    tidemark.run()
    tidemark("verify").expect(0)
    said = destination.query(
        "SELECT id, toString(big), toString(small), toString(middle), any_,"
        " hex(payload), words, toString(who), toString(born), toString(at),"
        " clock, tags, doc FROM items ORDER BY id")
    assert said[0][1] == "9" * 66 + ".0123456789"
    assert said[0][2:5] == ("-999.99", "-1234567890123456789012.12345678",
                            "123456789.123456789")
    assert said[0][5:12] == (
        "00FF0A09275C", "", "00112233-4455-6677-8899-aabbccddeeff",
        "1900-01-01", "1900-01-01 00:00:00.000000", "23:59:59.999999",
        "{a,NULL}")
    assert said[1][1] == "-0.0000000001"
    assert said[1][6] == "tab\tnl\nback\\ 'quote' ünï 🐘"
    assert said[2][1:] == (None,) * 12
    types = destination.columns_of("items")
    assert types["big"] == "Nullable(Decimal(76, 10))"
    assert types["who"] == "Nullable(UUID)" and types["id"] == "Int64"
    # Nothing is another than what it was: not NaN, not -0.0, not NULL.
    tidemark("watermark", "reset", "items").expect(0)
    again = tidemark.run().pipeline()
    assert again["rows_unchanged"] == again["rows_read"] == 3


OWN = ("Array(Nullable(Int32))", "Enum8('a' = 1, 'b c' = -2)", "IPv4", "IPv6",
       "UUID", "LowCardinality(Nullable(String))", "Decimal(76, 10)",
       "DateTime64(6, 'UTC')", "Int256", "Map(String, UInt8)", "Bool")
OWN_ROWS = (
    "[1, NULL, -3], 'b c', '192.168.0.1', '2001:db8::1',"
    " '00112233-4455-6677-8899-aabbccddeeff', 'low', '-12345.0123456789',"
    " '1900-01-01 00:00:00.000001', '-9876543210987654321098765', {'k': 7},"
    " true",
    "[], 'a', '0.0.0.0', '::', '00000000-0000-0000-0000-000000000000', NULL,"
    " '0', '2299-12-31 23:59:59.999999', '0', {}, false")


@pytest.mark.parametrize("engine", ("clickhouse", "duckdb"))
def test_types_of_its_own(tidemark, make_clickhouse, make_destination, engine):
    """Kept as they are from one ClickHouse to another; elsewhere their text,
    as ClickHouse prints it. verify reads both."""
    source, destination = make_clickhouse(), make_destination(engine)
    columns = ", ".join(f"c{i} {kind}" for i, kind in enumerate(OWN))
    source.execute(
        f"CREATE TABLE items (id Int64, {columns}, updated_at "
        "DateTime64(6, 'UTC')) ENGINE = MergeTree ORDER BY id",
        *(f"INSERT INTO items VALUES ({i}, {row}, '2024-01-01 00:00:0{i}')"
          for i, row in enumerate(OWN_ROWS)))
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.pipelines["items"]["key"] = ["id"]
    tidemark.write_config().run()
    tidemark("verify").expect(0)
    names = ", ".join(f"toString(c{i})" for i in range(len(OWN)))
    there = source.query(f"SELECT {names} FROM items ORDER BY id")
    if engine == "clickhouse":
        assert destination.query(f"SELECT {names} FROM items ORDER BY id") \
            == there
        types = destination.columns_of("items_raw")
        for i in range(4):
            assert types[f"c{i}"] in (OWN[i], f"Nullable({OWN[i]})",
                                      "Nullable(Enum8('b c' = -2, 'a' = 1))"), \
                types
        assert types["c9"] == "Nullable(String)"
    else:
        said = destination.query("SELECT c0, c1, c2, c3 FROM items ORDER BY id")
        assert [tuple(row) for row in said] == [row[:4] for row in there]
    assert tidemark.run().pipeline()["rows_updated"] == 0


@pytest.mark.parametrize("column, value, word", (
    ("born", "'1899-12-31'", "1900 to 2299"),
    ("born", "'2300-01-01'", "1900 to 2299"),
    ("updated_at", "'2300-01-01 00:00:00+00:00'", "1900 to 2299")))
def test_value_that_does_not_fit(tidemark, items, column, value, word):
    """The row is named, and nothing of its batch is in."""
    source, destination = items(rows=10)
    source.execute(f"UPDATE items SET {column} = {value} WHERE id = 7")
    done = tidemark.run(expect=EXIT_DATA)
    assert word in done.err and "id=7" in done.err, done
    assert len(destination.rows(f"{destination.schema}.items",
                                {"id": "int"})) in (0, 9)


def test_bad_row_is_kept_aside(tidemark, items):
    source, destination = items(rows=10, on_bad_row="dead_letter")
    source.execute("UPDATE items SET born = '1500-01-01' WHERE id = 7")
    assert tidemark.run().pipeline()["rows_dead_lettered"] == 1
    assert len(destination.rows(f"{destination.schema}.items",
                                {"id": "int"})) == 9


@pytest.mark.parametrize("mode", MODES)
def test_new_column_and_wider_type(tidemark, items, mode):
    source, destination = items(mode)
    tidemark.run()
    source.execute("ALTER TABLE items ADD COLUMN color TEXT",
                   "UPDATE items SET color = 'red', updated_at = "
                   f"{NOW} WHERE id = 4")
    tidemark.run()
    columns = {**oracle.ITEMS, "color": "text"}
    oracle.check_equal(source, destination, "items",
                       f"{destination.schema}.items", columns)
    assert tidemark.run().pipeline()["rows_read"] == 0 or mode == "replace"
