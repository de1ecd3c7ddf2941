"""More than one run of a pipeline, and rows whose mark goes back."""

import itertools
import json
import os
import signal
import sqlite3
import time

import pytest

import oracle
import workload
from bad_days import WAREHOUSES
from bench import sync_items, written
from oracle import check_items
from servers import wait_for

EXIT_OK, EXIT_ACCESS, EXIT_SCHEMA, EXIT_BUSY = 0, 3, 4, 6
ENGINES = ("postgres", "sqlite", "duckdb", "mariadb", "mysql")


@pytest.fixture(params=ENGINES)
def destination(request, make_destination):
    return make_destination(request.param)


@pytest.fixture(params=(*ENGINES, *WAREHOUSES))
def any_destination(request, make_destination):
    """Nobody needs to write to it by hand."""
    return make_destination(request.param)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert"))
def test_newest_row_with_an_older_mark(tidemark, source, any_destination,
                                       mode):
    """A long transaction commits last: its version is the newest, and its
    mark, the now() of its beginning, is older than one delivered before."""
    destination = any_destination
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp", mode,
               watermark={"tail": "deliver"})
    tidemark.run()
    with source.connect(autocommit=False) as late:
        late.execute("SELECT now()")
        with source.connect() as early:
            early.execute("UPDATE items SET name = 'early', "
                          "updated_at = now() WHERE id = 7")
        assert written(tidemark.run().pipeline()) == 1
        late.execute("UPDATE items SET name = 'late', updated_at = now() "
                     "WHERE id = 7")
        late.commit()
    tidemark.run()
    workload.settle(source)
    tidemark.run()
    check_items(source, destination)
    assert written(tidemark.run().pipeline()) == 0


@pytest.mark.thinned(3)
@pytest.mark.parametrize("mode", ("upsert", "append", "delete_insert"))
def test_newest_row_with_a_lower_number(tidemark, source, any_destination,
                                        mode):
    """As above with a sequence: the number was taken first and written last."""
    destination = any_destination
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "sequence", mode,
               watermark={"tail": "deliver"})
    tidemark.run()
    with source.connect(autocommit=False) as late:
        number = late.execute("SELECT nextval('items_seq')").fetchone()[0]
        workload.change_items(source, "id = 7")
        assert written(tidemark.run().pipeline()) == 1
        late.execute("UPDATE items SET name = 'late', seq = %s WHERE id = 7",
                     [number])
        late.commit()
    tidemark.run()
    tidemark.run()
    check_items(source, destination)
    assert written(tidemark.run().pipeline()) == 0


@pytest.mark.thinned(2)
@pytest.mark.parametrize("mode", ("upsert", "delete_insert"))
def test_newer_row_of_somebody_else_stays(tidemark, source, destination, mode):
    """A newer row that the pipeline never delivered is not overwritten."""
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp", mode)
    tidemark.run()
    stamp = "2099-01-01 00:00:00"
    if destination.engine not in ("mariadb", "mysql"):  # no zones there
        stamp += "+00"
    destination.execute(f"UPDATE {destination.schema}.items SET "
                        f"name = 'by hand', updated_at = '{stamp}' "
                        "WHERE id = 7")
    source.execute("UPDATE items SET name = 'older', updated_at = now() "
                   "WHERE id = 7")
    workload.settle(source)
    result = tidemark.run().pipeline()
    assert (result["rows_read"], written(result)) == (1, 0)
    rows = destination.rows(f"{destination.schema}.items", {"name": "text"})
    assert ("by hand",) in [tuple(row) for row in rows]


