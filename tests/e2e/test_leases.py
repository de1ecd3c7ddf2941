"""One writer at a time, and what becomes of one that is paused, cut off or
killed."""

import os
import shutil
import signal
import sqlite3
import time

import pytest

import ends
import oracle
import workload
from bench import (EXIT_CONFIG, EXIT_DATA, EXIT_OK, EXIT_STATE, Tidemark, sync_items,
                   written)
from oracle import ITEMS, check_items
from servers import wait_for
from state import StateStore

ENGINES = ("postgres", "sqlite", "duckdb")
STORES = ("sqlite", "postgres")
FILES = ("sqlite", "duckdb")
ROWS = 1200


@pytest.fixture
def make_state(make_database):
    def make(tidemark, kind, lease="3s"):
        end = make_database("state") if kind == "postgres" else None
        state = StateStore(tidemark, end)
        tidemark.top["state"] = state.terms(lease)
        return state
    return make


def slow_items(tidemark, source, destination, make=True):
    """A millisecond a row and page: time enough to be stopped in."""
    if make:
        workload.create_items(source, rows=ROWS)
    sync_items(tidemark, source, destination, "timestamp", batch={"rows": 2})
    tidemark.pipelines["items"]["source"]["where"] = \
        "pg_catalog.pg_sleep(0.001) IS NOT NULL"
    tidemark.write_config()


def fence(destination):
    return destination.query("SELECT fence FROM "
                             f"{destination.schema}._tidemark_watermark")[0][0]


def in_transaction(end):
    """A session of a run is in the middle of something."""
    if end is None or end.engine not in ("postgres", "sqlite"):
        return False
    if end.engine == "postgres":
        return bool(end.query(
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name IN ('tidemark/load', 'tidemark/state')"
            " AND state <> 'idle'"))
    return is_locked(end.path)


def is_locked(path):
    """Also by one that only reads: it lets nobody commit."""
    db = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        db.execute("BEGIN EXCLUSIVE")
        return False
    except sqlite3.OperationalError:
        return True
    finally:
        db.close()


def stop_after(run, state, batches, destination=None):
    """SIGSTOP, once some of the work is done and much is left; with a
    destination: between two transactions, there and in the store."""
    wait_for(lambda: state.batches() >= batches, what="some batches")
    while True:
        assert run.alive(), run.wait()
        run.signal(signal.SIGSTOP)
        time.sleep(0.05)
        if destination is None or not (
                in_transaction(destination) or in_transaction(state.end)
                or state.end is None and is_locked(state.tidemark.state_file)):
            return
        run.signal(signal.SIGCONT)
        time.sleep(0.003)


def standing(tidemark):
    status = tidemark("status", "--json").pipeline()
    return status["state"], (status["last_error"] or {}).get("code")


def count(destination, work_dir):
    """Rows that are committed, also while a paused process has the file."""
    if destination.engine not in FILES:
        return destination.query("SELECT count(*) FROM items")[0][0]
    copy = work_dir / f"copy-{time.monotonic_ns()}.{destination.engine}"
    for suffix in ("", ".wal", "-wal"):
        if os.path.exists(f"{destination.path}{suffix}"):
            shutil.copy(f"{destination.path}{suffix}", f"{copy}{suffix}")
    return type(destination)(copy).query("SELECT count(*) FROM items")[0][0]


@pytest.mark.parametrize("engine, store", (
    ("postgres", "postgres"), ("mariadb", "sqlite"), ("sqlite", "postgres"),
    ("duckdb", "sqlite")))
