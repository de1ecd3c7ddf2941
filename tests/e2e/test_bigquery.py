"""BigQuery as a user meets it: loaded, verified, mended, refused with reason.

Against our front (tests/fakes), or against the emulator that
BIGQUERY_EMULATOR_HOST names; what only the front can be made to do is skipped
there.
"""

import json
import os
import re
import signal
import time

import pytest

import bigquery_servers
import oracle
import workload
from bigquery_servers import needs
from bench import (EXIT_ACCESS, EXIT_CONFIG, EXIT_DATA, EXIT_DIFFERENT, EXIT_OK,
                   EXIT_SCHEMA, sync_items, written)
from ends import BigqueryEnd
from servers import wait_for

ROWS = 300


@pytest.fixture
def end(make_destination):
    return make_destination("bigquery")


@pytest.fixture
def items(source):
    workload.create_items(source, rows=ROWS)
    return source


@pytest.fixture
def front(end):
    if not end.front.ours:
        pytest.skip("only our front can be made to do that")
    yield end.front
    end.front.faults()


def check(source, end, pipeline="items"):
    oracle.check_equal(source, end, "items", f"{end.schema}.items",
                       oracle.ITEMS, pipeline=pipeline)


def copy(tidemark, source, end, *more, expect=EXIT_OK, **options):
    """As the first page of the manual has it."""
    url = source.cluster.url(source.database)
    return tidemark("copy", url, end.url(**options), "--table", "public.items",
                    "--watermark", "timestamp:updated_at",
                    *more, env={"PGPASSWORD": None}).expect(expect)


def test_copy_twice_and_verify(tidemark, items, end):
    sync_items(tidemark, items, end, "timestamp")
    assert tidemark.run().pipeline()["rows_inserted"] == ROWS
    again = tidemark.run().pipeline()
    assert again["rows_read"] == 0 and again["outcome"] == "caught_up"
    check(items, end)
    told = tidemark("verify", "--json").expect(EXIT_OK).pipeline()
    assert told["equal"] and told["destination_rows"] == ROWS
    workload.change_items(items, "id % 3 = 0")
    workload.settle(items)
    delta = tidemark.run().pipeline()
    assert delta["rows_updated"] == ROWS // 3
    check(items, end)
    tidemark("verify", "--json").expect(EXIT_OK)


@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert"))
def test_verify_names_and_repairs(tidemark, items, end, mode):
    """A changed, a missing and an extra row; rows that were put there by hand
    go by --deletes apply."""
    sync_items(tidemark, items, end, "sequence", mode)
    tidemark.run()
    table = "items_raw" if mode == "append" else "items"
    end.execute(f"UPDATE {table} SET quantity = -1 WHERE id = 7",
                f"DELETE FROM {table} WHERE id = 8",
                f"INSERT INTO {table} (id, name, quantity, seq, updated_at) "
                "VALUES (9000, 'theirs', 1, 1, TIMESTAMP '2024-01-01')")
    told = tidemark("verify", "--json").expect(EXIT_DIFFERENT).pipeline()
    assert (told["missing"], told["extra"], told["different"]) == (1, 1, 1)
    kinds = {each["key"]["id"]: each["kind"] for each in told["examples"]}
    assert kinds == {7: "different", 8: "missing", 9000: "extra"}
    needs(end, "transactions")
    tidemark("verify", "--repair", "--deletes", "apply",
             "--json").expect(EXIT_OK)
    oracle.check_equal(items, end, "items", f"{end.schema}.items",
                       oracle.ITEMS)


@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert"))
def test_columns_that_are_called_as_we_do(tidemark, source, end, mode):
    """A table's own s and t do not hide what a statement means by them: in
    GoogleSQL the nearer column goes before the farther alias."""
    source.execute("CREATE TABLE items (id bigint PRIMARY KEY, s text, t text,"
                   " seq bigint)", "INSERT INTO items SELECT n, 's', 't', n "
                   "FROM generate_series(1, 5) n")
    sync_items(tidemark, source, end, "sequence", mode)
    tidemark.run()
    source.execute("UPDATE items SET t = 'z', seq = seq + 10 WHERE id < 3")
    assert tidemark.run().pipeline()["rows_read"] == 2
    assert end.query("SELECT COUNT(*) FROM items WHERE t = 'z'") == [(2,)]
    tidemark("verify", "--json").expect(EXIT_OK)


@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert"))
def test_null_is_no_json_null(tidemark, source, end, mode):
    """Though BigQuery has one text for both."""
    source.execute("CREATE TABLE items (id bigint PRIMARY KEY, j jsonb, seq "
                   "bigint)", "INSERT INTO items VALUES (1, NULL, 1), "
                   "(2, 'null', 2), (3, '{}', 3)")
    sync_items(tidemark, source, end, "sequence", mode)
    tidemark.run()
    nulls = "SELECT id FROM items WHERE j IS NULL"
    assert end.query(nulls) == [(1,)]
    tidemark("verify", "--json").expect(EXIT_OK)
    needs(end, "JSON null")
    table = "items_raw" if mode == "append" else "items"
    end.execute(f"UPDATE {table} SET j = PARSE_JSON('null') WHERE id = 1",
                f"UPDATE {table} SET j = NULL WHERE id = 2")
    told = tidemark("verify", "--json").expect(EXIT_DIFFERENT).pipeline()
    assert told["different"] == 2
    tidemark("verify", "--repair").expect(EXIT_OK)
    assert end.query(nulls) == [(1,)]