def test_second_run_is_told_who_runs(tidemark, source, make_destination):
    """Two runs of a pipeline on one host: the second one says whose turn it
    is, with exit 6, and changes nothing."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=4000)
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 20})
    first = tidemark.start("run", "--json")
    # The table is there once the first run is recorded.
    for _ in range(200):
        if "items" in destination.tables():
            break
        time.sleep(0.02)
    busy = tidemark.run(expect=EXIT_BUSY).pipeline()
    assert busy["outcome"] == "busy"
    assert busy["held_by"]["pid"] == first.process.pid
    assert busy["rows_read"] == 0
    first.wait().expect(EXIT_OK)
    check_items(source, destination)


@pytest.mark.parametrize("engine", ("postgres", "sqlite", *WAREHOUSES))
def test_two_refreshes_lose_nothing(tidemark, source, make_destination,
                                    engine):
    """Two refreshes from two machines (two state stores): whichever ends
    well has every row; none leaves half a table behind."""
    destination = make_destination(engine)
    workload.create_items(source, rows=1000 if engine in WAREHOUSES else 6000)
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 200})
    tidemark.run()
    first = tidemark.start("run", "--json", "--full-refresh")
    time.sleep(0.15)
    tidemark.top["state"] = f"sqlite:{tidemark.dir}/other.db"
    tidemark.write_config()
    second = tidemark("run", "--json", "--full-refresh")
    ended = [first.wait(), second]
    codes = {each.code for each in ended}
    assert codes <= {EXIT_OK, EXIT_BUSY} and EXIT_OK in codes, ended
    check_items(source, destination)
    assert written(tidemark.run().pipeline()) == 0


@pytest.mark.parametrize("engine, moment", [
    *itertools.product(WAREHOUSES, ("mid_load=stop@2", "before_merge=stop@1",
                                    "before_merge=stop@3")),
    ("clickhouse", "stage_full=stop"), ("bigquery", "before_merge=stop@5")])
def test_refresh_overtaken_by_another(tidemark_failpoints, source,
                                      make_destination, engine, moment):
    """All of a second refresh happens at one moment of the first, which is
    told who has taken over, and not what it misses since."""
    tidemark = tidemark_failpoints
    destination = make_destination(engine)
    workload.create_items(source, rows=1000)
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 200})
    tidemark.run()
    first = begin_refresh(tidemark, moment)
    elsewhere(tidemark).run("--full-refresh")
    expect_overtaken(first)
    check_items(source, destination)
    assert written(tidemark.run().pipeline()) == 0


def begin_refresh(tidemark, moment):
    """A refresh that has stopped at that moment."""
    run = tidemark.start("run", "--json", "--full-refresh", failpoints=moment)
    wait_for(lambda: run.stopped() or not run.alive(), step=0.01,
             what="the failpoint")
    return run


def elsewhere(tidemark):
    """From now on on another machine, with a state store of its own."""
    tidemark.top["state"] = f"sqlite:{tidemark.dir}/other.db"
    return tidemark.write_config()


def expect_overtaken(run):
    run.signal(signal.SIGCONT)
    told = run.wait().expect(EXIT_BUSY).pipeline()["error"]["message"]
    assert "another run of items has taken over" in told


@pytest.mark.parametrize("engine", WAREHOUSES)
def test_refresh_overtaken_at_its_begin(tidemark_failpoints, source,
                                        make_destination, engine):
    """The run that takes over says so before it takes the stage away."""
    tidemark = tidemark_failpoints
    destination = make_destination(engine)
    workload.create_items(source, rows=1000)
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 200})
    tidemark.run()
    first = begin_refresh(tidemark, "before_merge=stop@2")
    second = begin_refresh(elsewhere(tidemark), "stage_created=stop@1")
    expect_overtaken(first)
    second.signal(signal.SIGCONT)
    second.wait().expect(EXIT_OK)
    check_items(source, destination)
    assert written(tidemark.run().pipeline()) == 0


def test_refusal_that_another_is_the_cause_of(tidemark_failpoints, source,
                                              make_destination):
    """A load job whose table goes while it runs is refused in words of the
    service's choice; that another has taken over is what counts."""
    tidemark = tidemark_failpoints
    destination = make_destination("bigquery")
    workload.create_items(source, rows=1000)
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 200})
    tidemark.run()
    first = begin_refresh(tidemark, "mid_load=stop@2")
    elsewhere(tidemark).run("--full-refresh")
    destination.front.faults({"match": "", "kind": "status", "status": 400,
                              "reason": "invalid", "message": "planted"})
    expect_overtaken(first)
    check_items(source, destination)


@pytest.mark.parametrize("file, journal", (
    ("warehouse", "wal"), ("warehouse", "delete"), ("state", "wal")))
