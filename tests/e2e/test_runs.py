"""The history of runs, and running a window again."""

import signal
import time

import pytest

import oracle
import workload
from bench import (EXIT_ACCESS, EXIT_CONFIG, EXIT_DATA, EXIT_OK, EXIT_SCHEMA,
                   sync_items, written)
from oracle import check_items
from servers import wait_for
from state import StateStore

ENGINES = ("postgres", "sqlite", "duckdb")


@pytest.fixture(params=ENGINES)
def destination(request, make_destination):
    return make_destination(request.param)


def runs(tidemark, *args):
    return tidemark("runs", *args, "--json").expect(EXIT_OK).json()["runs"]


def picture(destination, table):
    """Moves when a row is written, where the engine shows that."""
    if destination.engine == "postgres":
        return destination.physical(table)
    return sorted(destination.rows(table, oracle.ITEMS), key=repr)


def batch_ids(run):
    return [batch["batch_id"] for attempt in reversed(run["attempts"])
            for batch in attempt["batch_list"]]


@pytest.mark.parametrize("store", ("sqlite", "postgres"))
def test_what_ran_is_on_record(tidemark, source, make_destination, store):
    if store == "postgres":
        tidemark.top["state"] = make_destination("postgres").connection()
    workload.create_items(source, rows=500)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp",
               batch={"rows": 200}, logic_version=7)
    first = tidemark.run().pipeline()
    source.execute("UPDATE items SET updated_at = '2024-06-01' WHERE id < 4")
    second = tidemark.run().pipeline()
    assert first["run_id"] != second["run_id"]
    newest, oldest = runs(tidemark, "list", "items")
    assert (oldest["run_id"], newest["run_id"]) == \
        (first["run_id"], second["run_id"])
    assert oldest["state"] == "SUCCEEDED" and oldest["pipeline"] == "items"
    assert oldest["logic_version"] == 7
    assert oldest["window"] == {"from": None, "to": first["watermark_after"]}
    assert newest["window"]["from"] == first["watermark_after"]
    assert [run["run_id"] for run in runs(tidemark, "list", "--limit", "1")] \
        == [second["run_id"]]
    attempt, = oldest["attempts"]
    assert attempt["attempt_id"] == first["attempt_id"]
    for name in ("batches", "rows_read", "rows_inserted", "rows_updated",
                 "rows_unchanged", "rows_deleted", "rows_dead_lettered"):
        assert attempt[name] == first[name]
    assert attempt["ended_at"] >= attempt["started_at"]
    assert attempt["error"] is None and attempt["pid"] and attempt["host"]
    shown, = runs(tidemark, "show", first["run_id"])
    batches = shown["attempts"][0]["batch_list"]
    assert [batch["number"] for batch in batches] == [1, 2, 3][:len(batches)]
    assert sum(batch["rows_read"] for batch in batches) == 500
    assert batches[0]["window"]["from"] is None
    for left, right in zip(batches, batches[1:]):
        assert left["window"]["to"] == right["window"]["from"]
    assert all(batch["load_seconds"] > 0 and batch["error"] is None
               and batch["at"] for batch in batches)
    # People see the same.
    assert first["run_id"] in tidemark("runs").expect(EXIT_OK).out
    assert first["attempt_id"] in \
        tidemark("runs", "show", first["run_id"]).expect(EXIT_OK).out


def test_nothing_to_do_is_the_same_run(tidemark, source, make_destination):
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    tidemark.run()
    idle = {tidemark.run().pipeline()["run_id"] for _ in range(3)}
    assert len(idle) == 1
    run, = runs(tidemark, "show", idle.pop())
    assert len(run["attempts"]) == 3
    assert len({attempt["attempt_id"] for attempt in run["attempts"]}) == 3


