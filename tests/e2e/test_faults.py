"""Bad days: servers that restart, backends that die, disks that fill up,
signals. The batch rolls back, the mark stays, the next run goes on."""

import os
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

import ends
import oracle
import workload
from bench import (EXIT_ACCESS, EXIT_DATA, EXIT_OK, EXIT_STOPPED,
                   check_accounting, sync_items)
from ends import PostgresEnd, SqliteEnd
from servers import wait_for

ENGINES = ("postgres", "sqlite", "duckdb", "mariadb", "mysql")
every_engine = pytest.mark.parametrize("engine", ENGINES)
ROWS = 30_000


def check(source, destination):
    oracle.check_equal(source, destination, "items",
                       f"{destination.schema}.items", oracle.ITEMS,
                       pipeline="items")


def state_batches(tidemark):
    """How many batches the ledger has, while a run is under way."""
    if not os.path.exists(tidemark.state_file):
        return 0
    db = sqlite3.connect(f"file:{tidemark.state_file}?mode=ro", uri=True,
                         timeout=5)
    try:
        return db.execute("SELECT count(*) FROM batches").fetchone()[0]
    except sqlite3.OperationalError:  # not migrated yet
        return 0
    finally:
        db.close()


def start_and_wait(tidemark, batches=3, **more):
    """Start a run and wait until it has loaded some batches."""
    running = tidemark.start("run", "--json", **more)
    wait_for(lambda: state_batches(tidemark) >= batches
             or not running.alive(), 60, 0.005, "the first batches")
    assert running.alive(), running.wait()
    return running


@pytest.fixture
def prepared(tidemark, source, make_destination):
    """A first load that takes a while, in many batches."""
    def make(engine, **settings):
        destination = make_destination(engine)
        workload.create_items(source, rows=ROWS)
        sync_items(tidemark, source, destination, "timestamp",
                   batch={"rows": 200, "target": "1ms"}, **settings)
        return destination
    return make


@pytest.mark.threads
@pytest.mark.parametrize("number", (signal.SIGINT, signal.SIGTERM))
@every_engine
def test_signal_stops_cleanly(tidemark, source, prepared, engine, number):
    destination = prepared(engine)
    running = start_and_wait(tidemark)
    start = time.monotonic()
    running.signal(number)
    done = running.wait(20).expect(EXIT_STOPPED)
    assert time.monotonic() - start < 5
    result = done.pipeline()
    check_accounting(result)
    assert result["outcome"] == "stopped"
    loaded = len(destination.rows(f"{destination.schema}.items",
                                  {"id": "int"}))
    assert loaded == result["rows_inserted"] < ROWS
    oracle.check_leftovers(source)
    oracle.check_leftovers(destination)
    rest = tidemark.run().pipeline()
    assert rest["rows_read"] == ROWS - loaded, "the next run goes on"
    check(source, destination)


def test_second_signal_exits_at_once(tidemark, source, prepared):
    destination = prepared("postgres")
    running = start_and_wait(tidemark)
    running.signal(signal.SIGINT)
    running.signal(signal.SIGINT)
    start = time.monotonic()
    running.wait(10)
    assert time.monotonic() - start < 3
    tidemark.run()
    check(source, destination)


@every_engine
def test_sigkill_in_mid_run(tidemark, source, prepared, engine):
    destination = prepared(engine)
    for _ in range(3):
        running = tidemark.start("run", "--json")
        before = state_batches(tidemark)
        wait_for(lambda: state_batches(tidemark) > before + 1
                 or not running.alive(), 60, 0.005, "a batch")
        assert running.alive(), running.wait()
        assert running.kill().code == -signal.SIGKILL
        oracle.check_crashed(source, destination, "items",
                             f"{destination.schema}.items", oracle.ITEMS,
                             "items")
    rest = tidemark.run().pipeline()
    assert rest["rows_read"] < ROWS, "started from the beginning"
    check(source, destination)


RETRY = {"attempts": 20, "backoff": "100ms", "max_backoff": "2s"}


