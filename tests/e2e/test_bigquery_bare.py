"""BigQuery without transactions, as small emulators are: statement by
statement, what is promised of it, and what is refused.

Against our front with --bare (tests/fakes/bigquery_bare.py), or against the
emulator that BIGQUERY_EMULATOR_HOST names.
"""

import signal

import pytest

import bigquery_servers
import oracle
import workload
from bench import (EXIT_CONFIG, EXIT_DATA, EXIT_DIFFERENT, EXIT_OK, EXIT_STATE, Tidemark,
                   sync_items, written)
from ends import BigqueryEnd
from oracle import check_items
from servers import wait_for

ROWS = 90
MODES = ("upsert", "append", "delete_insert")
every_mode = pytest.mark.parametrize("mode", MODES)


@pytest.fixture(scope="module")
def bare_front():
    front = bigquery_servers.Front(
        *[] if bigquery_servers.OUTSIDE else ["--bare"]).start()
    yield front
    front.remove()


@pytest.fixture
def end(bare_front, request):
    dataset = "bare_" + str(abs(hash(request.node.name)))
    bare_front.create_dataset(dataset)
    yield BigqueryEnd(bare_front, dataset)
    bare_front.drop_dataset(dataset)


@pytest.fixture
def items(source):
    workload.create_items(source, rows=ROWS)
    return source


@pytest.fixture
def begin(tidemark_failpoints, items, end):
    """A pipeline over the items, by a build with failpoints."""
    def make(mode, tidemark=tidemark_failpoints, **settings):
        tidemark.env[bigquery_servers.HOST] = end.front.host
        return sync_items(tidemark, items, end, "timestamp", mode, **settings)
    return make


def check_recovered(tidemark, items, end, mode):
    """The next run has it right, and the one behind it nothing to do."""
    tidemark.run()
    check_items(items, end)
    assert written(tidemark.run().pipeline()) == 0
    tidemark("verify", "--json").expect(EXIT_OK)
    assert not [name for name in end.tables() if "stage" in name]
    if mode == "append":
        raw = end.rows("items_raw", oracle.ITEMS)
        assert len(raw) == len(set(raw)), "a version appended twice"


def change(items, mode, rows="id % 3 = 0"):
    workload.change_items(items, rows)
    if mode == "append":
        workload.settle(items)


@pytest.mark.parametrize("mode", ("upsert", "delete_insert"))
def test_key_twice_in_the_target(tidemark, items, end, begin, mode):
    begin(mode, tidemark)
    tidemark.run()
    end.execute("INSERT INTO items SELECT * FROM items WHERE id = 7")
    workload.change_items(items, "id = 7")
    workload.settle(items)
    tidemark("watermark", "reset", "items").expect(EXIT_OK)
    done = tidemark("run", "--json").expect(EXIT_DATA)
    message = done.pipeline()["error"]["message"]
    assert "it holds a key of this batch more than once" in message, message
    assert "verify --repair items" in message, message


# ---- what such a server is

def fences(end):
    return [row[0] for row in end.query("SELECT fence FROM m ORDER BY fence")]


def test_it_keeps_each_statement(end):
    end.execute("CREATE TABLE m (pipeline STRING, fence INT64)",
                "INSERT INTO m VALUES ('a', 1)")
    end.execute("BEGIN TRANSACTION; UPDATE m SET fence = 2 WHERE TRUE; "
                "ASSERT FALSE AS 'x'; COMMIT TRANSACTION")
    assert fences(end) == [2]
    end.execute("BEGIN TRANSACTION; UPDATE m SET fence = 3 WHERE TRUE")
    assert fences(end) == [3]


@pytest.mark.parametrize("sql,words", (
    ("ASSERT @@row_count = 1 AS 'x'", "Unrecognized name: @@row_count"),
    ("BEGIN TRANSACTION; ROLLBACK TRANSACTION", "not supported: Rollback"),
    ("MERGE m t USING (SELECT 'a' AS a) s ON t.pipeline = s.a WHEN NOT MATCHED"
     " THEN INSERT (pipeline) VALUES (s.a)", "must be a single-table"),
    ("UPDATE m t SET fence = s.f FROM (SELECT 5 AS f) s WHERE TRUE",
     "Update with joins not supported"),
    ("ALTER TABLE m ALTER COLUMN fence SET DATA TYPE NUMERIC",
     "does not support ALTER COLUMN SET DATA TYPE"),
    ("SELECT * FROM nowhere", "Table not found: ")))
def test_it_refuses(end, sql, words):
    end.execute("CREATE TABLE m (pipeline STRING, fence INT64)")
    with pytest.raises(bigquery_servers.ApiError, match=words):
        end.execute(sql)


def test_it_takes_no_parameters_in_scripts(end):
    end.execute("CREATE TABLE m (pipeline STRING, fence INT64)")
    with pytest.raises(bigquery_servers.ApiError, match="expected 0 argument"):
        end.front.api("POST", "/queries", {
            "query": "INSERT INTO m VALUES (@p, 1); SELECT 1",
            "useLegacySql": False, "defaultDataset": {"datasetId": end.dataset},
            "parameterMode": "NAMED", "queryParameters": [
                {"name": "p", "parameterType": {"type": "STRING"},
                 "parameterValue": {"value": "a"}}]})


# ---- what goes