def test_killed_run_is_shown_as_such(tidemark_failpoints, source,
                                     make_destination):
    tidemark = tidemark_failpoints
    destination = make_destination("sqlite")
    workload.create_items(source, rows=600)
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 200})
    assert tidemark.killed(failpoints="after_watermark=kill@2")
    run, = runs(tidemark, "list")
    assert run["state"] == "RUNNING"
    tidemark.run()
    newest, oldest = runs(tidemark, "list")
    assert newest["state"] == "SUCCEEDED" and oldest["state"] == "FAILED"
    attempt, = oldest["attempts"]
    assert attempt["state"] == "FAILED"
    assert attempt["error"]["code"] == "killed"
    assert str(attempt["pid"]) in attempt["error"]["message"]
    check_items(source, destination)


def test_each_try_is_an_attempt(tidemark_failpoints, source,
                                make_destination):
    """A failed batch is on record with its error; the try after it is another
    attempt of the same run."""
    tidemark = tidemark_failpoints
    destination = make_destination("sqlite")
    workload.create_items(source, rows=600)
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 200, "target": "1ms"},  # and no more, later
               retry={"attempts": 3, "backoff": "5ms", "max_backoff": "5ms"})
    done = tidemark.run(failpoints="before_watermark=error@2").pipeline()
    run, = runs(tidemark, "show", done["run_id"])
    last, first = run["attempts"]
    assert run["state"] == "SUCCEEDED"
    assert (first["state"], last["state"]) == ("FAILED", "SUCCEEDED")
    assert last["attempt_id"] == done["attempt_id"]
    assert first["rows_read"] + last["rows_read"] == done["rows_read"] == 600
    assert "before_watermark" in first["error"]["message"]
    loaded, refused = first["batch_list"]
    assert loaded["error"] is None and loaded["rows_inserted"] == 200
    assert refused["error"]["code"] == "transient"
    assert refused["rows_inserted"] == 0 and refused["rows_read"] == 200
    check_items(source, destination)


