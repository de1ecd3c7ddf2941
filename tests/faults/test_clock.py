"""The client's wall clock jumps by hours, during runs and between them. Marks
come from the source's clock, so nothing is lost and nothing stands still.

Files as sources have no clock but the client's, so the sources here are
servers.
"""

import glob
import signal
import time

import pytest

import workload
from bad_days import MANY_BATCHES, NEVER_OPEN, state_batches
from bench import EXIT_OK, EXIT_STATE, EXIT_STOPPED
from servers import wait_for
from state import StateStore

HOUR, MINUTE = 3600, 60
SOURCES = ("postgres", "mariadb", "mysql")
DESTINATIONS = ("postgres", "mariadb", "mysql", "sqlite", "duckdb")


class Clock:
    """The client's time of day, off by so many seconds."""

    def __init__(self, path):
        found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
        assert found, "libfaketime is missing: run tools/setup --tests"
        self.path = path
        self.env = {"LD_PRELOAD": found[0],
                    "FAKETIME_TIMESTAMP_FILE": str(path),
                    "FAKETIME_NO_CACHE": "1",
                    "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        self.set(0)

    def set(self, seconds):
        whole = self.path.with_suffix(".new")
        whole.write_text(f"{seconds:+d}s\n", encoding="ascii")
        whole.rename(self.path)


@pytest.fixture
def clock(work_dir):
    return Clock(work_dir / "clock")


def write_now(day, first, last):
    """Rows with the server's own time of now."""
    workload.fill_items(day.source, first, last,
                        stamp=workload.dialect(day.source).now)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("mode", ("upsert", "append"))
@pytest.mark.parametrize("strategy", ("timestamp", "sequence"))
@pytest.mark.parametrize("destination", DESTINATIONS)
@pytest.mark.parametrize("source", SOURCES)
def test_jumps_between_runs(make_day, clock, source, destination, strategy,
                            mode):
    """Ahead, back, far back: each run brings what has been written."""
    day = make_day(source, destination, rows=50, strategy=strategy, mode=mode)
    day.tidemark.env.update(clock.env)
    for n, hours in enumerate((5, -400 * 24)):
        clock.set(hours * HOUR)
        write_now(day, 51 + 10 * n, 60 + 10 * n)
        workload.settle(day.source)
        done = day.tidemark.run()
        assert done.pipeline()["guarantee"] == workload.guarantee(
            source, strategy), done
        assert day.count() == 60 + 10 * n
        day.check()
    clock.set(0)
    day.recovers()


@pytest.mark.parametrize("hours", (9, -9), ids=("ahead", "back"))
@pytest.mark.parametrize("source,store", (("postgres", "postgres"),
                                          ("mysql", "sqlite")))
def test_jump_in_mid_run(make_day, make_database, stopped_run, clock, source,
                         store, hours):
    """With rows that are written before and after the jump."""
    day = make_day(source, rows=4000, batch=MANY_BATCHES)
    state = StateStore(day.tidemark,
                       make_database("state") if store == "postgres" else None)
    day.tidemark.top["state"] = state.terms("30s")
    day.tidemark.write_config()
    running = stopped_run(day.tidemark, env=clock.env)
    clock.set(hours * HOUR)
    write_now(day, 4001, 4010)
    running.signal(signal.SIGCONT)
    done = running.wait()
    # The clock of a store in a file is the client's: its lease may be over.
    assert done.code == EXIT_OK or store == "sqlite" and \
        done.code == EXIT_STATE, done
    workload.settle(day.source)
    day.tidemark.run(env=clock.env)
    clock.set(-hours * HOUR)
    write_now(day, 4011, 4020)
    workload.settle(day.source)
    day.tidemark.run(env=clock.env)
    day.check()
    day.recovers()


@pytest.mark.parametrize("hours", (9, -9), ids=("ahead", "back"))
def test_watch_goes_on_over_a_jump(make_day, clock, hours):
    """Its interval is no matter of the time of day."""
    day = make_day(rows=50)
    running = day.tidemark.start("run", "--watch", "200ms", env=clock.env)
    wait_for(lambda: state_batches(day.tidemark) >= 1, what="a load")
    clock.set(hours * HOUR)
    time.sleep(0.3)
    write_now(day, 51, 60)
    wait_for(lambda: day.count() == 60, what="the rows after the jump")
    running.signal(signal.SIGTERM)
    assert running.wait().code in (EXIT_OK, EXIT_STOPPED)
    day.check()


@pytest.mark.parametrize("hours", (9, -9), ids=("ahead", "back"))
def test_retry_waits_no_longer_for_a_jump(make_day, make_database, clock,
                                          make_proxy, hours):
    """The pause before the next try is measured, not read off a clock."""
    day = make_day("postgres", "sqlite", rows=500,
                   retry={"attempts": 60, "backoff": "100ms",
                          "max_backoff": "200ms", "breaker": NEVER_OPEN})
    proxy = make_proxy(day.source)
    day.tidemark.connect("source", proxy.connection(day.source))
    day.tidemark.top["state"] = make_database("state").connection()
    day.tidemark.write_config()
    proxy.refuse()
    running = day.tidemark.start("run", "--json", env=clock.env)
    wait_for(lambda: b"try 1 of 60" in running.text["err"],
             what="the first failure")
    clock.set(hours * HOUR)
    time.sleep(0.3)
    proxy.heal()
    running.wait().expect(EXIT_OK)
    day.check()


def test_history_of_a_clock_that_went_back(make_day, clock):
    """`status` shows the newest run, not the one with the latest time."""
    day = make_day(rows=50)
    clock.set(9 * HOUR)
    day.tidemark.run(env=clock.env)
    clock.set(0)
    workload.fill_items(day.source, 51, 60)
    day.tidemark.run(env=clock.env)
    status = day.tidemark("status", "--json").expect(EXIT_OK).json()
    assert status["pipelines"][0]["last_run"]["rows_read"] == 10, status


@pytest.mark.parametrize("hours", (9, -9), ids=("ahead", "back"))
def test_breaker_of_a_clock_that_jumped(make_day, clock, make_proxy, hours):
    """It rests for its cool-down, and not until a time that was wrong."""
    day = make_day(rows=50, retry={"attempts": 1, "breaker": {
        "failures": 1, "cool_down": "1s"}})
    proxy = make_proxy(day.source)
    day.tidemark.connect("source", proxy.connection(day.source)).write_config()
    proxy.refuse()
    clock.set(hours * HOUR)
    day.fails(env=clock.env)
    proxy.heal()
    clock.set(0)
    time.sleep(1.1)
    day.tidemark.run(env=clock.env)
    day.check()


@pytest.mark.parametrize("hours", (9, -9), ids=("ahead", "back"))
def test_sessions_rest_over_a_jump(make_day, clock, make_proxy, hours):
    """How long they rest and how old they get is measured as well."""
    day = make_day("postgres", "postgres", rows=50)
    proxies = [make_proxy(end) for end in (day.source, day.destination)]
    for name, proxy, end in zip(("source", "warehouse"), proxies,
                                (day.source, day.destination)):
        day.tidemark.connect(name, proxy.connection(end))
    day.tidemark.write_config()
    running = day.tidemark.start("run", "--watch", "2s", env=clock.env)
    wait_for(lambda: state_batches(day.tidemark) >= 1, what="a load")
    clock.set(hours * HOUR)
    write_now(day, 51, 60)
    wait_for(lambda: day.count() == 60 or not running.alive(),
             what="the rows after the jump")
    running.signal(signal.SIGTERM)
    assert running.wait().code in (EXIT_OK, EXIT_STOPPED)
    assert [proxy.sessions for proxy in proxies] == [1, 1]
    day.check()


@pytest.mark.parametrize("store", ("postgres", "sqlite"))
def test_worker_behind_the_clock_of_the_last_run(make_day, make_database,
                                                 clock, store):
    """A run of another machine ended minutes ahead of this one's time. The
    store's clock says how long ago that was. The clock of a store in a file is
    ours, and went back: nothing is waited for."""
    day = make_day("postgres", "postgres", rows=50)
    day.tidemark.top["state"] = StateStore(
        day.tidemark, make_database("state") if store == "postgres" else None
    ).terms("30s")
    day.tidemark.write_config()
    clock.set(10 * MINUTE)
    day.tidemark.run(env=clock.env)

    def runs(interval):
        return day.tidemark("worker", "--once", "--json", "--interval",
                            interval).expect(EXIT_OK).json()["runs"]

    assert runs("1d") == (store == "sqlite")
    assert runs("1ms") == 1


def test_workers_whose_clocks_differ(make_day, make_database, clock,
                                     work_dir):
    """A chunk's lease goes by the store's clock. Twelve minutes between two
    workers do not give one the chunk of the other that lives. One that sleeps
    too long loses it."""
    day = make_day("postgres", "postgres", rows=60)
    tidemark, store = day.tidemark, make_database("state")
    tidemark.top["state"] = {**store.connection(), "lease": "10s"}
    tidemark.write_config().run()
    day.destination.execute("UPDATE items SET name = 'damaged'")
    done = tidemark("backfill", "items", "--queue", "--json").expect(EXIT_OK)
    chunk = done.json()["chunks"][0]["chunk_id"]
    other = Clock(work_dir / "other")
    clock.set(7 * MINUTE)
    other.set(-5 * MINUTE)
    with day.destination.connect(autocommit=False) as db:
        db.execute("LOCK TABLE items IN EXCLUSIVE MODE")
        ahead = tidemark.start("worker", "--chunk", chunk, env=clock.env)
        wait_for(lambda: day.destination.query(
            "SELECT FROM pg_locks WHERE NOT granted"), what="its first load")
        busy = tidemark("worker", "--chunk", chunk, env=other.env)
        assert "another worker has" in busy.expect(EXIT_STATE).err
        ahead.signal(signal.SIGSTOP)
        wait_for(ahead.stopped, what="the stop")
        db.rollback()
    tidemark("worker", "--chunks", "--once", env=other.env).expect(EXIT_OK)
    told = ("SELECT state, attempts, ended_at >= started_at "
            "FROM tidemark.chunks")
    assert store.query(told) == [("done", 2, True)]
    ahead.signal(signal.SIGCONT)
    assert "lease" in ahead.wait().expect(EXIT_STATE).err
    assert store.query(told) == [("done", 2, True)]
    day.check()