def test_eight_at_once(tidemark, source, make_destination, make_state, work_dir,
                       engine, store):
    """One of eight does the work. It is stopped for longer than its lease, and
    one that waits goes on. Woken up, the first commits nothing."""
    destination = make_destination(engine)
    state = make_state(tidemark, store, lease="8s")
    slow_items(tidemark, source, destination)
    runs = [tidemark.start("run", "--json", *wait)
            for wait in [(), ("--wait", "100s")] * 4]
    wait_for(lambda: state.ready() and state.query("SELECT 1 FROM {t}leases "
                                                   "WHERE pid <> 0"),
             what="the lease")
    pid = state.lease()[2]
    first, = [run for run in runs if run.process.pid == pid]
    stop_after(first, state, 5, destination)
    at_once = [run for run in runs[::2] if run is not first]
    waiting = [run for run in runs[1::2] if run is not first]
    for run in at_once:
        busy = run.wait().expect(EXIT_STATE).pipeline()
        assert busy["outcome"] == "busy" and busy["rows_read"] == 0
        assert busy["held_by"]["pid"] == pid
        assert set(busy["held_by"]) == {"host", "pid", "since", "until",
                                        "fence"}
        assert busy["error"]["exit_code"] == EXIT_STATE
    done = [run.wait() for run in waiting]
    before = count(destination, work_dir)
    first.signal(signal.SIGCONT)
    woken = first.wait().expect(EXIT_STATE).pipeline()
    assert woken["outcome"] == "busy" and woken["error"], woken
    assert count(destination, work_dir) == before
    if engine != "duckdb":
        assert {each.code for each in done} == {EXIT_OK}
        assert sum(each.pipeline()["rows_read"] for each in done) < ROWS
        check_items(source, destination)
    # A file that a paused process holds locked cannot be taken from it. One
    # waits for the file, and the others for the one.
    pids = [run.process.pid for run in runs]
    for each in done:
        assert each.code in (EXIT_OK, EXIT_STATE), each
        if each.code == EXIT_STATE:
            message = each.pipeline()["error"]["message"]
            assert any(str(each) in message for each in pids), message
    tidemark.run()
    check_items(source, destination)
    assert written(tidemark.run().pipeline()) == 0
    by_pid = {pid: (status, code) for status, code, pid in state.attempts()}
    assert by_pid[pid] == ("FAILED", "state")
    assert "RUNNING" not in {status for status, _, _ in state.attempts()}
    assert tidemark("status", "--json").pipeline()["lease"] is None


def stopped_behind(run, state):
    """It stops itself; if a renewal of its lease has the store locked just
    then, it is stopped a little later."""
    wait_for(lambda: run.stopped() or not run.alive(),
             step=0.002, what="some batches")
    assert run.alive(), run.wait()
    if state.end is None and is_locked(state.tidemark.state_file):
        run.signal(signal.SIGCONT)
        stop_after(run, state, 5)


@pytest.mark.parametrize("engine, store", (
    ("postgres", "sqlite"), ("duckdb", "sqlite"), ("mysql", "postgres")))
def test_sleeper_commits_nothing(tidemark_failpoints, source, make_destination,
                                 make_state, work_dir, engine, store):
    """Also if nobody has taken its place. Each batch is in by the time that it
    stops: none is half committed."""
    tidemark, destination = tidemark_failpoints, make_destination(engine)
    state = make_state(tidemark, store)
    slow_items(tidemark, source, destination)
    run = tidemark.start("run", "--json", failpoints="state_saved=stop@5")
    stopped_behind(run, state)
    lease = tidemark("status", "--json").pipeline()["lease"]
    time.sleep(3.5)  # more than the lease
    before = count(destination, work_dir)
    assert 0 < before < ROWS
    assert standing(tidemark) == ("failing", "lost")
    run.signal(signal.SIGCONT)
    woken = run.wait().expect(EXIT_STATE).pipeline()
    assert "lease of this run" in woken["error"]["message"]
    assert count(destination, work_dir) == before
    assert standing(tidemark) == ("failing", "state")
    if lease:  # it may have run out before we asked
        assert lease["pid"] == run.process.pid and lease["fence"] == 1
    tidemark.long_lease().run()
    check_items(source, destination)
    assert standing(tidemark) == ("ok", None)


def test_sleeper_is_failed_until_another_has_caught_up(
        tidemark_failpoints, source, make_destination, make_state):
    """Neither by the lease of its successor, nor by what it says itself once
    it is awake, does its pipeline seem to be well."""
    tidemark, destination = tidemark_failpoints, make_destination("sqlite")
    state = make_state(tidemark, "sqlite")
    slow_items(tidemark, source, destination)
    sleeper = tidemark.start("run", "--json", failpoints="run_recorded=stop@1")
    wait_for(sleeper.stopped, what="its begin")
    wait_for(lambda: standing(tidemark) == ("failing", "lost"),
             what="the end of its lease")
    tidemark.long_lease()
    other = tidemark.start("run", "--json", failpoints="lease_taken=stop@1")
    wait_for(other.stopped, what="its lease")
    assert standing(tidemark) == ("failing", "lost")
    sleeper.signal(signal.SIGCONT)
    woken = sleeper.wait().expect(EXIT_STATE).pipeline()
    assert woken["outcome"] == "busy"
    assert woken["held_by"]["pid"] == other.process.pid
    assert standing(tidemark) == ("failing", "state")
    other.signal(signal.SIGCONT)
    other.wait().expect(EXIT_OK)
    assert standing(tidemark) == ("ok", None)
    assert [each[:2] for each in state.attempts()] == [
        ("FAILED", "state"), ("SUCCEEDED", None)]