@pytest.mark.parametrize("end", ("source", "warehouse"))
def test_server_crash_in_mid_run(tidemark, own_cluster, make_destination,
                                 source, end):
    """`pg_ctl restart -m immediate`: retried, from where it was."""
    server = own_cluster(fsync=True)
    server.create_database("data")
    data = PostgresEnd(server, "data")
    source = data if end == "source" else source
    destination = data if end == "warehouse" else make_destination("sqlite")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 200, "target": "1ms"}, retry=RETRY)
    running = start_and_wait(tidemark)
    server.restart("immediate")
    done = running.wait(60)
    assert done.code in (EXIT_OK, EXIT_ACCESS), done
    assert done.code == EXIT_OK, f"was not retried\n{done}"
    check(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.parametrize("end", ("source", "warehouse"))
def test_backend_killed_in_mid_batch(tidemark, cluster, source,
                                     make_destination, end):
    destination = make_destination("postgres")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 200, "target": "1ms"}, retry=RETRY)
    running = start_and_wait(tidemark)
    victim = source if end == "source" else destination
    with cluster.admin() as admin:
        killed = admin.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE datname = %s AND application_name <> 'test'",
            [victim.database]).fetchone()[0]
    assert killed > 0
    done = running.wait(60).expect(EXIT_OK)
    check_accounting(done.pipeline())
    check(source, destination)


def test_server_gone_for_good(tidemark, own_cluster, source):
    """Exit 3 after the retries, and the mark stays."""
    server = own_cluster()
    server.create_database("data")
    destination = PostgresEnd(server, "data")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 200, "target": "1ms"},
               retry={"attempts": 2, "backoff": "50ms"})
    running = start_and_wait(tidemark)
    server.stop("immediate")
    done = running.wait(60).expect(EXIT_ACCESS)
    assert done.pipeline()["outcome"] == "failed"
    assert "127.0.0.1" in done.pipeline()["error"]["message"]
    server.start()
    rest = tidemark.run().pipeline()
    assert rest["rows_read"] < ROWS
    check(source, destination)


def test_deadlock_is_retried(tidemark, source, make_destination, cluster):
    """A transient error by SQLSTATE: the batch is tried again."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "timestamp", retry=RETRY)
    tidemark.run()
    source.execute("UPDATE items SET name = 'x', updated_at = '2024-07-01'")
    with destination.connect(autocommit=False) as blocker:
        blocker.execute("SELECT FROM items WHERE id = 50 FOR UPDATE")
        with cluster.admin() as admin:
            admin.execute(f"ALTER DATABASE {destination.database} "
                          "SET lock_timeout = '300ms'")
        running = tidemark.start("run", "--json")
        time.sleep(1)
        blocker.rollback()
    running.wait(60).expect(EXIT_OK)
    check(source, destination)


@pytest.fixture
def small_disk(work_dir):
    """A tmpfs of 24 MiB."""
    if os.getuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    path = work_dir / "disk"
    path.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m",
                           "tmpfs", path], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        pytest.skip(f"this machine does not let root mount: {done.stderr}")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


@pytest.mark.parametrize("engine", ("sqlite", "duckdb"))
def test_disk_full(tidemark, source, small_disk, engine):
    kind = {"sqlite": SqliteEnd, "duckdb": ends.DuckdbEnd}[engine]
    destination = kind(small_disk / "warehouse.db")
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(18 << 20))
    workload.create_items(source, rows=40_000)
    source.execute("UPDATE items SET payload = decode(repeat(md5(id::text) "
                   "|| md5(name), 6), 'hex') WHERE id > 200")
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 2000}, retry={"attempts": 2, "backoff": "10ms"})
    done = tidemark.run(expect=EXIT_ACCESS)
    error = done.pipeline()["error"]["message"].lower()
    assert "full" in error or "space" in error or "room" in error, error
    loaded = done.pipeline()["rows_inserted"]
    ballast.unlink()
    rest = tidemark.run().pipeline()
    assert rest["rows_read"] <= 40_000 - loaded + 1
    check(source, destination)


def test_disk_full_of_a_server(tidemark, source, small_disk, cluster,
                               make_destination):
    """The warehouse's tablespace is full."""
    place = small_disk / "space"
    place.mkdir()
    shutil.chown(place, "postgres")
    os.chmod(small_disk.parent, 0o711)
    destination = make_destination("postgres")
    with cluster.admin() as admin:
        admin.execute(f"CREATE TABLESPACE small LOCATION '{place}'")
        admin.execute("GRANT CREATE ON TABLESPACE small TO app")
        admin.execute(f"ALTER DATABASE {destination.database} "
                      "SET default_tablespace = 'small'")
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(18 << 20))
    workload.create_items(source, rows=40_000)
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 1000}, retry={"attempts": 2, "backoff": "10ms"})
    try:
        done = tidemark.run(expect=EXIT_ACCESS)
        assert "space" in done.pipeline()["error"]["message"].lower()
        ballast.unlink()
        tidemark.run()
        check(source, destination)
    finally:
        cluster.drop_database(destination.database)
        with cluster.admin() as admin:
            admin.execute("DROP TABLESPACE small")