def test_file_that_another_process_holds(tidemark, source, make_destination,
                                         file, journal):
    """After some seconds: who it is, and exit 6, or 3 of the state store; then
    all is as before."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp",
               retry={"attempts": 1})
    tidemark.run()
    source.execute("UPDATE items SET updated_at = now() WHERE id = 1")
    path = tidemark.state_file if file == "state" else destination.path
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute(f"PRAGMA journal_mode = {journal}")
    holder.execute("BEGIN IMMEDIATE")
    state = file == "state"
    busy = tidemark.run(expect=EXIT_ACCESS if state else EXIT_BUSY).pipeline()
    assert busy["outcome"] == ("failed" if state else "busy")
    assert busy["rows_read"] == 0
    for word in (path, f"rocess {os.getpid()}", "wait for it"):
        assert word in busy["error"]["message"], busy
    holder.execute("ROLLBACK")
    holder.close()
    tidemark.run()
    check_items(source, destination)


def test_target_emptied_by_hand(tidemark, source, destination):
    """The run stops and names the ways to go on; each of them does."""
    target = f"{destination.schema}.items"
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    workload.settle(source)
    tidemark.run()

    def refused():
        destination.execute(f"DELETE FROM {target}")
        error = tidemark.run(expect=EXIT_SCHEMA).pipeline()["error"]
        for word in ("20 rows", "watermark reset items",
                     "run --full-refresh items", "watermark set items"):
            assert word in error["message"]
        assert "target-emptied" in tidemark("check", "--json").out

    refused()
    tidemark("watermark", "reset", "items").expect(EXIT_OK)
    assert written(tidemark.run().pipeline()) == 20
    check_items(source, destination)
    refused()
    tidemark.run("--full-refresh")
    check_items(source, destination)
    refused()
    mark = tidemark("watermark", "show", "--json").pipeline()["watermark"]
    tidemark("watermark", "set", "items", json.dumps(mark)).expect(EXIT_OK)
    source.execute("UPDATE items SET updated_at = now() WHERE id = 7")
    workload.settle(source)
    tidemark.run()
    assert destination.rows(target, {"id": "int"}) == [(7,)]
    assert tidemark.run().pipeline()["rows_read"] == 0


def test_target_made_anew_by_hand(tidemark, source, destination):
    """As a target that is gone, where the engine tells; else as an empty
    one."""
    target = f"{destination.schema}.items"
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    destination.execute(
        f"CREATE TABLE {destination.schema}.copy AS SELECT * FROM {target} "
        "WHERE id < 5", f"DROP TABLE {target}",
        f"ALTER TABLE {destination.schema}.copy RENAME TO items",
        f"CREATE UNIQUE INDEX by_id ON {target} (id)"
        if destination.engine == "postgres" else "SELECT 1")
    if destination.engine == "postgres":
        done = tidemark.run()
        assert "another table" in done.err
        assert written(done.pipeline()) == 16
        check_items(source, destination)
        return
    destination.execute(f"DROP TABLE {target}")
    done = tidemark.run()
    assert "is gone" in done.err
    check_items(source, destination)


def backend(destination):
    """The server process of a run that has a transaction open."""
    found = destination.query(
        "SELECT pid FROM pg_stat_activity WHERE application_name = "
        "'tidemark/load' AND datname = current_database() "
        "AND xact_start IS NOT NULL")
    return found[0][0] if found else None


@pytest.mark.parametrize("point", ("mid_load", "after_watermark",
                                   "mid_alter"))
def test_paused_run_does_not_block_for_ever(tidemark_failpoints, source,
                                            make_destination, point):
    """A process that stands still holds its session's locks: the next run
    says which session that is, with exit 6."""
    tidemark = tidemark_failpoints
    destination = make_destination("postgres")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("ALTER TABLE items ADD more integer",
                   "UPDATE items SET more = 1, updated_at = now()")
    paused = tidemark.start("run", failpoints=f"{point}=hang")
    wait_for(lambda: f"{point}: hangs".encode() in paused.text["err"],
             what="the paused run")
    tidemark.top["state"] = f"sqlite:{tidemark.dir}/other.db"
    tidemark.write_config()
    busy = tidemark.run(expect=EXIT_BUSY).pipeline()
    assert f"backend {backend(destination)} " in busy["error"]["message"]
    assert "wait for it" in busy["error"]["message"].lower()
    paused.kill()
    workload.settle(source)
    tidemark.run()
    check_items(source, destination)


@pytest.mark.parametrize("sql", (
    "LOCK TABLE tidemark.attempts IN SHARE MODE",
    "SELECT pg_advisory_xact_lock(8388068008457105771)"))
def test_locked_state_store(tidemark, source, make_destination, sql):
    """A session that stands still in the state store does not block for
    ever either."""
    state = make_destination("postgres")
    workload.create_items(source, rows=20)
    tidemark.top["state"] = state.connection()
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp",
               retry={"attempts": 1})
    if "LOCK TABLE" in sql:
        tidemark.run()
    with state.connect(autocommit=False) as holder:
        holder.execute(sql)
        done = tidemark("run", "--json").expect(EXIT_ACCESS)
        message = done.pipeline()["error"]["message"]
        assert f"backend {holder.info.backend_pid} " in message
        assert "state store" in message
    tidemark.run()


def test_numbers_of_a_raw_table_go_on(tidemark, source, any_destination):
    """Another pipeline (a `copy` with other arguments, say) that appends to
    the same table: the view shows the newest row all the same."""
    destination = any_destination
    workload.create_items(source, rows=5)
    sync_items(tidemark, source, destination, "xmin", "append")
    for _ in range(3):
        tidemark.run()
        source.execute("UPDATE items SET name = name || '.'")
    tidemark.run()
    settings = tidemark.pipelines.pop("items")
    tidemark.pipeline("renamed", **settings).write_config()
    source.execute("UPDATE items SET name = 'new'")
    tidemark.run()
    oracle.check_equal(source, destination, "items",
                       f"{destination.schema}.items", oracle.ITEMS,
                       pipeline="renamed")
    # And back: the first one's own count is behind by now.
    for name in ("items", "renamed", "items"):
        tidemark.pipelines.clear()
        tidemark.pipeline(name, **settings).write_config()
        source.execute(f"UPDATE items SET name = 'by {name}'")
        tidemark.run()
        check_items(source, destination, pipeline=name)


# By hand, on the row that keeps the mark; and the words that say so.
BY_HAND = {
    "deleted": ("DELETE FROM {}", "the row is gone"),
    "batch": ("UPDATE {} SET batch_id = 'x'",
              "batch_id is 'x', and this run left '"),
    "fence": ("UPDATE {} SET fence = fence + 1000000",
              "the fencing token (fence) there is 100000"),
}
IN_CLICKHOUSE = ("INSERT INTO {0}_raw SELECT * REPLACE ({1}, _tidemark_version"
                 " + 99 AS _tidemark_version) FROM {0}_raw FINAL")
CLICKHOUSE_SETS = {"deleted": "1 AS _tidemark_deleted",
                   "batch": "'x' AS batch_id",
                   "fence": "fence + 1000000 AS fence"}


@pytest.mark.thinned(4)
@pytest.mark.parametrize("engine", ("postgres", "mariadb", "mysql", "sqlite",
                                    "clickhouse"))
@pytest.mark.parametrize("how", BY_HAND)
def test_mark_that_a_hand_altered(tidemark_failpoints, source,
                                  make_destination, engine, how):
    """Nobody has taken over: the run says that it knows what differs, and not
    who did it; the next one goes on."""
    tidemark = tidemark_failpoints
    destination = make_destination(engine)
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp", batch={"rows": 5})
    tidemark.run()
    workload.change_items(source, "true")
    run = tidemark.start("run", "--json", failpoints="state_saved=stop@1")
    wait_for(lambda: run.stopped() or not run.alive(), step=0.01,
             what="the failpoint")
    marks = f"{destination.schema}._tidemark_watermark"
    sql, words = BY_HAND[how]
    if engine == "clickhouse":
        sql = IN_CLICKHOUSE.format("{0}", CLICKHOUSE_SETS[how])
    destination.execute(sql.format(marks))
    run.signal(signal.SIGCONT)
    told = run.wait().expect(EXIT_BUSY).pipeline()["error"]["message"]
    for part in ("or somebody altered its row in ", "_tidemark_watermark",
                 words, "nothing ", "`tidemark runs`", "`tidemark verify`"):
        assert part in told, told
    tidemark.run()
    check_items(source, destination)
    assert written(tidemark.run().pipeline()) == 0