def test_append_keeps_versions(tidemark, items, end):
    sync_items(tidemark, items, end, "timestamp", "append")
    tidemark.run()
    workload.change_items(items, "id <= 10")
    workload.settle(items)
    assert tidemark.run().pipeline()["rows_inserted"] == 10
    check(items, end)
    assert end.query("SELECT COUNT(*), COUNT(DISTINCT _tidemark_seq) FROM "
                     "items_raw") == [(ROWS + 10, ROWS + 10)]
    kinds = dict(end.query("SELECT table_name, table_type FROM "
                           f"{end.schema}.INFORMATION_SCHEMA.TABLES"))
    assert "VIEW" in kinds["items"]


def test_a_lost_mark_leaves_the_order(tidemark, source, end):
    """What is read again is numbered behind what is there: none is two
    versions' number."""
    source.execute("CREATE TABLE items (id bigint PRIMARY KEY, v text, seq "
                   "bigint)", "INSERT INTO items VALUES (1, 'a', 1)")
    sync_items(tidemark, source, end, "sequence", "append")
    tidemark.run()
    end.execute("DELETE FROM _tidemark_watermark WHERE TRUE")
    source.execute("UPDATE items SET v = 'b', seq = 2")
    tidemark.run()
    assert end.query("SELECT v FROM items") == [("b",)]


def test_replace(tidemark, items, end):
    needs(end, "transactions")
    sync_items(tidemark, items, end, "timestamp", "replace")
    tidemark.run()
    check(items, end)
    items.execute("DELETE FROM items WHERE id > 100")
    tidemark.run()
    check(items, end)


def test_full_refresh_of_another_layout(tidemark, items, end):
    """Types that no ALTER leads to: the table is made anew."""
    needs(end, "transactions")
    sync_items(tidemark, items, end, "timestamp")
    tidemark.run()
    items.execute("ALTER TABLE items ALTER quantity TYPE text")
    assert tidemark("run", "--json").code == EXIT_SCHEMA
    tidemark.run("--full-refresh")
    columns = {**oracle.ITEMS, "quantity": "text"}
    oracle.check_equal(items, end, "items", f"{end.schema}.items", columns)
    assert end.columns_of("items")["quantity"] == "STRING"


def columns_and_mark(end):
    return (end.columns_of("items")["quantity"],
            end.query("SELECT watermark IS NULL FROM _tidemark_watermark"))


@pytest.mark.parametrize("statement,kept", (
    ("CREATE OR REPLACE", True), ("BEGIN", False), ("COMMIT", False)))
def test_table_swap_that_breaks_off(tidemark, items, end, front, statement,
                                    kept):
    """No transaction makes a table: while it may be either, nothing is
    settled, and the next run reads everything again."""
    sync_items(tidemark, items, end, "timestamp",
               retry={"attempts": 1, "backoff": "1ms"})
    tidemark.run()
    items.execute("ALTER TABLE items ALTER quantity TYPE text")
    front.faults({"match": "POST .*v2/projects/[^/]+/jobs",
                  "kind": "statement", "times": 1000, "statement": statement,
                  "within": "CREATE OR REPLACE TABLE"})
    tidemark("run", "--full-refresh", "--json").expect(EXIT_ACCESS)
    assert columns_and_mark(end) == ("INTEGER" if kept else "STRING",
                                     [(True,)])
    front.faults()
    told = tidemark.run(*(["--full-refresh"] if kept else [])).pipeline()
    assert told["rows_read"] == ROWS
    oracle.check_equal(items, end, "items", f"{end.schema}.items",
                       {**oracle.ITEMS, "quantity": "text"})


@pytest.mark.parametrize("statement", ("DELETE", "INSERT", "COMMIT"))
def test_row_swap_that_breaks_off(tidemark, items, end, front, statement):
    """Before and behind each step of it: the old rows stay, with their
    mark."""
    sync_items(tidemark, items, end, "timestamp", "replace")
    tidemark.run()
    before = end.rows("items", oracle.ITEMS), end.query(
        "SELECT watermark FROM _tidemark_watermark")
    workload.change_items(items, "id % 2 = 0")
    front.faults({"match": "POST .*v2/projects/[^/]+/jobs",
                  "kind": "statement", "times": 1000, "statement": statement,
                  "within": "tidemark: built"})
    tidemark("run", "--json").expect(EXIT_ACCESS)
    assert (end.rows("items", oracle.ITEMS), end.query(
        "SELECT watermark FROM _tidemark_watermark")) == before
    front.faults()
    tidemark.run()
    check(items, end)


@pytest.mark.parametrize("change", ("same", "anew"))
def test_a_refresh_keeps_what_others_added(tidemark, items, end, change):
    """Columns that only the table has, with what new rows have there; the one
    that marks deleted rows among them."""
    needs(end, "transactions")
    sync_items(tidemark, items, end, "timestamp",
               soft_delete="gone")
    end.execute("CREATE TABLE items (id INT64 NOT NULL, name STRING, quantity "
                "INT64, seq INT64, updated_at TIMESTAMP, gone BOOL, note "
                "STRING DEFAULT 'new', more STRUCT<a INT64, b STRING>)")
    before = end.front.api("GET", f"/datasets/{end.dataset}/tables/items")
    tidemark.run()
    if change == "anew":
        items.execute("ALTER TABLE items ALTER quantity TYPE text")
    tidemark.run("--full-refresh")
    after = end.front.api("GET", f"/datasets/{end.dataset}/tables/items")
    fields, kept = ({each["name"]: each["type"]
                     for each in table["schema"]["fields"]}
                    for table in (before, after))
    assert {**kept, **fields, "quantity": kept["quantity"]} == kept
    assert set(end.query("SELECT gone, note FROM items")) == {(None, "new")}
    items.execute("DELETE FROM items WHERE id = 7")
    tidemark("verify", "--deletes", "apply").expect(EXIT_OK)
    assert end.query("SELECT id FROM items WHERE gone") == [(7,)]


