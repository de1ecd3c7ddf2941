"""Workers on bad days. One wakes after its lease, a chunk fails for good, two
backfills share a queue, and the state store fails over."""

import signal

import pytest

import workload
from bench import (EXIT_CONFIG, EXIT_DATA, EXIT_OK, EXIT_STATE,
                   password_connection, sync_items)
from ends import PostgresEnd
from oracle import check_items
from servers import APP, wait_for
from state import StateStore
from test_backfill import chunks, damage, no_rows_left
from test_serve import configure, fill, starts, stop
from test_timelines import REPLICATES, copy_of, promote, replay

__all__ = ["copy_of"]  # a fixture

CHUNKS = ("SELECT number, state, attempts, row_count FROM tidemark.chunks "
          "ORDER BY queued_at, number")


def begin(tidemark, source, destination, store, rows=60, **more):
    """A damaged table, and a store that is a server."""
    tidemark.top["state"] = {**store, "lease": "3s"}
    workload.create_items(source, rows=rows)
    sync_items(tidemark, source, destination, "sequence",
               batch={"rows": 10}, **more)
    tidemark.run()
    damage(destination)


def ids_of(planned):
    return [each["chunk_id"] for each in planned]


@pytest.mark.parametrize("point", ("page_end=stop@1", "mid_load=stop@2",
                                   "after_watermark=stop@1",
                                   "commit_acked=stop@3"))
def test_a_worker_that_wakes_is_fenced(tidemark_failpoints, source,
                                       make_destination, make_database, point):
    """It stood still for longer than its lease. Another did its chunk, and
    somebody wrote rows since. It changes nothing, neither there nor in the
    store, and says why."""
    tidemark, store = tidemark_failpoints, make_database("state")
    destination = make_destination("postgres")
    begin(tidemark, source, destination, store.connection())
    first, second = ids_of(chunks(tidemark, "--queue", "--chunk-rows", "30"))
    asleep = tidemark.start("worker", "--chunk", first, "--json",
                            failpoints=point)
    wait_for(lambda: asleep.stopped() or not asleep.alive(), what=point)
    assert asleep.alive(), asleep.wait()
    tidemark("worker", "--chunks", "--once").expect(EXIT_OK)
    done = [(1, "done", 2, 30), (2, "done", 1, 30)]
    assert store.query(CHUNKS) == done
    rows = "SELECT * FROM items ORDER BY id"
    assert len(destination.query(rows)) == 60
    destination.execute("UPDATE items SET name = 'later' WHERE id < 31",
                        "DELETE FROM items WHERE id = 7")
    before = destination.query(rows)
    asleep.signal(signal.SIGCONT)
    woken = asleep.wait().expect(EXIT_STATE)
    assert "lease" in woken.err and first in woken.err, woken
    assert store.query(CHUNKS) == done
    assert destination.query(rows) == before
    no_rows_left(destination)
    # The chunk is done, and whoever asks is told so.
    told = tidemark("worker", "--chunk", first, "--json").expect(EXIT_OK)
    assert told.json()["attempts"] == 2 and second


def test_one_that_fails_for_good(tidemark, source, make_destination,
                                 make_database):
    """Two workers of one queue: the others go on, and the worker that had it
    says which, and ends with the error's exit code. So does `backfill`."""
    store, destination = make_database("state"), make_destination("postgres")
    begin(tidemark, source, destination, store.connection(), rows=120)
    planned = ids_of(chunks(tidemark, "--queue", "--chunk-rows", "20"))
    destination.execute(
        "ALTER TABLE items ADD CONSTRAINT poison CHECK (id <> 42) NOT VALID",
        "DELETE FROM items WHERE id = 42")
    workers = [tidemark.start("worker", "--chunks", "--once", "--json")
               for _ in range(2)]
    ended = [worker.wait() for worker in workers]
    assert sorted(each.code for each in ended) in (
        [EXIT_OK, EXIT_DATA], [EXIT_DATA]), ended
    bad, = [each for each in ended if each.code == EXIT_DATA]
    assert f"error {planned[2]}: " in bad.err and "poison" in bad.err, bad
    assert bad.json()["chunks_failed"] == 1
    assert [state for _, state, *_ in store.query(CHUNKS)] == [
        "done", "done", "failed", "done", "done", "done"]
    # Nobody takes it up again by himself, and each asker learns of it.
    tidemark("worker", "--chunks", "--once").expect(EXIT_OK)
    assert store.query(CHUNKS)[2][1:3] == ("failed", 1)
    status = tidemark("status", "--json").expect(EXIT_OK).json()
    failed, = [each for each in status["pipelines"][0]["chunks"]
               if each["state"] == "failed"]
    assert failed["chunk_id"] == planned[2] and "poison" in failed["error"]
    again = tidemark("backfill", "items").expect(EXIT_DATA)
    assert planned[2] in again.err and "1 of 6 chunks failed" in again.err
    destination.execute("ALTER TABLE items DROP CONSTRAINT poison")
    tidemark("backfill", "items").expect(EXIT_OK)
    check_items(source, destination)