def test_sleeper_that_had_not_begun_breaks_nothing(
        tidemark_failpoints, source, make_destination, make_state):
    """Another has worked since it lost its lease."""
    tidemark, destination = tidemark_failpoints, make_destination("sqlite")
    state = make_state(tidemark, "sqlite")
    workload.create_items(source, rows=9)
    sync_items(tidemark, source, destination, "timestamp")
    sleeper = tidemark.start("run", "--json", failpoints="lease_taken=stop@1")
    wait_for(sleeper.stopped, what="its lease")
    time.sleep(3.5)  # more than the lease
    tidemark.long_lease().run()
    assert standing(tidemark) == ("ok", None)
    sleeper.signal(signal.SIGCONT)
    woken = sleeper.wait().expect(EXIT_STATE).pipeline()
    assert woken["outcome"] == "busy"
    assert standing(tidemark) == ("ok", None)
    assert [each[:2] for each in state.attempts()] == [("SUCCEEDED", None)]


def test_killed_between_two_tries_is_failed_until_another_has_caught_up(
        tidemark_failpoints, source, make_destination, make_state):
    tidemark, destination = tidemark_failpoints, make_destination("sqlite")
    state = make_state(tidemark, "sqlite")
    workload.create_items(source, rows=9)
    sync_items(tidemark, source, destination, "timestamp",
               retry={"attempts": 1000, "backoff": "1s"})
    tidemark.run()
    address = tidemark.connections["source"]["url"]
    tidemark.connections["source"]["url"] = "postgresql://ann@127.0.0.1:1/x"
    tidemark.write_config()
    run = tidemark.start("run")
    wait_for(lambda: state.query("SELECT 1 FROM {t}attempts "
                                 "WHERE outcome = 'retried'"), what="a try")
    run.kill()
    run.wait()
    wait_for(lambda: standing(tidemark) == ("failing", "transient"),
             what="the end of its lease")
    tidemark.connections["source"]["url"] = address
    other = tidemark.long_lease().start("run", "--json",
                                        failpoints="run_recorded=stop@1")
    wait_for(other.stopped, what="its begin")
    assert standing(tidemark) == ("failing", "transient")
    other.signal(signal.SIGCONT)
    other.wait().expect(EXIT_OK)
    assert standing(tidemark) == ("ok", None)


def test_a_repair_that_is_killed_says_nothing(
        tidemark_failpoints, source, make_destination, make_state):
    """So no run behind it seems to mend anything."""
    tidemark, destination = tidemark_failpoints, make_destination("sqlite")
    state = make_state(tidemark, "sqlite")
    workload.create_items(source, rows=9)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    destination.execute("DELETE FROM items WHERE id = 7")
    repair = tidemark.start("verify", "--repair",
                            failpoints="run_recorded=kill@1")
    assert repair.wait().code == -signal.SIGKILL
    wait_for(lambda: tidemark("status", "--json").pipeline()["lease"] is None,
             what="the end of its lease")
    assert standing(tidemark) == ("ok", None)


def test_a_replay_of_the_past_mends_nothing(tidemark, source,
                                            make_destination):
    destination = make_destination("sqlite")
    workload.create_items(source, rows=9)
    sync_items(tidemark, source, destination, "timestamp")
    first = tidemark.run().pipeline()["run_id"]
    destination.execute(
        "CREATE TRIGGER spoil BEFORE INSERT ON items WHEN NEW.id > 9 "
        "BEGIN SELECT RAISE(ABORT, 'no'); END")
    workload.fill_items(source, 10, 12, stamp="now()")
    workload.settle(source)
    tidemark("run").expect(EXIT_DATA)
    tidemark("runs", "replay", first).expect(EXIT_OK)
    assert standing(tidemark) == ("failing", "data")
    destination.execute("DROP TRIGGER spoil")
    tidemark.run()
    assert standing(tidemark) == ("ok", None)