def test_replace_keeps_what_others_added(tidemark, items, end):
    needs(end, "transactions")
    sync_items(tidemark, items, end, "timestamp", "replace")
    tidemark.run()
    end.execute("ALTER TABLE items ADD COLUMN note STRING")
    tidemark.run()
    assert "note" in end.columns_of("items")


def test_raw_rows_of_another_pipeline(tidemark, items, end):
    """Who appends into items keeps its rows in items_raw: no one else loads
    into that."""
    needs(end, "transactions")
    sync_items(tidemark, items, end, "timestamp", "append")
    tidemark.run()
    other = {**tidemark.pipelines["items"], "load": {"mode": "upsert"},
             "destination": {"connection": "warehouse",
                             "table": f"{end.schema}.items_raw"}}
    tidemark.pipelines = {"others": other}
    tidemark.write_config()
    for more in ((), ("--full-refresh",)):
        said = tidemark.run(*more, expect=EXIT_SCHEMA).pipeline()["error"]
        assert "raw rows" in said["message"]
    assert end.query("SELECT COUNT(*) FROM items_raw") == [(ROWS,)]


@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert"))
def test_numbers_as_keys_are_one_whatever_their_zeros(tidemark, source, end,
                                                      mode):
    source.execute("CREATE TABLE items (id numeric PRIMARY KEY, v text, seq "
                   "bigint)", "INSERT INTO items VALUES (1.0, 'a', 1), "
                   "(-0.50, 'b', 2), (100, 'c', 3), ('NaN', 'd', 4)")
    sync_items(tidemark, source, end, "sequence", mode)
    tidemark.run()
    source.execute("UPDATE items SET id = '1.00', v = 'z', seq = 10 WHERE "
                   "id = 1")
    tidemark.run()
    assert sorted(end.query("SELECT id, v FROM items")) == [
        ("-0.5", "b"), ("1", "z"), ("100", "c"), ("NaN", "d")]
    tidemark("verify", "--json").expect(EXIT_OK)
    source.execute("DELETE FROM items WHERE id = 1")
    needs(end, "transactions")
    tidemark("verify", "--deletes", "apply").expect(EXIT_OK)
    assert end.query("SELECT COUNT(*) FROM items") == [(3,)]


def test_update(tidemark, items, end):
    """Named columns of rows that are there."""
    needs(end, "transactions")
    sync_items(tidemark, items, end, "timestamp")
    tidemark.run()
    end.execute("UPDATE items SET name = 'x' WHERE TRUE",
                "DELETE FROM items WHERE id > 200")
    tidemark.pipelines["items"].update(
        source={**tidemark.pipelines["items"]["source"],
                "columns": ["id", "name", "updated_at"]},
        load={"mode": "update"})
    tidemark.pipelines = {"names": tidemark.pipelines["items"]}
    tidemark.write_config()
    assert tidemark.run().pipeline()["rows_updated"] == 200
    assert sorted(end.rows("items", {"id": "int", "name": "text"})) == sorted(
        row for row in items.rows("items", {"id": "int", "name": "text"})
        if row[0] <= 200)


def test_two_pipelines_share_the_marks(tidemark, items, end):
    """Both write to one table of marks, at the same time: who loses goes
    again."""
    needs(end, "speed")
    tidemark.connect("source", items.connection())
    tidemark.connect("warehouse", end.connection())
    for name in ("one", "two", "three"):
        tidemark.pipeline(
            name, source={"connection": "source", "table": "public.items"},
            destination={"connection": "warehouse", "table": name},
            watermark={"strategy": "sequence", "column": "seq"},
            batch={"rows": 50})
    tidemark.write_config()
    runs = [tidemark.start("run", "--json", name)
            for name in ("one", "two", "three")]
    for run in runs:
        assert run.wait().expect(EXIT_OK).pipeline()["rows_inserted"] == ROWS
    assert end.query("SELECT COUNT(DISTINCT pipeline), MIN(rows_total), "
                     "MAX(rows_total) FROM _tidemark_watermark") == [
                         (3, ROWS, ROWS)]


def test_backfill(tidemark, items, end):
    sync_items(tidemark, items, end, "timestamp")
    tidemark.run()
    end.execute("UPDATE items SET name = 'x' WHERE id < 50")
    tidemark("backfill", "items", "--chunk-rows", "100", "--workers",
             "2").expect(EXIT_OK)
    check(items, end)


def test_dry_run_says_what_it_costs(tidemark, items, end):
    needs(end, "transactions")
    sync_items(tidemark, items, end, "timestamp")
    tidemark.run()
    workload.change_items(items, "id <= 20")
    workload.settle(items)
    before = sorted(end.tables()), end.rows("items", oracle.ITEMS)
    if end.front.ours:
        end.front.set_bytes(12345678)
    told = tidemark("run", "--dry-run", "--json").expect(EXIT_OK).pipeline()
    if end.front.ours:
        end.front.set_bytes(0)
        assert "12345678 bytes" in json.dumps(told["plan"])
    assert (told["rows_updated"], told["rows_inserted"]) == (20, 0)
    assert (sorted(end.tables()), end.rows("items", oracle.ITEMS)) == before
    real = tidemark.run().pipeline()
    assert real["rows_updated"] == 20


