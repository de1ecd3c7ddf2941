"""`tidemark backfill` on days when others are at work too: given up and begun
anew, over a store that several machines share, beside a changing table."""

import signal
import threading
import time

import pytest

import workload
from bench import EXIT_OK, EXIT_STOPPED, sync_items
from servers import wait_for
from test_backfill import check, chunks, damage, in_store, no_rows_left


@pytest.mark.parametrize("how", ("again", "cancel"))
def test_begun_chunk_is_read_from_the_beginning(tidemark, source,
                                                make_destination, how):
    """Of an earlier backfill of the window nothing stays: neither how far its
    chunks were, nor their rows at the destination."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=3000)
    sync_items(tidemark, source, destination, "sequence", batch={"rows": 10})
    tidemark.run()
    chunks(tidemark, "--queue")
    worker = tidemark.start("worker", "--chunks")
    wait_for(lambda: destination.query(
        "SELECT FROM _tidemark_watermark WHERE pipeline <> 'items' AND "
        "rows_total > 300"), 20, 0.005, "a chunk's batches")
    worker.signal(signal.SIGTERM)
    worker.wait().expect(EXIT_STOPPED)
    assert in_store(tidemark)[0][1] == "queued"
    damage(destination)
    if how == "cancel":
        tidemark("backfill", "items", "--cancel").expect(EXIT_OK)
        no_rows_left(destination)
    chunks(tidemark, *["--again"] * (how == "again"))
    assert in_store(tidemark)[0][1:] == ("done", 1, 3000)
    check(source, destination, None)
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
            "OFFSET 1"), 20, what="two that would alter the table")
    backfill.wait().expect(EXIT_OK)
    tidemark.run()
    check(source, destination)
    assert destination.query("SELECT DISTINCT extra FROM items") == [(5,)]