def test_failure_before_the_mark_is_known(tidemark, source, make_destination,
                                          own_cluster):
    """A source that is away fails the run that it would have been, not the
    first one."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    first = tidemark.run().pipeline()
    tidemark.connect("source", "postgresql://127.0.0.1:1/nowhere")
    tidemark.pipelines["items"]["retry"] = {"attempts": 1}
    tidemark.write_config()
    failed = tidemark.run(expect=EXIT_ACCESS).pipeline()
    assert failed["run_id"] != first["run_id"]
    newest, oldest = runs(tidemark, "list")
    assert (newest["state"], oldest["state"]) == ("FAILED", "SUCCEEDED")
    assert newest["window"]["from"] == first["watermark_after"]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("mode, strategy", (
    ("upsert", "timestamp"), ("append", "sequence"),
    ("delete_insert", "timestamp")))
def test_replay_changes_nothing_that_is_right(tidemark, source, destination,
                                              mode, strategy):
    target = f"{destination.schema}.items"
    workload.create_items(source, rows=900)
    sync_items(tidemark, source, destination, strategy, mode,
               batch={"rows": 200})
    done = tidemark.run().pipeline()
    workload.update_items(source, "id % 10 = 0", "quantity = quantity + 1",
                          "2024-06-01 00:00:00")
    tidemark.run()
    mark = tidemark("watermark", "show", "--json").pipeline()["watermark"]
    before = picture(destination, target)
    replayed = tidemark("runs", "replay", done["run_id"], "--json").expect(
        EXIT_OK).pipeline()
    assert replayed["run_id"] == done["run_id"]
    assert replayed["attempt_id"] != done["attempt_id"]
    assert replayed["outcome"] == "caught_up"
    # Rows that have changed since then are in another window by now.
    assert replayed["rows_read"] == 810 and written(replayed) == 0
    assert picture(destination, target) == before
    assert tidemark("watermark", "show", "--json").pipeline()["watermark"] \
        == mark
    run, = runs(tidemark, "show", done["run_id"])
    assert run["state"] == "SUCCEEDED" and len(run["attempts"]) == 2
    assert run["window"]["to"] == done["watermark_after"]
    check_items(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


def test_replay_has_the_same_batches(tidemark, source, destination):
    # A target in the source's cluster writes to the same log. A batch of
    # `sequence` whose mark waits for that has no window of its own.
    strategy = "timestamp" if destination.engine == "postgres" else "sequence"
    workload.create_items(source, rows=900)
    sync_items(tidemark, source, destination, strategy, batch={"rows": 200})
    done = tidemark.run().pipeline()
    ids = batch_ids(runs(tidemark, "show", done["run_id"])[0])
    tidemark("runs", "replay", done["run_id"]).expect(EXIT_OK)
    again = batch_ids(runs(tidemark, "show", done["run_id"])[0])
    assert len(set(ids)) == len(ids) >= 2
    assert again == ids + ids
    stored = destination.query("SELECT batch_id FROM "
                               f"{destination.schema}._tidemark_watermark")
    assert stored[0][0] == ids[-1]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("strategy", ("timestamp", "sequence", "xmin"))
def test_replay_mends_what_is_wrong(tidemark, source, destination, strategy):
    """Rows of the window that somebody has deleted or changed by hand."""
    target = f"{destination.schema}.items"
    workload.create_items(source, rows=300)
    sync_items(tidemark, source, destination, strategy)
    done = tidemark.run().pipeline()
    tidemark.run()
    destination.execute(f"DELETE FROM {target} WHERE id % 3 = 0",
                        f"UPDATE {target} SET name = 'x' WHERE id % 3 = 1")
    replayed = tidemark("runs", "replay", done["run_id"], "--json").expect(
        EXIT_OK).pipeline()
    assert replayed["rows_inserted"] == 100
    assert replayed["rows_updated"] == 100
    check_items(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


def test_replay_that_is_killed(tidemark_failpoints, source, make_destination):
    tidemark = tidemark_failpoints
    destination = make_destination("postgres")
    workload.create_items(source, rows=900)
    sync_items(tidemark, source, destination, "timestamp", "append",
               batch={"rows": 200})
    done = tidemark.run().pipeline()
    for point in ("after_merge=kill@2", "commit_sent=kill@2",
                  "state_saved=kill@1"):
        killed = tidemark("runs", "replay", done["run_id"], failpoints=point)
        assert killed.code == -signal.SIGKILL
        tidemark("runs", "replay", done["run_id"]).expect(EXIT_OK)
        check_items(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


def test_unknown_runs_are_refused(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    run_id = tidemark.run().pipeline()["run_id"]
    for words in (("show", "nobody"), ("replay", "nobody"), ("show",),
                  ("replay", run_id, run_id), ("lst",), ("list", "nobody")):
        done = tidemark("runs", *words, "--json").expect(EXIT_CONFIG)
        assert done.out == ""
    assert "list" in tidemark("runs", "lst").err
    # Another window by now: nothing is done.
    tidemark.pipelines["items"]["source"]["where"] = "id < 5"
    tidemark.write_config()
    error = tidemark("runs", "replay", run_id).expect(EXIT_CONFIG).err
    assert "has changed since" in error
    tidemark.pipelines["items"]["load"] = {"mode": "replace"}
    tidemark.write_config()
    assert "mode replace" in \
        tidemark("runs", "replay", run_id).expect(EXIT_CONFIG).err
    del tidemark.pipelines["items"]
    sync_items(tidemark, source, destination, "timestamp", name="other")
    tidemark("runs", "replay", run_id).expect(EXIT_CONFIG)
    assert [run["run_id"] for run in runs(tidemark, "list")] == [run_id]


def test_an_empty_window_is_not_replayed(tidemark, source, make_destination):
    """A run that failed before its first batch is not made a success of, and a
    full refresh is not said to have been replayed."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp",
               gate={"min": {"quantity": 1_000_000}})
    tidemark.run(expect=EXIT_DATA)
    failed = runs(tidemark, "list")[0]
    for _ in range(2):
        error = tidemark("runs", "replay",
                         failed["run_id"]).expect(EXIT_CONFIG).err
        assert "is empty" in error
        assert runs(tidemark, "list") == [failed]
        sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    refreshed = tidemark.run("--full-refresh").pipeline()
    assert refreshed["rows_read"] == 20
    tidemark("runs", "replay", refreshed["run_id"]).expect(EXIT_CONFIG)
    check_items(source, destination)