@pytest.mark.parametrize("unit", ("hour", "day", "month", "year"))
def test_layout(tidemark, items, end, unit):
    """Partitions by the mark, clusters by the key."""
    needs(end, "layout")
    tidemark.connect("source", items.connection())
    sync_items(tidemark, items, end, "timestamp")
    tidemark.connect("warehouse", end.url(partition=unit))
    tidemark.write_config()
    tidemark.run()
    found = end.front.api("GET", f"/datasets/{end.dataset}/tables/items")
    assert unit.upper() in found["timePartitioning"]["type"]
    assert found["clustering"]["fields"] == ["id"]


def test_layout_without(tidemark, items, end):
    sync_items(tidemark, items, end, "timestamp")
    tidemark.connect("warehouse", end.url(cluster="none"))
    tidemark.write_config().run()
    found = end.front.api("GET", f"/datasets/{end.dataset}/tables/items")
    assert "clustering" not in found and "timePartitioning" not in found


@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert"))
def test_keys_that_are_no_numbers(tidemark, source, end, mode):
    """NaN equals nothing to BigQuery, and yet it is one key, as 0 and -0 are:
    what is read again is there already."""
    needs(end, "NaN")
    source.execute("CREATE TABLE items (fkey float8 PRIMARY KEY, v text, "
                   "seq bigint)", "INSERT INTO items VALUES ('NaN', 'a', 1), "
                   "('-0', 'b', 2), (0.1, 'c', 3)")
    sync_items(tidemark, source, end, "sequence", mode)
    for _ in range(2):
        tidemark.run()
        tidemark("watermark", "reset", "items").expect(EXIT_OK)
    source.execute("UPDATE items SET v = 'z', seq = seq + 10",
                   "UPDATE items SET fkey = 0 WHERE fkey = 0")
    tidemark.run()
    assert sorted(end.query("SELECT CAST(fkey AS STRING), v FROM items"))[
        -1][0].lower() == "nan"
    assert end.query("SELECT COUNT(*), COUNT(DISTINCT v) FROM items") == [
        (3, 1)]
    tidemark("verify", "--json").expect(EXIT_OK)


# ---- large batches, and little memory

def test_large_batches_are_uploaded_in_pieces(tidemark, source, end):
    """Packed, a batch is larger than a piece; the memory does not grow."""
    needs(end, "speed")
    source.execute(
        "CREATE TABLE items (id bigint PRIMARY KEY, name text, seq bigint)",
        "INSERT INTO items SELECT n, (SELECT string_agg(md5(random()::text), "
        "'') FROM generate_series(1, 12 + n % 2)), n "
        "FROM generate_series(1, 60000) n", "CREATE INDEX ON items (seq, id)")
    sync_items(tidemark, source, end, "sequence",
               batch={"rows": 60000, "bytes": "28MiB", "target": "1h"})
    if end.front.ours:
        end.front.log()
    done, peak = tidemark.run_measured()
    assert done.pipeline()["rows_inserted"] == 60000
    columns = {"id": "int", "name": "text", "seq": "int"}
    oracle.check_equal(source, end, "items", f"{end.schema}.items", columns)
    if end.front.ours:
        assert any(line.startswith("PUT /upload") for line in end.front.log())
    if "sanitize" not in tidemark.binary and "ASAN_OPTIONS" not in os.environ:
        assert peak < 160 << 10, f"{peak} KiB"


def test_wide_rows_are_verified(tidemark, source, end):
    """More than one answer may bring: pages are cut, as the service does."""
    needs(end, "sized pages")
    source.execute(
        "CREATE TABLE items (id bigint PRIMARY KEY, name text, seq bigint)",
        "INSERT INTO items SELECT n, repeat(md5(n::text), 60000), n "
        "FROM generate_series(1, 20) n", "CREATE INDEX ON items (seq, id)")
    sync_items(tidemark, source, end, "sequence")
    tidemark.run()
    end.execute("UPDATE items SET name = CONCAT(name, 'x') WHERE id = 7")
    told = tidemark("verify", "--json").expect(EXIT_DIFFERENT).pipeline()
    assert [each["key"]["id"] for each in told["examples"]] == [7]


# ---- what is refused, and what is said of it

def test_no_dataset(tidemark, items, end):
    sync_items(tidemark, items, end, "timestamp")
    tidemark.connect("warehouse", "bigquery://tidemark-test/nowhere")
    tidemark.pipelines["items"]["destination"]["table"] = "items"
    done = tidemark.write_config().run(expect=EXIT_ACCESS)
    said = done.pipeline()["error"]["message"]
    assert "nowhere" in said and "bq mk" in said


def test_wrong_location(tidemark, items, end, front):
    """Where the dataset is not: before a row moves, and with what to do."""
    sync_items(tidemark, items, end, "timestamp")
    tidemark.connect("warehouse", end.url(location="EU"))
    done = tidemark.write_config().run(expect=EXIT_ACCESS)
    said = done.pipeline()["error"]["message"]
    assert "location EU" in said and "?location=" in said
    assert end.tables() == []
    tidemark.connect("warehouse", end.url(location="US")).write_config().run()