def test_backend_of_a_paused_run_is_ended(tidemark_failpoints, source,
                                          make_destination, make_state):
    """It is stopped inside its transaction, with the row locked: the next one
    does not wait for its locks."""
    tidemark = tidemark_failpoints
    destination = make_destination("postgres")
    state = make_state(tidemark, "sqlite")
    workload.create_items(source, rows=200)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run("--max-batches", "1")
    source.execute("UPDATE items SET updated_at = now()")
    paused = tidemark.start("run", failpoints="mid_load=hang")
    wait_for(lambda: destination.query(
        "SELECT 1 FROM pg_stat_activity WHERE application_name = "
        "'tidemark/load' AND datname = current_database() AND state LIKE "
        "'idle in tr%'  OR wait_event = 'ClientRead' AND state = 'active' "
        "AND datname = current_database()"), what="the paused run")
    paused.signal(signal.SIGSTOP)
    done = tidemark.long_lease().run("--wait", "100s").pipeline()
    assert done["rows_read"] >= 200
    paused.kill()
    check_items(source, destination)
    assert fence(destination) == state.lease()[0]


def test_lease_outlives_a_crash_of_its_server(
        tidemark_failpoints, source, make_destination, own_cluster):
    """Else the next run would be given the same token, beside its holder."""
    tidemark = tidemark_failpoints
    server = own_cluster(settings={"wal_writer_delay": "10s"})
    server.create_database("state")
    state = StateStore(tidemark, ends.PostgresEnd(server, "state"))
    tidemark.top["state"] = state.terms("30s")
    destination = make_destination("sqlite")
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    run = tidemark.start("run", failpoints="lease_taken=stop@1")
    wait_for(run.stopped, what="the lease")
    server.restart("immediate")
    assert state.lease()[0] == 1
    tidemark("run", "--json").expect(EXIT_STATE)
    run.kill()
    tidemark.run()
    assert fence(destination) == 2
    check_items(source, destination)


@pytest.mark.parametrize("store", STORES)
def test_dead_holder_is_replaced_at_once(tidemark, source, make_destination,
                                         make_state, store):
    destination = make_destination("sqlite")
    state = make_state(tidemark, store, lease="1h")
    slow_items(tidemark, source, destination)
    run = tidemark.start("run", "--json")
    wait_for(lambda: state.batches() >= 5, what="some batches")
    lease = tidemark("status", "--json").pipeline()["lease"]
    assert lease["pid"] == run.process.pid and lease["fence"] == 1
    assert set(lease) == {"host", "pid", "since", "until", "fence"}
    run.kill()
    tidemark.run()
    check_items(source, destination)
    assert state.attempts()[0][:2] == ("FAILED", "killed")
    assert state.lease()[0] == 2 and state.lease()[3] == 0


def test_dead_holder_is_replaced_before_its_parent_asks(
        tidemark, source, make_destination, make_state):
    """In a container whose first process asks for nobody, it stays a zombie."""
    destination = make_destination("sqlite")
    state = make_state(tidemark, "sqlite", lease="1h")
    slow_items(tidemark, source, destination)
    run = tidemark.start("run", "--json")
    wait_for(lambda: state.batches() >= 5, what="some batches")
    run.signal(signal.SIGKILL)
    os.waitid(os.P_PID, run.process.pid, os.WEXITED | os.WNOWAIT)
    tidemark.run()
    run.kill()
    check_items(source, destination)
    assert state.lease()[0] == 2


@pytest.mark.parametrize("store", STORES)
def test_holder_elsewhere_is_waited_for(tidemark, source, make_destination,
                                        make_state, store):
    """Only the lease tells anything of another machine. A file is not for two
    machines at all."""
    destination = make_destination("sqlite")
    state = make_state(tidemark, store)
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()

    def held_for(seconds):
        until = int((time.time() + seconds) * 1000000)
        state.execute("UPDATE {t}leases SET host = 'far-away', pid = 4711, "
                      f"process = 'other/pid:[1]/1', until = {until}")

    held_for(3600)
    if store == "sqlite":
        error = tidemark("run", "--json").expect(EXIT_CONFIG).pipeline()
        for word in ("far-away", "4711", "one machine", "postgresql://"):
            assert word in error["error"]["message"]
    else:
        busy = tidemark.run(expect=EXIT_STATE).pipeline()
        assert busy["held_by"]["host"] == "far-away"
        assert "4711 on far-away" in busy["error"]["message"]
        assert tidemark("status", "--json").pipeline()["lease"]["pid"] == 4711
    if store == "sqlite":
        tidemark("run", "--wait", "10s").expect(EXIT_CONFIG)
        held_for(0)
    else:
        held_for(2)
        tidemark("run", "--wait", "100s").expect(EXIT_OK)
    tidemark.run()
    check_items(source, destination)


