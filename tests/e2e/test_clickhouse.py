"""ClickHouse as a destination, and read again by verify: what only it can get
wrong. The engine is real, what is between it and us is played: see
tests/fakes/clickhouse_front.py.
"""

import json
import re
import subprocess

import pytest

import ends
import oracle
import workload
from bench import (EXIT_ACCESS, EXIT_CONFIG, EXIT_DATA, EXIT_DIFFERENT,
                   EXIT_SCHEMA, PASSWORD_VARIABLE, sync_items, written)
from clickhouse_servers import ClickhouseServer

ROWS = 60
MODES = ("upsert", "append", "delete_insert", "replace")
NOW = "'2024-06-01 10:00:00.25+00:00'"


@pytest.fixture
def items(tidemark, make_source, make_clickhouse):
    """A pipeline out of an SQLite file."""
    def make(mode="upsert", rows=ROWS, **settings):
        source, destination = make_source("sqlite"), make_clickhouse()
        workload.create_items(source, rows=rows)
        settings.setdefault("batch", {"rows": 20})
        settings.setdefault("retry", {"attempts": 3, "backoff": "1ms",
                                      "max_backoff": "2ms"})
        sync_items(tidemark, source, destination, "timestamp", mode,
                   **settings)
        return source, destination
    return make


def check(source, destination):
    oracle.check_equal(source, destination, "items",
                       f"{destination.schema}.items", oracle.ITEMS)


def change(source):
    source.execute(f"UPDATE items SET quantity = quantity + 1000, updated_at ="
                   f" {NOW} WHERE id % 10 = 3")


def test_copy_twice_then_verify(tidemark, make_source, make_clickhouse):
    """As a new user would."""
    source, destination = make_source("sqlite"), make_clickhouse()
    workload.create_items(source, rows=ROWS)
    url = destination.server.url(destination.database, password=None).replace(
        "app@", "app:${%s}@" % PASSWORD_VARIABLE)
    args = ("copy", source.url(), url, "--table", "items", "--watermark",
            "timestamp:updated_at", "--verify", "--json")
    first = tidemark(*args).expect(0).pipeline()
    assert first["rows_inserted"] == ROWS and first["guarantee"] == "exact"
    again = tidemark(*args).expect(0).pipeline()
    assert again["rows_read"] == 0
    oracle.check_rows(source.rows("items", oracle.ITEMS), destination.rows(
        f"{destination.schema}.items", oracle.ITEMS))


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


# ---- whose table is it

RAW = ("id Int64, name Nullable(String), updated_at Nullable(DateTime64(6, "
       "'UTC')), _tidemark_version UInt64, _tidemark_deleted UInt8, "
       "_tidemark_hash UInt128")
REPLACING = "ReplacingMergeTree(_tidemark_version, _tidemark_deleted)"


@pytest.mark.parametrize("made, words", (
    ("CREATE TABLE items (id Int64) ENGINE = MergeTree ORDER BY id",
     ["rename the table"]),
    ("CREATE VIEW items AS SELECT 1 AS id", ["view of somebody else's"]),
    (f"CREATE TABLE items_raw ({RAW}) ENGINE = MergeTree ORDER BY id",
     ["another engine", "MergeTree"]),
    (f"CREATE TABLE items_raw ({RAW}) ENGINE = {REPLACING} ORDER BY (id, name)"
     " SETTINGS allow_nullable_key = 1", ["not sorted by the key"]),
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
                if not sql.startswith("SELECT")]


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
    ("clickhouse://app@127.0.0.1/x?compresion=1", EXIT_CONFIG, "compresion")))
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
    destination.server.fault({"match": r"SELECT version\(\)", "do": "version",
                              "version": version, "times": 9})
    done = tidemark("run", "--json")
    destination.server.fault()
    assert done.code == (0 if fine else EXIT_ACCESS), done
    assert fine or (version in done.err and "25.8" in done.err)


# ---- bad days

ROWS_IN = r"INSERT INTO `\w+`\.`items_raw`"
MARK_IN = r"INSERT INTO `\w+`\.`_tidemark_watermark_raw`"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fault", (
    {"do": "status", "status": 503, "retry_after": "0"},
    {"do": "status", "status": 503},
    {"do": "status", "status": 429, "retry_after": "1"},
    {"do": "status", "status": 500},
    {"do": "cut"}, {"do": "lost"}), ids=lambda fault: "-".join(
        str(value) for value in fault.values()))
