"""Signals, kills, locks, statements that fail: the batch rolls back, the mark
stays, the next run goes on. Servers, disks, clocks: tests/faults."""

import contextlib
import signal
import socket
import sqlite3
import time

import pytest

import oracle
import workload
from bad_days import ENGINES, WAREHOUSES, start_and_wait, state_batches
from bench import (EXIT_ACCESS, EXIT_DATA, EXIT_OK, EXIT_STOPPED,
                   check_accounting, sync_items)
from oracle import check_items
from servers import wait_for

every_engine = pytest.mark.parametrize("engine", (*ENGINES, *WAREHOUSES))
ROWS = 30_000
# A batch takes as many requests there as it takes milliseconds elsewhere.
SOME_ROWS = 4000


def rows_for(engine):
    return SOME_ROWS if engine in WAREHOUSES else ROWS


@pytest.fixture
def prepared(tidemark, source, make_destination):
    """A first load that takes a while, in many batches."""
    def make(engine, **settings):
        destination = make_destination(engine)
        workload.create_items(source, rows=rows_for(engine))
        sync_items(tidemark, source, destination, "timestamp",
                   batch={"rows": 200, "target": "1ms"}, **settings)
        return destination
    return make


@pytest.mark.thinned(2)
@pytest.mark.threads
@pytest.mark.parametrize("number", (signal.SIGINT, signal.SIGTERM))
@every_engine
def test_signal_stops_cleanly(tidemark, source, prepared, engine, number):
    destination = prepared(engine)
    running = start_and_wait(tidemark)
    running.signal(number)
    done = running.wait().expect(EXIT_STOPPED)
    result = done.pipeline()
    check_accounting(result)
    assert result["outcome"] == "stopped"
    loaded = len(destination.rows(f"{destination.schema}.items",
                                  {"id": "int"}))
    assert loaded == result["rows_inserted"] < rows_for(engine)
    oracle.check_leftovers(source)
    oracle.check_leftovers(destination)
    rest = tidemark.run().pipeline()
    assert rest["rows_read"] == rows_for(engine) - loaded, \
        "the next run goes on"
    check_items(source, destination)


@pytest.mark.parametrize("ignored", (False, True))
def test_hangup(tidemark, source, prepared, ignored):
    """A terminal that goes away, and tells it twice, stops a run as cleanly;
    one under nohup it does not."""
    destination = prepared("sqlite")
    before = signal.signal(signal.SIGHUP,
                           signal.SIG_IGN if ignored else signal.SIG_DFL)
    running = start_and_wait(tidemark)
    signal.signal(signal.SIGHUP, before)
    running.signal(signal.SIGHUP)
    time.sleep(0.02)
    running.signal(signal.SIGHUP)
    done = running.wait().expect(EXIT_OK if ignored else EXIT_STOPPED)
    assert done.pipeline()["outcome"] == \
        ("caught_up" if ignored else "stopped")
    tidemark.run()
    check_items(source, destination)


@pytest.mark.parametrize("locked", ("target", "state"))
def test_signal_while_a_file_is_locked(tidemark, source, make_destination,
                                       locked):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("UPDATE items SET updated_at = now()")
    path = destination.path if locked == "target" else tidemark.state_file
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        running = tidemark.start("run", "--json")
        time.sleep(2)
        running.signal(signal.SIGTERM)
        done = running.wait().expect(EXIT_STOPPED)
    assert done.pipeline()["outcome"] == "stopped"
    assert tidemark.run().pipeline()["rows_updated"] == 20


def test_signal_while_the_store_is_silent(tidemark, source, make_destination):
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        tidemark.top["state"] = f"postgresql://app@127.0.0.1:{port}/state"
        tidemark.write_config()
        running = tidemark.start("run", "--json")
        with silent.accept()[0]:
            running.signal(signal.SIGTERM)
            done = running.wait().expect(EXIT_STOPPED)
    assert done.pipeline()["outcome"] == "stopped"


def test_second_signal_exits_at_once(tidemark, source, prepared):
    destination = prepared("postgres")
    running = start_and_wait(tidemark)
    running.signal(signal.SIGINT)
    running.signal(signal.SIGINT)
    running.wait()
    tidemark.run()
    check_items(source, destination)


@every_engine
def test_sigkill_in_mid_run(tidemark, source, prepared, engine):
    destination = prepared(engine)
    # Not over before it is looked at, however busy the machine is.
    rows = rows_for(engine)
    tidemark.pipelines["items"]["pace"] = {"rows_per_second": rows // 4}
    tidemark.write_config()
    for _ in range(3):
        before = state_batches(tidemark)
        running = tidemark.start("run", "--json")
        wait_for(lambda: state_batches(tidemark) > before + 1
                 or not running.alive(), step=0.005, what="a batch")
        assert running.alive(), running.wait()
        assert running.kill().code == -signal.SIGKILL
        oracle.check_crashed(source, destination, "items",
                             f"{destination.schema}.items", oracle.ITEMS,
                             "items")
    del tidemark.pipelines["items"]["pace"]
    tidemark.write_config()
    rest = tidemark.run().pipeline()
    assert rest["rows_read"] < rows, "started from the beginning"
    check_items(source, destination)


RETRY = {"attempts": 20, "backoff": "100ms", "max_backoff": "2s"}


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
    running.wait().expect(EXIT_OK)
    check_items(source, destination)


@every_engine
def test_watch_syncs_until_stopped(tidemark, source, make_destination, engine):
    destination = make_destination(engine)
    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "timestamp")
    running = tidemark.start("run", "--watch", "200ms", "--json")
    wait_for(lambda: state_batches(tidemark) >= 1, what="the first load")
    workload.fill_items(source, 101, 150, stamp="now()")
    wait_for(lambda: state_batches(tidemark) >= 2, what="the delta")
    running.signal(signal.SIGTERM)
    done = running.wait()
    assert done.code in (EXIT_OK, EXIT_STOPPED), done
    check_items(source, destination)


def test_another_writer_moved_the_mark(tidemark, source, make_destination):
    """Two runs at once: the mark's fence lets only one of them write."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 200, "target": "1ms"})
    first = start_and_wait(tidemark)
    second = tidemark.start("run", "--json")
    codes = sorted((first.wait().code, second.wait().code))
    assert codes in ([0, 0], [0, 6], [6, 6]), codes
    tidemark.run()
    check_items(source, destination)
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
