"""BigQuery as a user meets it: loaded, verified, mended.

Against our front (tests/fakes), or against the emulator that
BIGQUERY_EMULATOR_HOST names; what only the front can be made to do is skipped
there.
"""

import json

import pytest

import oracle
import workload
from bench import EXIT_ACCESS, EXIT_DATA, EXIT_DIFFERENT, EXIT_OK, EXIT_SCHEMA, sync_items
from bigquery_items import ROWS, check, end, front, items
from bigquery_servers import needs


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


def test_many_side_by_side(tidemark, source, end, front):
    """All pipelines write to one table of marks. BigQuery would end one of two
    transactions that do, so they go one after the other."""
    names = [f"t{i}" for i in range(12)]
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", end.connection())
    for name in names:
        source.execute(f"CREATE TABLE {name} (id bigint PRIMARY KEY, seq bigint"
                       " NOT NULL)", f"INSERT INTO {name} VALUES (1, 1)")
        tidemark.pipeline(
            name, source={"connection": "source", "table": f"public.{name}"},
            destination={"connection": "warehouse",
                         "table": f"{end.schema}.{name}"},
            watermark={"strategy": "sequence", "column": "seq"})
    before = front.conflicts()
    tidemark.write_config().run("--jobs", "6")
    source.execute(*(f"INSERT INTO {name} VALUES (2, 2)" for name in names))
    tidemark.run("--jobs", "6")
    assert front.conflicts() == before
    for name in names:
        rows = end.query(f"SELECT id, seq FROM {end.schema}.{name} ORDER BY id")
        assert [tuple(map(int, row)) for row in rows] == [(1, 1), (2, 2)]


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


@pytest.mark.parametrize("mode", ("upsert", "delete_insert"))
def test_key_twice_among_rows_that_stay(tidemark, items, end, mode):
    """Their number does not hide that one row would change two."""
    sync_items(tidemark, items, end, "timestamp", mode)
    tidemark.run()
    end.execute("INSERT INTO items SELECT * FROM items WHERE id = 7")
    workload.change_items(items, "id = 7")
    workload.settle(items)
    tidemark("watermark", "reset", "items").expect(EXIT_OK)
    done = tidemark("run", "--json").expect(EXIT_DATA)
    message = done.pipeline()["error"]["message"]
    assert "it holds a key of this batch more than once" in message, message
    assert "verify --repair items" in message, message
    needs(end, "transactions")
    tidemark.run("--full-refresh")
    check(items, end)


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
    """Rows that are read again get numbers behind the stored ones. No number
    belongs to two versions."""
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
    """A pipeline that appends into items keeps its rows in items_raw. No other
    pipeline loads into that."""
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
