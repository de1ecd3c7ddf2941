"""`tidemark backfill` and `worker`: chunks that are each done once, whatever
becomes of the workers and whatever runs beside."""

import os
import random
import signal
import sqlite3
import time

import duckdb
import pytest

import workload
from bench import (EXIT_CONFIG, EXIT_DATA, EXIT_DIFFERENT, EXIT_OK,
                   EXIT_SCHEMA, EXIT_STOPPED, sync_items, written)
from oracle import check_items
from servers import wait_for

ENGINES = ("postgres", "mariadb", "mysql", "sqlite", "duckdb")


def spread(source, step="1 second"):
    """Marks one after another, in place of one for all."""
    source.execute("UPDATE items SET updated_at = timestamptz '2024-01-01' "
                   f"+ id * interval '{step}'")


def chunks(tidemark, *args, expect=EXIT_OK):
    done = tidemark("backfill", "items", "--json", *args).expect(expect)
    return done.json()["chunks"]


def in_store(tidemark):
    with sqlite3.connect(tidemark.state_file) as db:
        return db.execute(
            "SELECT chunk_id, state, attempts, row_count FROM chunks "
            "ORDER BY number").fetchall()


def in_store_or_none(tidemark):
    try:
        return in_store(tidemark)
    except sqlite3.OperationalError:  # no table yet
        return None


def damage(destination, where="id % 3 = 0"):
    """Damage rows so that only a second look at the source mends them."""
    destination.execute(f"UPDATE items SET name = 'damaged' WHERE {where}",
                        "DELETE FROM items WHERE id % 10 = 1")


def no_rows_left(destination):
    """Only the pipeline's own row is left in _tidemark_watermark."""
    assert [name for name, in destination.query(
        "SELECT pipeline FROM _tidemark_watermark")] == ["items"]


@pytest.mark.parametrize("engine", ENGINES)
def test_mends_each_engine(tidemark, make_source, make_destination, engine):
    """Ranges, position and comparison in every source and destination."""
    source, destination = make_source(engine), make_destination(engine)
    workload.create_items(source, rows=300)
    for first in range(0, 300, 20):  # ties, and a chunk's end among them
        workload.update_items(source, f"id > {first} AND id <= {first + 20}",
                              "quantity = quantity",
                              f"2024-01-01 00:00:{first // 20:02}")
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 7})
    tidemark.run()
    before = tidemark("watermark", "show", "--json").json()
    damage(destination)
    plan = chunks(tidemark, "--plan", "--chunk-rows", "50")
    assert [c["rows"] for c in plan] == [60] * 5
    assert plan[0]["from"] is None and plan[-1]["to"] is None
    assert [c["to"] for c in plan[:-1]] == [c["from"] for c in plan[1:]]
    assert not os.path.exists(tidemark.state_file) or not in_store(tidemark)
    done = chunks(tidemark, "--chunk-rows", "50")
    assert [(c["state"], c["rows"], c["attempts"]) for c in done] == [
        ("done", 60, 1)] * 5
    check_items(source, destination, pipeline=None)
    no_rows_left(destination)
    assert tidemark("watermark", "show", "--json").json() == before
    assert written(tidemark.run().pipeline()) == 0
    some = chunks(tidemark, "--plan", "--from", "2024-01-01T05:30:05+05:30",
                  "--to", "2024-01-01T00:00:10Z")
    assert [c["rows"] for c in some] == [100]


@pytest.mark.parametrize("strategy, mode", (
    ("xmin", "upsert"), ("sequence", "delete_insert"),
    ("timestamp", "append"), ("xmin", "append")))
def test_mends_each_strategy(tidemark, source, make_destination, strategy,
                             mode):
    destination = make_destination("postgres")
    workload.create_items(source, rows=300)
    sync_items(tidemark, source, destination, strategy, mode)
    tidemark.run()
    table = "items_raw" if mode == "append" else "items"
    destination.execute(f"DELETE FROM {table} WHERE id % 3 = 0",
                        f"UPDATE {table} SET name = 'x' WHERE id % 5 = 0")
    done = chunks(tidemark, "--chunk-rows", "50", "--workers", "2")
    assert {c["state"] for c in done} == {"done"}
    assert sum(c["rows"] for c in done) == 300
    check_items(source, destination)
    no_rows_left(destination)