@pytest.mark.parametrize("name", ("a.b", "semi;colon", "back`tick", "dollar$",
                                  "_PARTITIONTIME", "_table_x", "n" * 301))
def test_column_names_that_bigquery_refuses(tidemark, source, end, name):
    """Before any table is made; another name is the way out."""
    short = name[:60]
    quoted = '"' + short.replace('"', '""') + '"'
    source.execute(f"CREATE TABLE items (id bigint PRIMARY KEY, {quoted} text,"
                   " updated_at timestamptz DEFAULT now())")
    sync_items(tidemark, source, end, "timestamp")
    if len(name) > 60:
        tidemark.pipelines["items"]["source"]["expressions"] = {name: "1"}
        tidemark.write_config()
    done = tidemark.run(expect=EXIT_SCHEMA)
    said = done.pipeline()["error"]["message"]
    assert "BigQuery" in said and "expressions" in said
    assert end.tables() == []


def test_table_names_that_bigquery_refuses(tidemark, items, end):
    sync_items(tidemark, items, end, "timestamp")
    tidemark.pipelines["items"]["destination"]["table"] = '"it`ems"'
    said = tidemark.write_config().run(expect=EXIT_SCHEMA).pipeline()
    assert "BigQuery does not take the name" in said["error"]["message"]


def test_names_that_are_tidemarks_own(tidemark, items, end):
    sync_items(tidemark, items, end, "timestamp")
    table = tidemark.pipelines["items"]["destination"]["table"]
    for name in ("_tidemark_watermark", "_Tidemark_x"):
        tidemark.pipelines["items"]["destination"]["table"] = name
        said = tidemark.write_config().run(expect=EXIT_CONFIG).pipeline()
        assert "are taken" in said["error"]["message"]
    tidemark.pipelines["items"]["destination"]["table"] = table
    items.execute('ALTER TABLE items ADD "_tidemark_row" text')
    said = tidemark.write_config().run(expect=EXIT_SCHEMA).pipeline()
    assert "_tidemark_row" in said["error"]["message"]
    assert end.tables() == []


def test_table_of_others(tidemark, items, end):
    """Too narrow, a view, a key twice: nothing is written."""
    end.execute("CREATE TABLE items (id INT64, name INT64)")
    sync_items(tidemark, items, end, "timestamp")
    assert tidemark("run", "--json").code == EXIT_SCHEMA
    end.execute("DROP TABLE items", "CREATE VIEW items AS SELECT 1 AS id")
    said = tidemark.run(expect=EXIT_SCHEMA).pipeline()["error"]["message"]
    assert "view" in said
    end.execute("DROP VIEW items", "CREATE TABLE items (id INT64, name STRING)",
                "INSERT INTO items VALUES (1, 'a'), (1, 'b')")
    said = tidemark.run(expect=EXIT_SCHEMA).pipeline()["error"]["message"]
    assert "more than once" in said
    assert "_tidemark_watermark" not in end.tables()


@pytest.mark.parametrize("value", (
    "'infinity'", "'-infinity'", "'10000-01-01'", "'0044-03-15 BC'"))
def test_times_that_bigquery_does_not_have(tidemark, source, end, value):
    """The row is named; with dead letters the others are loaded."""
    source.execute("CREATE TABLE items (id bigint PRIMARY KEY, seq bigint, "
                   "at timestamptz)",
                   "INSERT INTO items VALUES (1, 1, now()), "
                   f"(2, 2, {value}), (3, 3, now())",
                   "CREATE INDEX ON items (seq, id)")
    sync_items(tidemark, source, end, "sequence")
    said = tidemark.run(expect=EXIT_DATA).pipeline()["error"]["message"]
    assert "id=2" in said and "at" in said and "1 to 9999" in said
    tidemark.pipelines["items"]["on_bad_row"] = "dead_letter"
    told = tidemark.write_config().run().pipeline()
    assert (told["rows_inserted"], told["rows_dead_lettered"]) == (2, 1)


def test_wrong_url(tidemark, items, end):
    for url, word in (("bigquery://tidemark-test", "PROJECT/DATASET"),
                      (end.url(partion="day"), "did you mean partition"),
                      (end.url(partition="week"), "allowed are")):
        sync_items(tidemark, items, end, "timestamp")
        tidemark.connect("warehouse", url).write_config()
        done = tidemark("run", "--json").expect(EXIT_CONFIG)
        assert word in done.out + done.err


# ---- the service's bad days

def test_answer_lost_after_the_work(tidemark, items, end, front):
    """The job is looked up by its id, which is taken, and not run again: each
    script of the run has gone under its first id."""
    sync_items(tidemark, items, end, "sequence", "append",
               batch={"rows": 100})
    front.log()
    front.faults(*({"match": "POST .*v2/projects/[^/]+/jobs", "kind": "lost",
                    "skip": n} for n in range(1, 12)))
    told = tidemark.run().pipeline()
    assert told["rows_inserted"] == ROWS
    ids = {match[1] for line in front.log() if (
        match := re.search(r"queries/(tidemark_[0-9a-f]{32}_\d+)", line))}
    assert len(ids) == 3 and all(each.endswith("_1") for each in ids), ids
    assert end.query("SELECT COUNT(*) FROM items_raw") == [(ROWS,)]


