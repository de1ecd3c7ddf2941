"""A long way to catch up, in bounded runs. No snapshot of the source is older
than a page and a moment."""

import collections
import contextlib
import os
import signal
import time

import pytest

import workload
from bench import EXIT_CONFIG, EXIT_OK, sync_items
from oracle import check_items
from servers import wait_for
from sessions import transactions

WAYS = (("postgres", "timestamp"), ("postgres", "xmin"),
        ("mariadb", "timestamp"), ("mysql", "timestamp"))
WAY_NAMES = [f"{engine}-{strategy}" for engine, strategy in WAYS]


def widen(source):
    """More than sockets hold, whose buffers may grow to 32 MiB: the server is
    in the midst of a page."""
    source.execute("UPDATE items SET payload = repeat('x', 16000)"
                   + ("::bytea" if source.engine == "postgres" else ""))


def is_left_alone(source):
    """For a second: between two pages there is no transaction either."""
    for _ in range(10):
        if transactions(source):
            return False
        time.sleep(0.1)
    return True


@contextlib.contextmanager
def locked(destination):
    """Nothing can be loaded meanwhile."""
    with destination.connect() as db:
        db.execute("BEGIN")
        db.execute("LOCK TABLE items IN EXCLUSIVE MODE")
        yield
        db.execute("ROLLBACK")


@pytest.mark.parametrize("engine, strategy", WAYS, ids=WAY_NAMES)
def test_snapshot_is_not_held(tidemark, make_source, make_destination, engine,
                              strategy):
    """While a load hangs: the page that is under way, of many batches, is left,
    and gone on with behind its last row."""
    source, destination = make_source(engine), make_destination("postgres")
    workload.create_items(source, rows=3000)
    widen(source)
    sync_items(tidemark, source, destination, strategy,
               batch={"bytes": "2MiB"})
    tidemark.run("--max-batches", "1")
    with locked(destination):
        running = tidemark.start("run", "--json")
        wait_for(lambda: destination.query(
            "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
            "AND datname = current_database()"), step=0.02, what="a load")
        wait_for(lambda: transactions(source), step=0.02, what="a page")
        wait_for(lambda: is_left_alone(source), step=0.1,
                 what="the end of the snapshot")
        assert running.alive()
    done = running.wait().expect(EXIT_OK).pipeline()
    assert done["rows_read"] > 2000
    check_items(source, destination)


@pytest.mark.parametrize("engine, strategy", WAYS[:3], ids=WAY_NAMES[:3])
def test_snapshots_are_short_when_slow(tidemark, make_source,
                                       make_destination, engine, strategy):
    """A run that its rate draws out reads by many short snapshots: none is
    seen for long."""
    source, destination = make_source(engine), make_destination("postgres")
    workload.create_items(source, rows=3000)
    widen(source)
    sync_items(tidemark, source, destination, strategy,
               pace={"rows_per_second": 600})
    running = tidemark.start("run", "--json")
    looks, seen = 0, collections.Counter()  # by the begin of a transaction
    while running.alive():
        seen.update({begun for *_, begun in transactions(source)})
        looks += 1
        time.sleep(0.15)  # InnoDB says the same again to who asks sooner
    running.wait().expect(EXIT_OK)
    # In some thirty looks in five seconds, a single one would be in most.
    assert max(seen.values(), default=0) < looks / 2, (looks, seen)
    check_items(source, destination)


def test_max_seconds(tidemark, source, make_destination):
    """Ends as if it had been told so: exit 0, stopped, the rest next time; in
    a wait as well."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=2000)
    sync_items(tidemark, source, destination, "timestamp",
               pace={"rows_per_second": 200})
    done = tidemark("run", "--json", "--max-seconds", "3").expect(EXIT_OK)
    result = done.pipeline()
    assert result["outcome"] == "stopped" and result["error"] is None
    # All of them would take ten seconds.
    assert 0 < result["rows_read"] <= 1400, result
    file = os.path.join(tidemark.dir, "pause")
    open(file, "w", encoding="ascii").close()
    tidemark.pipelines["items"]["pace"] = {"pause_file": file}
    tidemark.write_config()
    held = tidemark("run", "--json", "--max-seconds", "1").expect(
        EXIT_OK).pipeline()
    assert (held["outcome"], held["rows_read"]) == ("stopped", 0)
    os.remove(file)
    rest = tidemark("run", "--json", "--max-seconds", "600").expect(
        EXIT_OK).pipeline()
    assert rest["outcome"] == "caught_up"
    assert result["rows_read"] + rest["rows_read"] >= 2000
    check_items(source, destination)
    assert "so --max-seconds would never let it end" in tidemark(
        "run", "--full-refresh", "--max-seconds", "5").expect(EXIT_CONFIG).err
    tidemark("run", "--max-seconds", "0").expect(EXIT_CONFIG)


def test_progress_and_rest(tidemark, source, make_destination):
    """How far a run is, and how long it will take, in `status`."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=3000)
    source.execute("ANALYZE items")
    sync_items(tidemark, source, destination, "timestamp",
               pace={"rows_per_second": 300})
    running = tidemark.start("run", "--json")

    def progress():
        now = tidemark("status", "--json").pipeline()["progress"]
        return now if now and now["share"] > 0.2 else None
    seen = wait_for(progress, step=0.2, what="a share")
    assert 0.2 < seen["share"] < 0.9, seen
    assert 1 <= seen["eta_seconds"] <= 60, seen
    assert " left" in tidemark("status").expect(EXIT_OK).out
    running.wait().expect(EXIT_OK)
    assert tidemark("status", "--json").pipeline()["progress"] is None
    check_items(source, destination)


def test_no_share_of_rows_with_one_mark(tidemark, source, make_destination):
    """All rows were stamped at once. The mark stands still while they are read,
    which is not "0%"."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=1)
    sync_items(tidemark, source, destination, "timestamp",
               pace={"rows_per_second": 20})
    tidemark.run()
    workload.fill_items(source, 2, 1000, stamp="now() - interval '1 hour'")
    running = tidemark.start("run", "--json")

    def loading():
        now = tidemark("status", "--json").pipeline()
        last = now["last_run"]
        return now if last["state"] == "RUNNING" and last["rows_read"] else None
    try:
        assert wait_for(loading, step=0.2, what="rows")["progress"] is None
    finally:
        running.signal(signal.SIGTERM)
    assert running.wait().pipeline()["outcome"] == "stopped"