@pytest.mark.threads
@pytest.mark.parametrize("store", STORES)
def test_long_load_keeps_its_lease(tidemark, source, make_destination,
                                   make_state, store):
    """The heart beats while the load waits for a lock."""
    destination = make_destination("postgres")
    make_state(tidemark, store, lease="6s")
    workload.create_items(source, rows=200)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    source.execute("UPDATE items SET quantity = 7, updated_at = now()")
    with destination.connect(autocommit=False) as holder:
        holder.execute("LOCK TABLE items IN EXCLUSIVE MODE")
        run = tidemark.start("run", "--json")
        time.sleep(7)  # more than the lease
        busy = tidemark.run(expect=EXIT_STATE).pipeline()
        assert busy["held_by"]["pid"] == run.process.pid
        holder.rollback()
    run.wait().expect(EXIT_OK)
    workload.settle(source)
    tidemark.run()
    check_items(source, destination)


@pytest.mark.threads
@pytest.mark.parametrize("engine", ENGINES)
def test_lost_store_costs_nothing(tidemark, source, make_destination,
                                  work_dir, engine):
    """The fence goes on from the destination's. A process that runs on by the
    old store is told, and its lease is not renewed in the new one."""
    destination = make_destination(engine)
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    fences = []
    for _ in range(3):
        tidemark.run()
        fences.append(fence(destination))
        for path in work_dir.glob("state.db*"):
            path.unlink()
        source.execute("UPDATE items SET updated_at = now()")
    assert fences == sorted(set(fences)), fences
    workload.settle(source)
    tidemark.run()
    check_items(source, destination)


DESTINATIONS = ("postgres", "mariadb", "mysql", "sqlite", "duckdb",
                "clickhouse", "bigquery")


@pytest.mark.parametrize("engine", DESTINATIONS)
@pytest.mark.parametrize("how", ("dropped", "moved"))
def test_old_row_of_a_table_that_is_gone(tidemark, source, make_destination,
                                         work_dir, engine, how):
    """The store is lost, and the table is dropped or the pipeline goes to
    another one. The token still goes on from that of the row. A row about
    another table is no sign that somebody has taken over."""
    destination = make_destination(engine)
    workload.create_items(source, rows=20)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    tidemark.run()
    before = fence(destination)
    for path in work_dir.glob("state.db*"):
        path.unlink()
    if how == "moved":
        tidemark.pipelines["items"]["destination"]["table"] = \
            f"{destination.schema}.elsewhere"
        tidemark.write_config()
    elif engine == "clickhouse":
        destination.execute("DROP VIEW items", "DROP TABLE items_raw")
    else:
        destination.execute(f"DROP TABLE {destination.schema}.items")
    assert tidemark.run().pipeline()["rows_read"] == 20
    assert fence(destination) > before
    assert tidemark.run().pipeline()["rows_read"] < 21
    oracle.check_equal(source, destination, "items", ".".join(
        (destination.schema, "elsewhere" if how == "moved" else "items")),
        ITEMS)


@pytest.mark.parametrize("engine", ("postgres", "sqlite"))
def test_two_stores_are_fenced(tidemark, source, make_destination, work_dir,
                               make_state, engine):
    """Two that share a destination and not a store: the newer one goes on, the
    other is told, and nothing is lost."""
    destination = make_destination(engine)
    state = make_state(tidemark, "sqlite")
    slow_items(tidemark, source, destination)
    first = tidemark.start("run", "--json")
    stop_after(first, state, 5, destination)
    (work_dir / "other").mkdir()
    other = Tidemark(tidemark.binary, work_dir / "other")
    slow_items(other, source, destination, make=False)
    other.run()
    first.signal(signal.SIGCONT)
    overtaken = first.wait().expect(EXIT_STATE).pipeline()
    assert "another run of items has taken over" in \
        overtaken["error"]["message"]
    check_items(source, destination)
    tidemark.run()
    other.run()
    check_items(source, destination)


def test_wait_is_a_duration(tidemark, source, make_destination):
    sync_items(tidemark, source, make_destination("sqlite"), "timestamp")
    tidemark("run", "--wait", "soon").expect(EXIT_CONFIG)
    tidemark.top["state"] = {"url": f"sqlite:{tidemark.state_file}",
                             "lease": "10ms"}
    tidemark.write_config()
    assert "lease" in tidemark("run").expect(EXIT_CONFIG).err