@every_mode
def test_what_changes_is_loaded(begin, items, end, mode):
    """And told of, once a run, beside the results."""
    tidemark = begin(mode, batch={"rows": 40})
    first = tidemark.run()
    assert first.pipeline()["rows_inserted"] == ROWS
    assert first.err.count("has no transactions") == 1
    assert "transactions" not in first.out
    change(items, mode)
    delta = tidemark.run().pipeline()
    assert delta["rows_inserted" if mode == "append" else
                 "rows_updated"] == ROWS // 3
    check_recovered(tidemark, items, end, mode)


@every_mode
def test_verify_repairs(begin, items, end, mode):
    tidemark = begin(mode)
    tidemark.run()
    table = "items_raw" if mode == "append" else "items"
    end.execute(f"UPDATE {table} SET quantity = -1 WHERE id = 7",
                f"DELETE FROM {table} WHERE id = 8")
    told = tidemark("verify", "--json").expect(EXIT_DIFFERENT).pipeline()
    assert (told["missing"], told["different"]) == (1, 1)
    tidemark("verify", "--repair", "--json").expect(EXIT_OK)
    check_items(items, end)


def test_a_marked_row_comes_back(begin, items, end):
    end.execute("CREATE TABLE items (id INT64, name STRING, updated_at "
                "TIMESTAMP, gone BOOL)")
    tidemark = begin("upsert", soft_delete="gone")
    tidemark.pipelines["items"]["source"]["columns"] = ["id", "name",
                                                        "updated_at"]
    tidemark.write_config().run()
    end.execute("UPDATE items SET gone = TRUE WHERE id <= 3")
    change(items, "upsert", "id = 3")
    tidemark.run()
    assert end.query("SELECT id FROM items WHERE gone ORDER BY id") == [
        (1,), (2,)]


# ---- what breaks off

@pytest.mark.thinned(3)
@pytest.mark.parametrize("where", ("before_merge", "after_delete",
                                   "commit_sent", "commit_acked"))
@every_mode
def test_killed(begin, items, end, mode, where):
    """The mark is behind the rows, never before them; a change in between is
    loaded, too."""
    tidemark = begin(mode, batch={"rows": 15})
    tidemark.run()
    workload.change_items(items, "id % 3 = 0")
    workload.settle(items)  # as it is, nothing of it is read twice
    if not tidemark.killed(failpoints=f"{where}=kill@2"):
        assert (mode, where) == ("append", "after_delete")
    change(items, mode, "id % 2 = 0")
    check_recovered(tidemark, items, end, mode)


def test_versions_keep_their_order(begin, items, end):
    """A run that breaks off has taken numbers that its mark does not know
    of: who comes behind is newer."""
    items.execute("DELETE FROM items WHERE id > 3")
    tidemark = begin("append")
    assert tidemark.killed(failpoints="commit_sent=kill")
    assert end.query("SELECT COUNT(*) FROM items_raw") == [(3,)]
    items.execute("DELETE FROM items WHERE id < 3")
    change(items, "append", "id = 3")
    tidemark.run()
    assert end.rows("items", {"id": "int", "name": "text"})[2:] == \
        items.rows("items", {"id": "int", "name": "text"})


def stopped(tidemark, where):
    run = tidemark.start("run", "--json", failpoints=f"{where}=stop")
    wait_for(run.stopped, step=0.01, what="the failpoint")
    return run


def is_told(run):
    run.signal(signal.SIGCONT)
    said = run.wait().expect(EXIT_STATE).pipeline()["error"]["message"]
    assert "has taken over" in said


@pytest.mark.thinned(2)
@every_mode
def test_overtaken_before_its_rows(begin, end, mode):
    """Nothing more is written."""
    first = stopped(begin(mode), "before_merge")
    end.execute("UPDATE _tidemark_watermark SET fence = fence + 1 WHERE TRUE")
    is_told(first)
    assert end.rows("items", oracle.ITEMS) == []


@pytest.mark.thinned(2)
@every_mode
def test_overtaken_before_its_mark(begin, items, end, work_dir, mode):
    """The rows are there; the mark stays the newer one's, and it is told."""
    first = stopped(begin(mode), "commit_sent")
    (work_dir / "other").mkdir()
    other = begin(mode, Tidemark(first.command[0], work_dir / "other"))
    other.run()
    mark = end.query("SELECT watermark, fence FROM _tidemark_watermark")
    is_told(first)
    assert mark == end.query("SELECT watermark, fence FROM "
                             "_tidemark_watermark")
    check_recovered(other, items, end, mode)


# ---- what does not go

@pytest.mark.parametrize("mode,command", (
    ("replace", ["run"]), ("upsert", ["run", "--full-refresh"]),
    ("upsert", ["run", "--dry-run"]), ("update", ["run"]),
    ("upsert", ["verify", "--deletes", "apply"])))
def test_refused(begin, items, end, mode, command):
    """Before anything is written."""
    tidemark = begin("upsert")
    tidemark.run()
    items.execute("DELETE FROM items WHERE id = 5")
    tidemark.pipelines["items"]["load"]["mode"] = mode
    if mode == "update":
        tidemark.pipelines["items"]["source"]["columns"] = ["id", "name",
                                                            "updated_at"]
    before = sorted(end.tables()), end.rows("items", oracle.ITEMS)
    done = tidemark.write_config()(*command, "--json").expect(EXIT_CONFIG)
    assert "transactions" in done.out + done.err
    assert (sorted(end.tables()), end.rows("items", oracle.ITEMS)) == before