def test_window_and_input(tidemark, source, make_destination):
    """Only the window's rows; and what is refused, with exit 2."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=100)
    spread(source, "1 day")
    sync_items(tidemark, source, destination, "timestamp")
    missing = tidemark("backfill", "items").expect(EXIT_SCHEMA)
    assert "tidemark run items" in missing.err
    tidemark.run()
    destination.execute("UPDATE items SET name = 'damaged'")
    window = ("--from", "2024-01-11", "--to", "2024-01-21 00:00:00+00")
    assert sum(c["rows"] for c in chunks(tidemark, *window)) == 10
    assert destination.query("SELECT min(id), max(id), count(*) FROM items "
                             "WHERE name <> 'damaged'") == [(10, 19, 10)]
    again = tidemark("backfill", "items", *window).expect(EXIT_OK)
    assert "already" in again.err
    assert chunks(tidemark, *window, "--again")[0]["attempts"] == 1
    for args, words in (
            (("--from", "2024-02-01", "--to", "2024-01-01"), "is after"),
            (("--from", "yesterday"), "not a value of column updated_at"),
            (("--chunk-rows", "0"), "chunk-rows")):
        refused = tidemark("backfill", "items", *args).expect(EXIT_CONFIG)
        assert words in refused.err
    chunks(tidemark, "--queue", "--from", "2024-02-01")
    tidemark.pipelines["items"]["source"]["where"] = "id < 1000"
    tidemark.write_config()
    refused = tidemark("backfill", "items", "--to", "2024-02-02").expect(
        EXIT_CONFIG)
    assert "under another config" in refused.err and "--cancel" in refused.err
    chunks(tidemark, "--to", "2024-02-01")
    tidemark("backfill", "items", "--cancel").expect(EXIT_OK)
    chunks(tidemark, "--to", "2024-02-02")


def test_windows_at_the_same_moment(tidemark, source, make_destination):
    """Neither call sees the other's chunks while it plans its own. One of two
    windows that overlap is refused, and the same window is queued once."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "sequence")
    tidemark.run()
    # Half a second for those of a window to be counted.
    tidemark.pipelines["items"]["source"]["where"] = \
        "pg_sleep(0.01) IS NOT NULL"
    tidemark.write_config()

    def at_once(*windows):
        calls = [tidemark.start("backfill", "items", "--queue", "--chunk-rows",
                                "40", *window) for window in windows]
        done = [call.wait() for call in calls]
        return sorted(each.code for each in done), done

    codes, done = at_once(("--to", "60"), ("--from", "40"))
    assert codes == [EXIT_OK, EXIT_CONFIG], done
    assert "rows in common" in "".join(each.err for each in done)
    assert len({chunk.split("/")[1] for chunk, *_ in in_store(tidemark)}) == 1
    tidemark("backfill", "items", "--cancel").expect(EXIT_OK)
    codes, done = at_once((), ())
    assert codes == [EXIT_OK, EXIT_OK], done
    assert "going on: 0 of 3 chunks" in "".join(each.err for each in done)
    assert len(in_store(tidemark)) == 3


def test_rows_without_a_mark(tidemark, source, make_destination):
    destination = make_destination("postgres")
    workload.create_items(source, rows=50)
    source.execute("ALTER TABLE items ALTER updated_at DROP NOT NULL",
                   "UPDATE items SET updated_at = NULL WHERE id <= 5")
    sync_items(tidemark, source, destination, "timestamp",
               watermark={"nulls": "include"})
    tidemark.run()
    damage(destination)
    done = chunks(tidemark)
    assert [(c["nulls"], c["rows"]) for c in done] == [(True, 5), (False, 45)]
    check_items(source, destination)
    tidemark.pipelines["items"]["watermark"]["nulls"] = "error"
    tidemark.write_config()
    refused = tidemark("backfill", "items", "--again").expect(EXIT_DATA)
    assert "5 rows" in refused.err


@pytest.mark.parametrize("workers", ("1", "3"))
def test_poisoned_chunk_is_set_aside(tidemark, source, make_destination,
                                     workers):
    destination = make_destination("postgres")
    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "sequence")
    tidemark.run()
    destination.execute("DELETE FROM items WHERE id > 1", "ALTER TABLE items ADD "
                        "CONSTRAINT poison CHECK (id <> 42)")
    failed = chunks(tidemark, "--chunk-rows", "10", "--workers", workers,
                    expect=EXIT_DATA)
    assert [c["state"] for c in failed].count("failed") == 1
    assert [c["state"] for c in failed].count("done") == 9
    bad = next(c for c in failed if c["state"] == "failed")
    assert "poison" in bad["error"]
    status = tidemark("status", "--json").expect(EXIT_OK).json()
    assert status["pipelines"][0]["chunks"] == failed
    sums = status["pipelines"][0]["backfill"]
    assert [sums[name] for name in ("chunks", "done", "failed", "rows")] == [
        10, 9, 1, 100]
    assert sums["rows_per_second"] > 0 and sums["eta_seconds"] >= 0
    assert "1 failed" in tidemark("status").expect(EXIT_OK).out
    again = tidemark("backfill", "items").expect(EXIT_DATA)
    assert "1 of 10 chunks failed" in again.err
    destination.execute("ALTER TABLE items DROP CONSTRAINT poison")
    assert {c["state"] for c in chunks(tidemark)} == {"done"}
    check_items(source, destination)