@pytest.mark.parametrize("reason,status,code", (
    ("quotaExceeded", 403, EXIT_ACCESS), ("accessDenied", 403, EXIT_ACCESS),
    ("billingNotEnabled", 403, EXIT_ACCESS)))
def test_refusals(tidemark, items, end, front, reason, status, code):
    sync_items(tidemark, items, end, "timestamp")
    front.faults({"match": "POST", "kind": "status", "status": status,
                  "reason": reason, "times": 1000,
                  "message": f"{reason}: planted"})
    said = tidemark.run(expect=code).pipeline()["error"]["message"]
    assert "planted" in said


@pytest.mark.parametrize("kind", ("html", "truncated", "huge"))
def test_answers_that_are_none(tidemark, items, end, front, kind):
    """An error, and neither a crash nor a hang; and then it goes on."""
    sync_items(tidemark, items, end, "timestamp",
               retry={"attempts": 1, "backoff": "1ms"})
    front.faults({"match": "GET .*/queries/", "kind": kind, "times": 1000})
    said = tidemark.run(expect=EXIT_ACCESS).pipeline()["error"]["message"]
    assert len(said) < 1000
    front.faults()
    tidemark.run()
    check(items, end)


@pytest.mark.parametrize("match", (".", "GET .*/queries/", "GET .*/tables/"))
@pytest.mark.parametrize("text", ("{}", '{"jobComplete": 1, "type": 5}'))
def test_somebody_else_answers(tidemark, items, end, front, match, text):
    """JSON, yet nothing of what the API promises: neither a hang nor a word on
    tables that nobody has seen; and then it goes on."""
    sync_items(tidemark, items, end, "timestamp",
               retry={"attempts": 1, "backoff": "1ms"})
    front.faults({"match": match, "kind": "says", "text": text,
                  "times": 1000})
    front.log()
    said = tidemark.run(expect=EXIT_ACCESS).pipeline()["error"]["message"]
    assert "no answer of BigQuery's" in said
    assert len(front.log()) < 100
    front.faults()
    tidemark.run()
    check(items, end)


@pytest.mark.parametrize("status,word", (
    (302, "redirect"), (400, "HTTP 400"), (401, "HTTP 401"),
    (503, "HTTP 503"), (999, "HTTP 999")))
def test_proxy_answers(tidemark, items, end, front, status, word):
    """With its status, and the words on its page."""
    sync_items(tidemark, items, end, "timestamp",
               retry={"attempts": 1, "backoff": "1ms"})
    front.faults({"match": ".", "kind": "says", "times": 1000,
                  "status": status, "type": "text/html",
                  "text": "<h1>ask the doorman</h1>",
                  "headers": {"Location": "https://elsewhere.example/"}})
    said = tidemark.run(expect=EXIT_ACCESS).pipeline()["error"]["message"]
    assert word in said and "doorman" in said


def test_table_of_a_source_that_is_none(tidemark, end, front,
                                        make_destination):
    """As one that is read."""
    types_source(end)
    other = make_destination("sqlite")
    of_types(tidemark, end, other, f"{other.schema}.items")
    tidemark.pipelines["items"]["retry"] = {"attempts": 1, "backoff": "1ms"}
    front.faults({"match": "GET .*/tables/", "kind": "says", "text": "{}",
                  "times": 1000})
    said = tidemark.write_config().run(expect=EXIT_ACCESS).pipeline()
    assert "no answer of BigQuery's" in said["error"]["message"]


def test_service_goes_while_a_job_runs(tidemark, items, end, front):
    """It was looked at once, and nobody answers the second look."""
    sync_items(tidemark, items, end, "timestamp",
               retry={"attempts": 1, "backoff": "1ms"})
    look = {"match": "GET .*v2/projects/[^/]+/jobs/"}
    front.faults({**look, "kind": "says",
                  "text": '{"status": {"state": "RUNNING"}}'},
                 {**look, "kind": "hang", "seconds": 0, "times": 1000})
    tidemark.run(expect=EXIT_ACCESS)
    front.faults()
    tidemark.run()
    check(items, end)


def test_page_that_does_not_come(tidemark, items, end, front):
    """The first has no row and says that there is another: the mark is not
    taken for missing."""
    sync_items(tidemark, items, end, "timestamp", "append",
               retry={"attempts": 1, "backoff": "1ms"})
    tidemark.run()
    front.faults({"match": "GET .*/queries/", "kind": "says", "text":
                  '{"jobComplete": true, "pageToken": "next", "rows": []}'},
                 {"match": "pageToken=next", "kind": "hang", "seconds": 0,
                  "times": 1000})
    tidemark.run(expect=EXIT_ACCESS)
    front.faults()
    assert written(tidemark.run().pipeline()) == 0
    check(items, end)


def test_service_that_is_not_there(tidemark, items, end):
    sync_items(tidemark, items, end, "timestamp",
               retry={"attempts": 1, "backoff": "1ms"})
    done = tidemark("run", "--json",
                    env={bigquery_servers.HOST: "127.0.0.1:9"})
    done.expect(EXIT_ACCESS)


# ---- who one is

@pytest.fixture(scope="module")
def strict_front():
    """A front of its own, which asks who one is."""
    front = bigquery_servers.Front("--sign-in").start()
    yield front
    front.remove()


@pytest.fixture
def account(strict_front, work_dir):
    path = work_dir / "account.json"
    path.write_text(json.dumps(strict_front.call("GET", "/_account")))
    path.chmod(0o600)
    return path