@pytest.mark.thinned(2)
def test_rows_that_do_not_arrive(tidemark, items, mode, fault):
    """Or whose answer does not: tried again, and there once."""
    source, destination = items(mode)
    destination.server.fault({"match": ROWS_IN + r"|INSERT INTO `\w+`\."
                              r"`_tidemark_stage", "skip": 1, **fault})
    done = tidemark.run()
    assert written(done.pipeline()) >= ROWS - 20
    check(source, destination)
    if mode == "append":
        raw, = destination.query("SELECT count(), uniqExact(id) FROM items_raw")
        assert raw == (ROWS, ROWS) or list(map(int, raw)) == [ROWS, ROWS]
    assert tidemark.run().pipeline()["rows_read"] == 0 or mode == "replace"


@pytest.mark.parametrize("fault", (
    {"do": "lost"}, {"do": "status", "status": 503}), ids=("lost", "busy"))
def test_mark_whose_answer_is_lost(tidemark, items, fault):
    """It is read back: a mark that is there is not written again."""
    source, destination = items()
    destination.server.fault({"match": MARK_IN, "skip": 2, **fault})
    tidemark.run()
    check(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


def test_batch_is_the_same_batch_again(tidemark, items):
    """Its identity is the token by which the server knows it; the mark comes
    after it."""
    source, destination = items(rows=20)
    destination.server.forget()
    destination.server.fault({"match": ROWS_IN, "do": "status",
                              "status": 503})
    tidemark.run()
    check(source, destination)
    said = destination.server.statements()
    tokens = [re.search(r"insert_deduplication_token = '([^']+)'", sql)[1]
              for sql in said if re.match(ROWS_IN, sql)]
    assert len(tokens) == 2 and len(set(tokens)) == 1, tokens
    marks = [i for i, sql in enumerate(said) if re.match(MARK_IN, sql)]
    rows = [i for i, sql in enumerate(said) if re.match(ROWS_IN, sql)]
    assert max(rows) < marks[-1]


def test_token_is_the_servers(make_clickhouse):
    """That the engine does what is built upon: with equal tokens the second
    is not taken, with others it is, whatever the rows."""
    destination = make_clickhouse()
    destination.execute(
        "CREATE TABLE t (id Int64) ENGINE = MergeTree ORDER BY id "
        "SETTINGS non_replicated_deduplication_window = 1000")
    for token, value in (("a", 1), ("a", 2), ("b", 3)):
        destination.execute("INSERT INTO t SETTINGS insert_deduplication_token"
                            f" = '{token}' SELECT {value}")
    assert sorted(int(row[0]) for row in destination.query(
        "SELECT id FROM t")) == [1, 3]


@pytest.mark.parametrize("do", ("exception", "truncated", "html"))
def test_answer_that_is_none(tidemark, items, do):
    """In the middle of the rows that verify reads: an error, and no verdict."""
    source, destination = items()
    tidemark.run()
    destination.server.fault({"match": r"SELECT toUInt8\(1\)", "do": do,
                              "times": 9})
    done = tidemark("verify")
    destination.server.fault()
    assert done.code == EXIT_ACCESS, done
    assert "equal" not in done.out
    if do == "exception":
        assert "Memory limit" in done.err, done
    tidemark("verify").expect(0)
    check(source, destination)


def test_interrupted(tidemark, items):
    """Nothing but what the next run needs is left."""
    _, destination = items()
    tidemark.run("--max-batches", "1")
    assert not [name for name in destination.tables() if "stage" in name]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    where = tmp_path_factory.mktemp("tls")
    paths = where / "cert.pem", where / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
         "2", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost,IP:127.0.0.1", "-out", str(paths[0]),
         "-keyout", str(paths[1])], check=True, capture_output=True)
    return paths


def test_tls(tidemark, make_source, certificate):
    """The certificate is verified: by an authority of the user's, or not at
    all trusted."""
    if ClickhouseServer.missing():
        pytest.skip(ClickhouseServer.missing())
    server = ClickhouseServer(tls=certificate).start()
    try:
        source = make_source("sqlite")
        workload.create_items(source, rows=5)
        destination = ends.ClickhouseEnd(server, "shop")
        sync_items(tidemark, source, destination, "timestamp",
                   to="shop.items", retry={"attempts": 1})
        connection = {"url": server.url("shop", password=None,
                                        scheme="clickhouses"),
                      "password": "${%s}" % PASSWORD_VARIABLE}
        tidemark.connect("warehouse", connection).write_config()
        assert "certificate" in tidemark.run(expect=EXIT_ACCESS).err
        connection["tls"] = {"ca": str(certificate[0])}
        tidemark.connect("warehouse", connection).write_config()
        assert tidemark.run().pipeline()["rows_inserted"] == 5
        assert json.loads(tidemark("verify", "--json").expect(0).out)
    finally:
        server.remove()