def test_bad_rows_are_kept_aside(tidemark, source, make_destination):
    destination = make_destination("postgres")
    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "sequence",
               on_bad_row="dead_letter")
    tidemark.run()
    destination.execute("DELETE FROM items WHERE id > 1", "ALTER TABLE items "
                        "ADD CONSTRAINT poison CHECK (id <> 42)")
    assert {c["state"] for c in chunks(tidemark, "--chunk-rows", "30")} == {
        "done"}
    letters = tidemark("dead-letters", "--json").expect(EXIT_OK).json()
    assert [x["key"] for x in letters["dead_letters"]] == [{"id": 42}]
    assert destination.query("SELECT count(*) FROM items") == [(99,)]


def test_worker_drains(tidemark, source, make_destination):
    """SIGTERM: the batch in hand is finished, the chunk given back, and the
    next worker goes on where it was."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=4000)
    sync_items(tidemark, source, destination, "sequence",
               batch={"rows": 10})
    tidemark.run("--max-batches", "1")
    chunks(tidemark, "--queue", "--chunk-rows", "100000")
    worker = tidemark.start("worker", "--chunks")
    wait_for(lambda: destination.query("SELECT count(*) FROM items")[0][0] > 50,
             what="the first batches")
    worker.signal(signal.SIGTERM)
    worker.wait().expect(EXIT_STOPPED)
    here = destination.query("SELECT count(*) FROM items")[0][0]
    assert 0 < here < 4000
    assert in_store(tidemark)[0][1:3] == ("queued", 0)
    done = tidemark("worker", "--once", "--json").expect(EXIT_OK)
    assert done.json()["chunks_done"] == 1
    assert in_store(tidemark)[0][1:] == ("done", 1, 4000)
    check_items(source, destination)
    no_rows_left(destination)


def test_locked_target_is_waited_for(tidemark, source, make_destination):
    """A file that another process has open: the chunk's turn comes later, and
    no attempt is counted."""
    destination = make_destination("duckdb")
    workload.create_items(source, rows=30)
    sync_items(tidemark, source, destination, "sequence")
    tidemark.run()
    chunks(tidemark, "--queue")
    with duckdb.connect(destination.path):
        worker = tidemark.start("worker", "--chunks", "--once")
        time.sleep(2)
        assert worker.alive()
    worker.wait().expect(EXIT_OK)
    assert in_store(tidemark)[0][1:] == ("done", 1, 30)


POINTS = ("lease_taken", "snapshot_opened", "first_row", "mid_page",
          "page_end", "stage_created", "mid_load", "stage_full",
          "before_merge", "after_delete", "after_merge", "before_watermark",
          "after_watermark", "commit_sent", "commit_acked", "in_recovery",
          "lease_released")


def test_killed_at_each_point(tidemark_failpoints, source, make_destination):
    """A worker that dies there leaves a chunk that is done again, once."""
    tidemark, destination = tidemark_failpoints, make_destination("postgres")
    workload.create_items(source, rows=60)
    sync_items(tidemark, source, destination, "sequence",
               batch={"rows": 7})
    tidemark.run()
    for point in POINTS:
        damage(destination)
        chunks(tidemark, "--again", "--queue", "--chunk-rows", "30")
        died = tidemark("worker", "--chunks", "--once",
                        failpoints=f"{point}=kill@2")
        assert died.code == -signal.SIGKILL, point
        tidemark("worker", "--chunks", "--once").expect(EXIT_OK)
        assert [(state, rows) for _, state, _, rows in in_store(tidemark)
                ] == [("done", 30)] * 2, point
        check_items(source, destination)
        no_rows_left(destination)


def pause(worker, destination):
    """Stop it where it has nothing locked."""
    while True:
        worker.signal(signal.SIGSTOP)
        wait_for(worker.stopped, what="the stop")
        time.sleep(0.05)  # let requests begin that are sent already
        if not destination.query(
                "SELECT FROM pg_stat_activity WHERE xact_start IS NOT NULL "
                "AND datname = current_database() "
                "AND pid <> pg_backend_pid()"):
            return
        worker.signal(signal.SIGCONT)
        time.sleep(0.003)


@pytest.mark.parametrize("strategy, mode", (
    ("timestamp", "upsert"), ("xmin", "upsert"), ("xmin", "append"),
    ("timestamp", "append"), ("xmin", "delete_insert")))
def test_no_older_version_wins(tidemark, source, make_destination, strategy,
                               mode):
    """A worker has read rows and stands still. They change, and a run of the
    pipeline delivers the change. The worker then loads the new versions, and
    not those it has read."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=3000)
    spread(source)
    sync_items(tidemark, source, destination, strategy, mode,
               batch={"rows": 20})
    tidemark.run()
    table = "items_raw" if mode == "append" else "items"
    destination.execute(f"UPDATE {table} SET name = 'damaged'")
    # Rows that change leave the window, and do not come again in it.
    window = ("--to", "2025-01-01") if strategy == "timestamp" else ()
    plan = chunks(tidemark, "--queue", "--chunk-rows", "100000", *window)
    worker = tidemark.start("worker", "--chunks", "--once")
    wait_for(lambda: destination.query(
        "SELECT FROM _tidemark_watermark WHERE batch_id <> '' AND pipeline = "
        f"'{plan[0]['chunk_id']}'"), step=0.005, what="the first batch")
    pause(worker, destination)
    assert worker.alive() and in_store(tidemark)[0][1] == "running"
    workload.change_items(source, "true")
    workload.settle(source)
    assert tidemark.run().pipeline()["rows_read"] >= 3000
    worker.signal(signal.SIGCONT)
    worker.wait().expect(EXIT_OK)
    check_items(source, destination)