def test_two_backfills_of_one_pipeline(tidemark, source, make_destination,
                                       make_database):
    """Their windows have no row in common. Workers take the older one first,
    each `backfill` waits for its own, and one that shares rows is refused."""
    store, destination = make_database("state"), make_destination("postgres")
    begin(tidemark, source, destination, store.connection(), rows=120)
    late = ids_of(chunks(tidemark, "--queue", "--chunk-rows", "20",
                         "--from", "61"))
    early = ids_of(chunks(tidemark, "--queue", "--chunk-rows", "20",
                          "--to", "61"))
    assert len(late) == len(early) == 3 and not set(late) & set(early)
    refused = tidemark("backfill", "items", "--queue", "--from", "50").expect(
        EXIT_CONFIG)
    assert "rows in common" in refused.err
    first = tidemark("worker", "--chunks", "--once").expect(EXIT_OK)
    took = [name for line in first.err.splitlines()
            for name in late + early if f" {name}: done" in line]
    assert took == late + early, first
    assert {state for _, state, *_ in store.query(CHUNKS)} == {"done"}
    check_items(source, destination)
    damage(destination)
    # One anew, while the other is done.
    size = ("--chunk-rows", "20")
    assert ids_of(chunks(tidemark, "--again", *size, "--to", "61")) == early
    assert [attempts for *_, attempts, _ in store.query(CHUNKS)] == [1] * 6
    chunks(tidemark, "--again", *size, "--from", "61")
    check_items(source, destination)
    no_rows_left(destination)


def test_a_pause_holds_up_nobody_else(tidemark, source, make_destination):
    """Chunks of two pipelines are queued, and the first is paused. A worker does
    the others, and those of the first when it is resumed."""
    destination = make_destination("postgres")
    configure(tidemark, source, destination, fill(source, "a", "b"),
              batch={"rows": 10})
    tidemark.run()
    for name in "ab":
        tidemark("backfill", name, "--queue", "--chunk-rows", "10").expect(
            EXIT_OK)
    tidemark("pause", "a").expect(EXIT_OK)
    worker = tidemark.start("worker", "--interval", "1ms")
    state = StateStore(tidemark)

    def done(name):
        return state.query("SELECT count(*) FROM {t}chunks "
                           f"WHERE pipeline = '{name}' AND state = 'done'")

    wait_for(lambda: done("b") == [(3,)], what="the chunks that may be done")
    # Its runs come as well, and none of the one that is paused.
    ran = len(starts(tidemark, "b"))
    wait_for(lambda: len(starts(tidemark, "b")) > ran + 2, what="runs")
    assert done("a") == [(0,)] and len(starts(tidemark, "a")) == 1
    tidemark("resume", "a").expect(EXIT_OK)
    wait_for(lambda: done("a") == [(3,)], what="the others")
    stop(worker)


def test_the_store_fails_over(tidemark_failpoints, source, make_destination,
                              own_cluster, copy_of):
    """A standby that misses the last claims becomes the store, while two
    workers stand in chunks that it knows as queued. They find it, are refused
    there, and do the chunks anew. Each is done, and nothing comes twice."""
    tidemark, destination = tidemark_failpoints, make_destination("postgres")
    primary = own_cluster(settings=REPLICATES)
    primary.create_database("state")
    standby = copy_of(primary, "standby")
    begin(tidemark, source, destination, password_connection(
        f"postgresql://{APP}@127.0.0.1:{primary.port},127.0.0.1:"
        f"{standby.port}/state?target_session_attrs=read-write"), rows=120)
    planned = ids_of(chunks(tidemark, "--queue", "--chunk-rows", "20"))
    tidemark("worker", "--chunk", planned[0]).expect(EXIT_OK)
    replay(standby, primary)
    standby.psql("postgres", "SELECT pg_wal_replay_pause()")
    wait_for(lambda: standby.psql(
        "postgres", "SELECT pg_get_wal_replay_pause_state()") == "paused\n",
             what="a replay that stands")
    workers = [tidemark.start("worker", "--chunks", "--once", "--json",
                              failpoints="after_watermark=stop@1")
               for _ in range(2)]
    for worker in workers:
        wait_for(worker.stopped, what="its first batch")
    before, after = (PostgresEnd(each, "state") for each in (primary, standby))
    assert [state for _, state, *_ in before.query(CHUNKS)].count(
        "running") == 2
    primary.program("pg_ctl", "-D", primary.data, "-m", "immediate", "stop")
    standby.order("SELECT pg_wal_replay_resume()")
    promote(standby)
    for worker in workers:
        worker.signal(signal.SIGCONT)
    ended = [worker.wait().expect(EXIT_OK) for worker in workers]
    told = after.query(CHUNKS)
    assert [(n, state, rows) for n, state, _, rows in told] == [
        (n, "done", 20) for n in range(1, 7)], (told, ended)
    assert sum(each.json()["chunks_done"] for each in ended) >= 5
    assert "6 of 6 chunks" in tidemark("backfill", "items").expect(
        EXIT_OK).out
    check_items(source, destination)
    no_rows_left(destination)
