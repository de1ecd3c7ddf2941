"""ClickHouse as a destination, and read again by verify: what only it can get
wrong. The engine is real, what is between it and us is played: see
tests/fakes/clickhouse_front.py.
"""

import re

import pytest

import oracle
import workload
from bench import (EXIT_ACCESS, EXIT_CONFIG, EXIT_DATA, EXIT_DIFFERENT,
                   EXIT_SCHEMA, PASSWORD_VARIABLE, sync_items, written)

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


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("first", (True, False), ids=("first", "delta"))
@pytest.mark.parametrize("what, said", (("html", "text/html"),
                                        ("empty", "X-ClickHouse-Query-Id")))
@pytest.mark.parametrize("statement", ("INSERT", "SELECT|INSERT|CREATE"))
@pytest.mark.thinned(2)
def test_answer_of_a_proxy_is_no_load(tidemark, items, mode, first, what, said,
                                      statement):
    """200: nothing was done, and nothing is said to be."""
    source, destination = items(mode)
    if not first:
        tidemark.run()
        change(source)
    destination.server.fault({"match": statement, "do": what, "times": 100,
                              "skip": 0 if first else 2})
    done = tidemark.run(expect=EXIT_ACCESS)
    assert said in done.err and "ClickHouse's HTTP port" in done.err
    destination.server.fault()
    tidemark.run()
    check(source, destination)


@pytest.mark.parametrize("fault", (
    {"do": "exception"}, {"do": "version", "version": "1"},
    {"do": "version", "version": "\\N"},
    {"do": "version", "version": "\t".join(["\\N"] * 9)},
    {"do": "version", "version": "\t" * 8}), ids=(
        "exception", "narrow", "null", "nulls", "wide"))
@pytest.mark.parametrize("first", (True, False), ids=("first", "delta"))
def test_table_of_another_shape(tidemark, items, fault, first):
    """Whichever question it answers: an error, and the next run is right."""
    source, destination = items(retry={"attempts": 1,
                                       "breaker": {"failures": 0}})
    if not first:
        tidemark.run()
    for skip in range(0 if first else 1, 24, 2):
        change(source)
        destination.server.fault({"match": "SELECT|CHECK", "skip": skip,
                                  **fault})
        assert tidemark("run").code in (0, 1, 3, 4, 5, 6), skip
    destination.server.fault()
    tidemark.run()
    tidemark("verify", "--repair")
    check(source, destination)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("statement", (
    r"CREATE TABLE", r"CREATE OR REPLACE VIEW", r"ALTER TABLE", r"TRUNCATE",
    r"EXCHANGE", r"RENAME", r"DROP TABLE"))
@pytest.mark.thinned(2)
def test_statement_whose_answer_is_lost(tidemark, items, mode, statement):
    """It may come twice, or begin anew: what there is at the end is right."""
    source, destination = items(mode)
    lost = {"match": statement, "do": "lost"}
    destination.server.fault(lost)
    tidemark.run()
    check(source, destination)
    change(source)
    source.execute("ALTER TABLE items ADD COLUMN color TEXT DEFAULT 'red'")
    destination.server.fault(lost)
    tidemark.run()
    check(source, destination)
    colors = destination.query("SELECT DISTINCT color FROM items")
    assert [tuple(row) for row in colors] == [("red",)]


@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert"))
def test_batch_that_arrives_twice(tidemark, items, mode):
    """The table that a batch is brought in knows no tokens."""
    source, destination = items(mode)
    tidemark.run()
    change(source)
    destination.server.fault({"match": r"INSERT INTO `\w+`\."
                              r"`_tidemark_stage", "do": "twice"})
    assert written(tidemark.run().pipeline()) == ROWS // 10
    check(source, destination)
    if mode == "append":
        assert destination.query("SELECT count() FROM items_raw") == [
            (ROWS + ROWS // 10,)]


@pytest.mark.parametrize("fault", (
    {"do": "lost"}, {"do": "status", "status": 503}), ids=("lost", "busy"))
def test_mark_whose_answer_is_lost(tidemark, items, fault):
    """It is read back: a mark that is there is not written again."""
    source, destination = items()
    destination.server.fault({"match": MARK_IN, "skip": 2, **fault})
    tidemark.run()
    check(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


def test_mark_is_read_back(tidemark, items):
    """At once: a run that may not try again ends well, for the mark that it
    was not told of is there. (A connection that dies libcurl makes anew, and
    sends the same again.)"""
    source, destination = items(retry={"attempts": 1})
    destination.server.fault({"match": MARK_IN, "skip": 2, "do": "late"})
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


@pytest.mark.parametrize("mode", ("upsert", "append"))
def test_batch_of_other_rows_is_another(tidemark, items, mode):
    """Its mark was not written, and a row has changed since, of the same mark:
    the server must not take the batch for the one that it has."""
    source, destination = items(mode, rows=20, retry={"attempts": 1})
    destination.server.fault({"match": MARK_IN, "skip": 1, "do": "status",
                              "status": 500, "times": 100})
    tidemark.run(expect=EXIT_ACCESS)
    assert destination.query("SELECT count() FROM items") == [(20,)]
    destination.server.fault()
    source.execute("UPDATE items SET quantity = quantity + 1 WHERE id = 7")
    tidemark.run()
    check(source, destination)


@pytest.mark.parametrize("said, packed", (
    ("?compression=zstd", True), ("?compression=none", False), ("", False)))
def test_rows_are_packed(tidemark, items, said, packed):
    """If the URL says so, or off this machine; and packed anew when the server
    asks for them again."""
    source, destination = items()
    connection = destination.connection()
    connection["url"] += said
    tidemark.connect("warehouse", connection).write_config()
    destination.server.forget()
    destination.server.fault({"match": ROWS_IN, "do": "status", "status": 503,
                              "retry_after": "0"})
    tidemark.run()
    check(source, destination)
    sent = [sql.endswith(" -- zstd") for sql in
            destination.server.statements() if "FORMAT Native" in sql]
    assert sent and set(sent) == {packed}
    tidemark("verify").expect(0)


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
