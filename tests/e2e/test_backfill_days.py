"""`tidemark backfill` on days when others are at work too: given up and begun
anew, over a store that several machines share, beside a changing table."""

import os
import re
import signal
import time

import pytest

import workload
from bench import EXIT_OK, EXIT_STOPPED, sync_items
from oracle import check_items
from servers import wait_for
from terminal import on_a_terminal, read_terminal
from test_backfill import chunks, damage, in_store, no_rows_left


@pytest.mark.parametrize("how", ("again", "cancel"))
def test_begun_chunk_is_read_from_the_beginning(tidemark, source,
                                                make_destination, how):
    """An earlier backfill of the window leaves nothing behind: neither the
    progress of its chunks, nor their rows at the destination."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=3000)
    sync_items(tidemark, source, destination, "sequence", batch={"rows": 10})
    tidemark.run()
    chunks(tidemark, "--queue")
    worker = tidemark.start("worker", "--chunks")
    wait_for(lambda: destination.query(
        "SELECT FROM _tidemark_watermark WHERE pipeline <> 'items' AND "
        "rows_total > 300"), step=0.005, what="a chunk's batches")
    worker.signal(signal.SIGTERM)
    worker.wait().expect(EXIT_STOPPED)
    assert in_store(tidemark)[0][1] == "queued"
    damage(destination)
    if how == "cancel":
        tidemark("backfill", "items", "--cancel").expect(EXIT_OK)
        no_rows_left(destination)
    chunks(tidemark, *["--again"] * (how == "again"))
    assert in_store(tidemark)[0][1:] == ("done", 1, 3000)
    check_items(source, destination, pipeline=None)
    no_rows_left(destination)


def test_new_column_meets_several_workers(tidemark, source, make_destination):
    """Each of them finds the target without it; one of them adds it."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=60)
    sync_items(tidemark, source, destination, "timestamp", "append")
    tidemark.run()
    source.execute("ALTER TABLE items ADD extra integer DEFAULT 5")
    with destination.connect() as db:
        db.execute("SELECT pg_advisory_lock(x'7469646d'::int)")
        backfill = tidemark.start("backfill", "items", "--workers", "2",
                                  "--chunk-rows", "20")
        wait_for(lambda: destination.query(
            "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted "
            "OFFSET 1"), what="two that would alter the table")
    backfill.wait().expect(EXIT_OK)
    tidemark.run()
    check_items(source, destination)
    assert destination.query("SELECT DISTINCT extra FROM items") == [(5,)]


def test_workers_over_a_store_that_is_a_server(tidemark, source,
                                               make_destination, make_database):
    """Four workers and a fifth command claim chunks from a PostgreSQL store.
    Two are killed again and again, and the store's server ends the sessions of
    all. Each chunk is done, and counted, once."""
    destination, store = make_destination("postgres"), make_database("state")
    tidemark.top["state"] = {"url": store.url(), "lease": "3s",
                             "password": store.connection()["password"]}
    workload.create_items(source, rows=3000)
    sync_items(tidemark, source, destination, "xmin", batch={"rows": 50})
    tidemark.run()
    tidemark.pipelines["items"]["pace"] = {"rows_per_second": 500}
    tidemark.write_config()
    damage(destination)
    plan = chunks(tidemark, "--queue", "--chunk-rows", "150")
    workers = [tidemark.start("worker", "--chunks", "--once")
               for _ in range(4)]
    kills = 0

    def states():
        return [state for state, in store.query("SELECT state FROM tidemark.chunks")]

    try:
        with workload.Writers(source, threads=1):
            while any(state in ("queued", "running") for state in states()):
                time.sleep(0.25)
                kills += 1
                workers[kills % 2].kill()
                workers[kills % 2] = tidemark.start("worker", "--chunks",
                                                    "--once")
                if kills == 3:
                    with store.cluster.admin() as admin:
                        admin.execute(
                            "SELECT pg_terminate_backend(pid) FROM "
                            "pg_stat_activity WHERE datname = %s AND "
                            "pid <> pg_backend_pid()", [store.database])
            for worker in workers:
                worker.wait().expect(EXIT_OK)
    finally:
        for worker in workers:
            if worker.alive():
                worker.kill()
    assert kills > 3 and states() == ["done"] * len(plan)
    # One that was killed with its chunk done has left it to its end.
    wait_for(lambda: store.query(
        "SELECT count(*) FROM tidemark.leases WHERE name LIKE '%/%' AND until "
        "> extract(epoch FROM clock_timestamp()) * 1000000") == [(0,)],
             what="the end of the chunks' leases")
    workload.settle(source)
    tidemark.run()
    tidemark.run()
    check_items(source, destination)
    no_rows_left(destination)


@pytest.mark.parametrize("workers", ("1", "2"))
def test_live_line_and_control_c(tidemark, source, make_destination, workers):
    """The line shows chunks done, running and left, the rate, the time still
    needed and the present hold, with the workers' log above. One Ctrl-C lets
    each worker finish its batch."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=2000)
    sync_items(tidemark, source, destination, "sequence")
    tidemark.run()
    file = os.path.join(tidemark.dir, "pause")
    tidemark.pipelines["items"]["pace"] = {"rows_per_second": 500,
                                           "pause_file": file}
    tidemark.write_config()
    process, ours = on_a_terminal(tidemark, "backfill", "items", "--workers",
                                  workers, "--chunk-rows", "200")
    try:
        # A chunk's log may come behind the line that counts it.
        patterns = (rb"\ritems: [1-9] of 10 chunks, [12] running"
                    rb"(?: \(\d held\))?, \d left, \d+ rows/s, about \ds left",
                    rb"\r\x1b\[K20", rb"info items/\w+/1: done")
        seen = read_terminal(ours, *patterns)
        for each in patterns:
            assert re.search(each, seen), seen
        open(file, "w", encoding="ascii").close()
        read_terminal(
            ours, rb"\ritems: \d of 10 chunks, [12] running \([12] held\), "
                  rb"[^\r\n]+, held by pace\.pause_file since 20[^\r\n]+"
                  rb" exists")
        os.write(ours, b"\x03")
        rest = read_terminal(ours)
        assert process.wait(20) == EXIT_STOPPED, rest
    finally:
        process.kill()
        os.close(ours)
    assert {state for _, state, *_ in in_store(tidemark)} == {"queued", "done"}


def test_workers_share_the_rate(tidemark, source, make_destination):
    destination = make_destination("postgres")
    workload.create_items(source, rows=2400)
    sync_items(tidemark, source, destination, "sequence")
    tidemark.run()
    tidemark.pipelines["items"]["pace"] = {"rows_per_second": 400}
    tidemark.write_config()
    begun = time.monotonic()
    chunks(tidemark, "--workers", "4", "--chunk-rows", "600")
    assert time.monotonic() - begun > 5


@pytest.mark.parametrize("engine", ("postgres", "mariadb", "mysql", "sqlite",
                                    "duckdb"))
def test_what_is_appended_afterwards_is_newer(tidemark, source,
                                              make_destination, engine):
    """The numbers of TABLE_raw go on behind those that a backfill gave, though
    its chunks have left no trace."""
    destination = make_destination(engine)
    workload.create_items(source, rows=60)
    sync_items(tidemark, source, destination, "timestamp", "append")
    tidemark.run()
    destination.execute("UPDATE items_raw SET name = 'damaged'")
    chunks(tidemark, "--chunk-rows", "20")
    no_rows_left(destination)
    workload.change_items(source, "id IN (31, 59)")
    workload.settle(source)
    tidemark.run()
    check_items(source, destination)