def test_replay_that_waited_for_its_run(tidemark_failpoints, source,
                                        make_destination):
    """The window is that of the run's end, not of where it was when it was
    asked for; and so it stays on record."""
    tidemark = tidemark_failpoints
    destination = make_destination("sqlite")
    workload.create_items(source, rows=900)
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 200})
    first = tidemark.start("run", "--json", failpoints="mid_load=stop@3")
    wait_for(lambda: StateStore(tidemark).batches() == 2, what="two batches")
    run_id = runs(tidemark, "list")[0]["run_id"]
    replay = tidemark.start("-v", "runs", "replay", run_id, "--wait", "30s",
                            "--json")
    time.sleep(1)
    first.signal(signal.SIGCONT)
    whole = first.wait().expect(EXIT_OK).pipeline()
    again = replay.wait().expect(EXIT_OK).pipeline()
    assert again["rows_unchanged"] == whole["rows_read"] == 900
    assert runs(tidemark, "show", run_id)[0]["window"]["to"] == \
        whole["watermark_after"]


def test_replay_knows_the_source(tidemark, source, make_destination):
    """A table that was made anew is not the one whose window it was."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    run_id = tidemark.run().pipeline()["run_id"]
    source.execute("DROP TABLE items", "DROP SEQUENCE items_seq")
    workload.create_items(source, rows=20)
    tidemark("runs", "replay", run_id).expect(EXIT_SCHEMA)


def test_old_runs_are_forgotten(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    state = StateStore(tidemark)
    tidemark.top["state"] = {"url": f"sqlite:{tidemark.state_file}",
                             "keep": "2d"}
    sync_items(tidemark, source, destination, "timestamp")
    run_id = tidemark.run().pipeline()["run_id"]
    day = 86400 * 1000000
    for table, column in (("runs", "created_at"), ("attempts", "started_at")):
        state.execute(f"UPDATE {{t}}{table} SET {column} = {column} - {day}")
    tidemark.run()
    assert run_id in [run["run_id"] for run in runs(tidemark, "list")]
    for table, column in (("runs", "created_at"), ("attempts", "started_at")):
        state.execute(f"UPDATE {{t}}{table} SET {column} = {column} - "
                      f"{2 * day} WHERE run_id = '{run_id}'")
    tidemark.run()
    assert run_id not in [run["run_id"] for run in runs(tidemark, "list")]
    tidemark("runs", "show", run_id).expect(EXIT_CONFIG)
    assert state.query("SELECT count(*) FROM {t}batches")[0][0] == 0
    check_items(source, destination)


def test_store_that_was_away_is_found_again(tidemark, source, own_cluster,
                                            make_destination):
    """The state store's server restarts in the middle of a run."""
    server = own_cluster()
    server.create_database("state")
    tidemark.top["state"] = {
        "url": server.url("state", password=None),
        "password": "${TIDEMARK_TEST_PASSWORD}"}
    workload.create_items(source, rows=2000)
    destination = make_destination("sqlite")
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 20}, pace={"rows_per_second": 700},
               retry={"backoff": "200ms", "attempts": 20,
                      "max_backoff": "200ms"})
    run = tidemark.start("run", "--json")
    wait_for(lambda: "items" in destination.tables() and destination.query(
        "SELECT count(*) FROM items")[0][0] > 0, what="the first batch")
    server.stop("immediate")
    server.start()
    run.wait().expect(EXIT_OK)
    check_items(source, destination)
    assert runs(tidemark, "list")[0]["state"] == "SUCCEEDED"