@every_engine
def test_watch_syncs_until_stopped(tidemark, source, make_destination, engine):
    destination = make_destination(engine)
    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "timestamp")
    running = tidemark.start("run", "--watch", "200ms", "--json")
    wait_for(lambda: state_batches(tidemark) >= 1, 20, what="the first load")
    workload.fill_items(source, 101, 150, stamp="now()")
    wait_for(lambda: state_batches(tidemark) >= 2, 20, what="the delta")
    running.signal(signal.SIGTERM)
    done = running.wait(20)
    assert done.code in (EXIT_OK, EXIT_STOPPED), done
    check(source, destination)


def test_watch_outlives_a_server_restart(tidemark, own_cluster,
                                         make_destination):
    server = own_cluster()
    server.create_database("source")
    source = PostgresEnd(server, "source")
    destination = make_destination("sqlite")
    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "timestamp",
               retry={"attempts": 2, "backoff": "50ms",
                      "breaker": {"cool_down": "1s"}})
    running = tidemark.start("run", "--watch", "100ms")
    wait_for(lambda: state_batches(tidemark) >= 1, 20, what="the first load")
    server.stop("immediate")
    time.sleep(1)
    server.start()
    workload.fill_items(source, 101, 150, stamp="now()")
    wait_for(lambda: len(destination.rows("main.items", {"id": "int"})) == 150,
             30, what="the rows after the restart")
    assert running.alive()
    running.signal(signal.SIGTERM)
    running.wait(20)
    check(source, destination)


def test_another_writer_moved_the_mark(tidemark, source, make_destination):
    """Two runs at once: the mark's fence lets only one of them write."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 200, "target": "1ms"})
    first = start_and_wait(tidemark)
    second = tidemark.start("run", "--json")
    codes = sorted((first.wait(90).code, second.wait(90).code))
    assert codes in ([0, 0], [0, 6], [6, 6]), codes
    tidemark.run()
    check(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.parametrize("strategy", ("timestamp", "xmin"))
def test_failed_statement_names_the_row_before(tidemark, source,
                                               make_destination, strategy):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=300)
    sync_items(tidemark, source, destination, strategy, batch={"rows": 40})
    tidemark.pipelines["items"]["source"]["expressions"] = {
        "share": "1000 / (id - 250)"}
    tidemark.write_config()
    message = tidemark.run(expect=EXIT_DATA).pipeline()["error"]["message"]
    assert "table public.items" in message
    # A page that the server sorts first has no row before it.
    assert strategy != "xmin" or "in a row after key id=249" in message
    assert "division by zero" in message
    source.execute("UPDATE items SET id = 1000 WHERE id = 250")
    assert tidemark.run().pipeline()["outcome"] == "caught_up"
    assert len(destination.rows("items", {"id": "int"})) == 300


@pytest.mark.parametrize("how", ("replace", "full refresh"))
def test_refresh_that_fails_at_its_end_gives_up(
        tidemark_failpoints, source, make_destination, how):
    """Each try builds the table anew, so its batches are no progress."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=100)
    tidemark = sync_items(tidemark_failpoints, source, destination,
                          "timestamp",
                          "replace" if how == "replace" else "upsert",
                          retry={"attempts": 3, "backoff": "5ms"})
    more = () if how == "replace" else ("--full-refresh",)
    done = tidemark("run", *more, failpoints="stage_full=error", timeout=20)
    done.expect(EXIT_ACCESS)
    assert "try 2 of 3" in done.err
    tidemark.run(*more)
    oracle.check_equal(source, destination, "items", "main.items",
                       oracle.ITEMS, pipeline="items")