def sign_in(tidemark, source, front, account=None, **env):
    """A run of a table into the strict front."""
    dataset = f"signed_{os.urandom(4).hex()}"
    options = {"credentials": account} if account else {}
    token = front.call(
        "GET", "/computeMetadata/v1/instance/service-accounts/default/token")
    front.headers["Authorization"] = "Bearer " + token["access_token"]
    front.create_dataset(dataset)
    end = BigqueryEnd(front, dataset)
    sync_items(tidemark, source, end, "timestamp")
    tidemark.connect("warehouse", end.url(**options)).write_config()
    done = tidemark("run", "--json",
                    env={bigquery_servers.HOST: front.host, **env})
    assert "ya29." not in done.out + done.err
    assert "PRIVATE KEY" not in done.out + done.err
    return end, done


@pytest.fixture
def flavored(strict_front):
    strict_front.headers["Metadata-Flavor"] = "Google"
    return strict_front


def test_signed_in_by_an_account(tidemark, items, flavored, account):
    end, done = sign_in(tidemark, items, flavored, account)
    assert done.expect(EXIT_OK).pipeline()["rows_inserted"] == ROWS
    check(items, end)


def test_signed_in_by_the_variable(tidemark, items, flavored, account):
    _, done = sign_in(tidemark, items, flavored, None,
                      GCE_METADATA_HOST="127.0.0.1:9",
                      GOOGLE_APPLICATION_CREDENTIALS=str(account))
    done.expect(EXIT_OK)


def test_signed_in_by_the_metadata_server(tidemark, items, flavored):
    _, done = sign_in(tidemark, items, flavored, None,
                      GCE_METADATA_HOST=flavored.host)
    done.expect(EXIT_OK)


def test_no_metadata_server(tidemark, items, flavored):
    """Off the machines that have one: what else there is."""
    _, done = sign_in(tidemark, items, flavored, None,
                      GCE_METADATA_HOST="127.0.0.1:9")
    done.expect(EXIT_ACCESS)
    assert "credentials=PATH" in done.out


def test_metadata_server_that_is_none(tidemark, items, flavored, end):
    """Who does not say that it is one is not believed."""
    if not end.front.ours:
        pytest.skip("an emulator is no metadata server")
    _, done = sign_in(tidemark, items, flavored, None,
                      GCE_METADATA_HOST=end.front.host)
    assert "is not it" in done.expect(EXIT_ACCESS).out


@pytest.mark.parametrize("whose", ("account", "metadata"))
def test_token_that_lives_briefly(tidemark_failpoints, items, flavored,
                                  account, whose):
    """It is renewed in the middle of a run, before it runs out."""
    tidemark = tidemark_failpoints
    end, done = sign_in(tidemark, items, flavored, account)
    done.expect(EXIT_OK)
    env = {bigquery_servers.HOST: flavored.host}
    if whose == "metadata":
        env["GCE_METADATA_HOST"] = flavored.host
        tidemark.connect("warehouse", end.url()).write_config()
    workload.change_items(items, "id % 2 = 0")
    workload.settle(items)
    flavored.call("POST", "/_expire", {"seconds": 61})
    flavored.log()
    run = tidemark.start("run", "--json", env=env,
                         failpoints="before_merge=stop")
    wait_for(run.stopped, 20, 0.01, "the failpoint")
    time.sleep(1.5)
    run.signal(signal.SIGCONT)
    run.wait().expect(EXIT_OK)
    asked = [line for line in flavored.log()
             if line.endswith("/token") and "_" not in line]
    flavored.call("POST", "/_expire", {})
    token = flavored.call(
        "GET", "/computeMetadata/v1/instance/service-accounts/default/token")
    flavored.headers["Authorization"] = "Bearer " + token["access_token"]
    assert len(asked) >= 2
    check(items, end)


def test_token_that_runs_out(tidemark_failpoints, items, flavored, account):
    """In the middle of a run: another is fetched, and nobody notices."""
    tidemark = tidemark_failpoints
    end, done = sign_in(tidemark, items, flavored, account)
    done.expect(EXIT_OK)
    workload.change_items(items, "id % 2 = 0")
    workload.settle(items)
    env = {bigquery_servers.HOST: flavored.host}
    run = tidemark.start("run", "--json", env=env,
                         failpoints="before_merge=stop")
    wait_for(run.stopped, 20, 0.01, "the failpoint")
    flavored.call("POST", "/_expire", {})
    run.signal(signal.SIGCONT)
    run.wait().expect(EXIT_OK)
    token = flavored.call(
        "GET", "/computeMetadata/v1/instance/service-accounts/default/token")
    flavored.headers["Authorization"] = "Bearer " + token["access_token"]
    check(items, end)


def test_account_that_is_not_known(tidemark, items, flavored, account):
    forged = json.loads(account.read_text())
    forged["client_email"] = "somebody@elsewhere.iam.gserviceaccount.com"
    account.write_text(json.dumps(forged))
    _, done = sign_in(tidemark, items, flavored, account)
    assert "invalid JWT" in done.expect(EXIT_ACCESS).err.replace("Inv", "inv")