@pytest.mark.parametrize("strategy", ("timestamp", "xmin"))
def test_killed_workers(tidemark, source, make_destination, full, strategy):
    """Four workers, two of them killed again and again, a live sync and
    writers beside: equal at the end, every chunk counted once."""
    destination = make_destination("postgres")
    rows = 2_000_000 if full else 6000
    workload.create_items(source, rows=rows)
    spread(source)
    sync_items(tidemark, source, destination, strategy,
               batch={"rows": 20_000 if full else 100})
    tidemark.run(timeout=600)
    damage(destination)
    plan = chunks(tidemark, "--queue", "--chunk-rows", str(rows // 40))
    assert sum(c["rows"] for c in plan) == rows
    chance = random.Random(7)
    kills = 0
    started = []

    def start(*args, **more):
        started.append(tidemark.start(*args, **more))
        return started[-1]

    def work():
        return start("worker", "--chunks", "--once")

    try:
        with workload.Writers(source, threads=1):
            live = start("run", "--watch", "100ms", "-q", capture=False)
            workers = [work() for _ in range(4)]
            while any(state in ("queued", "running")
                      for _, state, _, _ in in_store(tidemark)):
                time.sleep(chance.uniform(0.1, 0.4))
                victim = chance.randrange(2)
                if workers[victim].alive():
                    kills += 1
                    workers[victim].kill()
                    workers[victim] = work()
            for worker in workers:
                worker.wait().expect(EXIT_OK)
            live.signal(signal.SIGTERM)
            live.wait().expect(EXIT_STOPPED)
    finally:
        for each in started:
            if each.alive():
                each.kill()
    done = in_store(tidemark)
    assert kills > 2
    assert len({name for name, *_ in done}) == len(plan) == len(done)
    assert {state for _, state, _, _ in done} == {"done"}
    workload.settle(source)
    tidemark.run(timeout=600)
    tidemark.run()
    if full:  # too many for here
        sums = "SELECT count(*), sum(hashtextextended(items::text, 0)) FROM "
        assert source.query(sums + "items") == destination.query(
            sums + "items")
    else:
        check_items(source, destination)
    no_rows_left(destination)


@pytest.mark.parametrize("strategy", ("timestamp", "xmin"))
def test_rows_of_another_source_stay_out(tidemark, make_source,
                                         make_destination, strategy):
    """The mark says whose rows they are; a chunk that is queued already asks,
    too."""
    source, other = make_source("postgres"), make_source("postgres")
    destination = make_destination("postgres")
    for each in (source, other):
        workload.create_items(each, rows=100)
    other.execute("UPDATE items SET name = 'staging'")
    sync_items(tidemark, source, destination, strategy)
    tidemark.run()
    chunks(tidemark, "--queue", "--chunk-rows", "50")
    tidemark.connect("source", other.connection())
    tidemark.write_config()
    done = tidemark("worker", "--chunks", "--once")
    assert done.code == EXIT_SCHEMA, done
    done = tidemark("backfill", "items").expect(EXIT_SCHEMA)
    assert "another database" in done.err
    check_items(source, destination)


@pytest.mark.parametrize("mode", ("upsert", "delete_insert"))
@pytest.mark.parametrize("hidden", (False, True))
def test_a_gap_is_filled(tidemark, source, make_destination, hidden, mode):
    """Rows go straight into a gap. One that a look at a few of them has missed
    is in the way: then the batch is merged."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=20000)
    spread(source)
    sync_items(tidemark, source, destination, "timestamp", mode=mode)
    tidemark.run()
    destination.execute("DELETE FROM items WHERE id <> 20000 AND id <> "
                        f"{8 if hidden else 20000}",
                        "UPDATE items SET name = 'damaged' WHERE id = 8")
    sums = []
    for again in ((), ("--again",)):
        done, = chunks(tidemark, "--to", "2024-01-01 05:33:20", *again)
        assert done["rows"] == 19999
        with sqlite3.connect(tidemark.state_file) as db:
            sums += db.execute("SELECT checksum FROM chunks").fetchall()
    assert sums[0] == sums[1] != (None,)
    check_items(source, destination)


@pytest.mark.parametrize("mode", ("upsert", "delete_insert"))
@pytest.mark.parametrize("newer", (False, True))
def test_a_gap_that_another_writer_fills(tidemark, source, make_destination,
                                         newer, mode):
    """Nobody else has the row as the look at the gap is made. It comes before
    the rows go straight in, and then the batch is merged: a newer version
    stays."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=20000)
    spread(source)
    sync_items(tidemark, source, destination, "timestamp", mode=mode)
    tidemark.run()
    destination.execute("CREATE TABLE kept AS SELECT * FROM items",
                        "DELETE FROM items WHERE id <> 20000")
    with destination.connect(autocommit=False) as rival:
        rival.execute("INSERT INTO items SELECT * FROM kept WHERE id = 700")
        rival.execute("UPDATE items SET name = 'rival', updated_at = %s "
                      "WHERE id = 700", ("2031-01-01" if newer
                                         else "2001-01-01",))
        backfill = tidemark.start("backfill", "items", "--json", "--to",
                                  "2024-01-01 05:33:20")
        wait_for(lambda: not backfill.alive() or destination.query(
            "SELECT FROM pg_locks WHERE NOT granted"), what="the straight way")
        assert backfill.alive(), backfill.wait()
        rival.commit()
    done = backfill.wait()
    assert done.code == (EXIT_DIFFERENT if newer else EXIT_OK), done
    rows = destination.query("SELECT name FROM items WHERE id = 700")
    assert (rows == [("rival",)]) == newer
    destination.execute("DELETE FROM items WHERE id = 700",
                        "INSERT INTO items SELECT * FROM kept WHERE id = 700")
    check_items(source, destination)


@pytest.mark.parametrize("engine", ("postgres", "sqlite", "duckdb"))
@pytest.mark.parametrize("how", ("refresh", "dropped"))
def test_target_that_was_rebuilt(tidemark_failpoints, source, make_destination,
                                 engine, how):
    """A chunk was in the middle of the old table. PostgreSQL tells the new one
    from it, and all of its rows are read. Elsewhere they are found missing, and
    the same command loads them."""
    tidemark, destination = tidemark_failpoints, make_destination(engine)
    workload.create_items(source, rows=60)
    sync_items(tidemark, source, destination, "sequence", batch={"rows": 7})
    tidemark.run()
    damage(destination)
    chunks(tidemark, "--queue", "--chunk-rows", "30")
    died = tidemark("worker", "--chunks", "--once",
                    failpoints="commit_acked=kill@3")
    assert died.code == -signal.SIGKILL
    if how == "refresh":
        tidemark("run", "--full-refresh").expect(EXIT_OK)
    else:
        destination.execute("DROP TABLE items")
        tidemark.run()
    check_items(source, destination)
    # In front of where the chunk was.
    destination.execute("DELETE FROM items WHERE id < 5")
    done = tidemark("worker", "--chunks", "--once")
    if engine != "postgres":
        assert done.code == EXIT_DIFFERENT and "4 rows" in done.err, done
        done = tidemark("backfill", "items")
    done.expect(EXIT_OK)
    assert [(state, rows) for _, state, _, rows in in_store(tidemark)
            ] == [("done", 30)] * 2
    check_items(source, destination)
    no_rows_left(destination)