def test_credentials_that_are_refused(tidemark, items, end, account):
    for change, word in (
            (lambda: account.chmod(0o644), "chmod 600"),
            (lambda: account.write_text('{"type": "authorized_user"}'),
             "service account"),
            (lambda: account.write_text("no JSON"), "service account"),
            (account.unlink, "cannot be read")):
        account.parent.joinpath("state.db").unlink(missing_ok=True)
        change()
        sync_items(tidemark, items, end, "timestamp")
        tidemark.connect("warehouse", end.url(credentials=account))
        done = tidemark.write_config()("run", "--json").expect(EXIT_CONFIG)
        assert word in done.out + done.err
        if account.exists():
            account.chmod(0o600)


# ---- as a source

TYPES_SQL = """
CREATE TABLE items (id INT64 NOT NULL, b BOOL, f FLOAT64, n NUMERIC(12,2),
  m BIGNUMERIC(30,12), s STRING, y BYTES, d DATE, t TIME, dt DATETIME,
  `at` TIMESTAMP, j JSON, g GEOGRAPHY, a ARRAY<INT64>, w ARRAY<STRING>)
"""
TYPES_ROW = """
INSERT INTO items VALUES (1, TRUE, 0.1, 1234567890.12, 123456789012345678.5,
  "o'clock", FROM_HEX('00ff'), '0001-01-01', '23:59:59.999999',
  '9999-12-31 23:59:59.999999', '2024-01-01 00:00:00.000001+00',
  PARSE_JSON('{"a":[1,null]}'), ST_GEOGFROMTEXT('POINT(1 2)'), [1, 2, 3],
  ['a', 'b"c'])
"""


def types_source(end):
    end.execute(TYPES_SQL, TYPES_ROW, "INSERT INTO items (id, `at`) VALUES "
                "(2, '2024-01-02 00:00:00+00')")


def of_types(tidemark, source, destination, to):
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline(
        "items", source={"connection": "source",
                         "table": f"{source.schema}.items"},
        destination={"connection": "warehouse", "table": to}, key=["id"],
        watermark={"strategy": "timestamp", "column": "at"})
    return tidemark.write_config()


def test_every_type_between_datasets(tidemark, end, make_destination):
    """Into BigQuery every column is of its own type, arrays and places too, and
    check says that all are exact."""
    types_source(end)
    other = make_destination("bigquery")
    of_types(tidemark, end, other, f"{other.schema}.items")
    told = tidemark("check", "--json").json()["pipelines"][0]
    assert {each["mapping"] for each in told["columns"]} == {"exact"}, told
    tidemark.run()
    strip = {"description", "policyTags", "mode"}
    assert [{k: v for k, v in each.items() if k not in strip}
            for each in other.fields("items").values()] == [
                {k: v for k, v in each.items() if k not in strip}
                for each in end.fields("items").values()]
    sql = ("SELECT id, b, f, n, m, s, TO_HEX(y), d, t, dt, UNIX_MICROS(`at`), "
           "TO_JSON_STRING(j), ST_ASTEXT(g), TO_JSON_STRING(a), "
           "TO_JSON_STRING(w) FROM items ORDER BY id")
    needs(end, "types")
    assert other.query(sql) == end.query(sql)
    tidemark("verify", "--json").expect(EXIT_OK)
    assert tidemark.run("--full-refresh").pipeline()["rows_read"] == 2
    assert other.query(sql) == end.query(sql)


@pytest.mark.parametrize("engine", ("sqlite", "duckdb", "postgres"))
def test_every_type_elsewhere(tidemark, end, make_destination, engine):
    types_source(end)
    other = make_destination(engine)
    of_types(tidemark, end, other, f"{other.schema}.items")
    assert tidemark.run().pipeline()["rows_inserted"] == 2
    tidemark("verify", "--json").expect(EXIT_OK)
    found = other.rows(f"{other.schema}.items", {
        "id": "int", "n": "decimal", "s": "text", "y": "bytes", "at":
        "timestamptz", "g": "text", "a": "json", "j": "json"})
    first = next(row for row in found if row[0] == 1)
    assert first[3] == b"\x00\xff"
    assert first[5].replace("T (", "T(") == "POINT(1 2)"
    assert first[4] == 1704067200000001
    assert json.loads(first[6]) == [1, 2, 3]


def test_increments_from_bigquery(tidemark, end, make_destination):
    """Only what is past the mark is read; the guarantee says what is not
    known."""
    other = make_destination("sqlite")
    end.execute("CREATE TABLE items (id INT64 NOT NULL, `at` TIMESTAMP)",
                "INSERT INTO items SELECT n, TIMESTAMP_ADD(TIMESTAMP "
                "'2024-01-01', INTERVAL CAST(n / 5 AS INT64) SECOND) FROM "
                "UNNEST(GENERATE_ARRAY(1, 500)) AS n")
    of_types(tidemark, end, other, f"{other.schema}.items")
    tidemark.pipelines["items"]["batch"] = {"rows": 200}
    first = tidemark.write_config().run().pipeline()
    assert (first["rows_inserted"], first["guarantee"]) == (500, "lag")
    assert first["batches"] > 1
    end.execute("INSERT INTO items VALUES (501, TIMESTAMP '2024-02-01')")
    assert tidemark.run().pipeline()["rows_read"] == 1
    assert len(other.rows(f"{other.schema}.items", {"id": "int"})) == 501
    tidemark("verify", "--json").expect(EXIT_OK)


def test_init_wants_a_key(tidemark, items, end, make_destination):
    sync_items(tidemark, items, end, "timestamp")
    tidemark.run()
    done = tidemark("init", end.url(), make_destination("sqlite").url())
    assert "items has no primary key" in done.expect(EXIT_SCHEMA).err
