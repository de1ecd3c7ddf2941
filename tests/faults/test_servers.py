"""Servers that crash and sessions that are killed in mid-run: at the source,
at the destination, of the state store. Retried from where it was, or exit 3
and the next run goes on."""

import signal
import time

import pytest

import mysql_servers
from bad_days import (HASTY, MANY_BATCHES, PATIENT, Day, kill_sessions,
                      start_and_wait, state_batches)
from bench import EXIT_OK
from ends import MysqlEnd, PostgresEnd
from servers import Cluster, wait_for
from state import StateStore

ROWS = 12_000
# `both`: source and destination are databases of the server that crashes.
PLACES = ("source-postgres", "source-mariadb", "source-mysql",
          "warehouse-postgres", "warehouse-mariadb", "warehouse-mysql",
          "both-postgres", "both-mariadb", "state-postgres")
STRATEGY = {"source-postgres": "xmin", "both-mariadb": "sequence",
            "source-mysql": "sequence"}
# A server that is to crash is started once: its tests go to one worker.
every_place = pytest.mark.parametrize("place", [
    pytest.param(place, marks=pytest.mark.xdist_group(place.split("-")[1]))
    for place in PLACES])


class CrashPostgres(Cluster):
    def crash(self):
        self.restart("immediate")

    def vanish(self):
        self.stop("immediate")

    def end(self, name):
        self.drop_database(name)
        self.create_database(name)
        return PostgresEnd(self, name)


def crash_mysql(kind):
    class CrashMysql(kind):
        def crash(self):
            self.restart(signal.SIGKILL)

        def vanish(self):
            self.stop(signal.SIGKILL)

        def end(self, name):
            self.drop_database(name)
            self.create_database(name)
            return MysqlEnd(self, name)
    return CrashMysql(["--innodb-flush-log-at-trx-commit=2"])


@pytest.fixture(scope="session")
def crashable():
    """A server that keeps what was committed, one for each engine."""
    running = {}

    def get(engine):
        if engine not in running:
            kind = mysql_servers.SERVERS.get(engine)
            if kind and kind.missing():
                pytest.skip(kind.missing())
            made = crash_mysql(kind) if kind else CrashPostgres(
                "crash", fsync=True)
            running[engine] = made.create().start().prepare()
        return running[engine]

    yield get
    for server in running.values():
        server.remove()


@pytest.fixture
def make_victim(tidemark, make_source, make_destination, crashable):
    """A day, the server that is going to crash, and how to count batches."""
    def make(place, **more):
        part, engine = place.split("-")
        server = crashable(engine)
        source = (server.end("source") if part in ("source", "both")
                  else make_source("postgres"))
        destination = (server.end("warehouse") if part in ("warehouse", "both")
                       else make_destination("sqlite"))
        count = state_batches
        if part == "state":
            state = server.end("state")
            tidemark.top["state"] = state.connection()
            store = StateStore(tidemark, state)
            count = lambda _: store.batches()  # noqa: E731
        day = Day(tidemark, source, destination, ROWS, batch=MANY_BATCHES,
                  strategy=STRATEGY.get(place, "timestamp"), **more)
        return day, server, count
    return make


@pytest.mark.thinned(3)
@every_place
def test_server_crashes_in_mid_run(make_victim, place):
    day, server, count = make_victim(place, retry=PATIENT)
    running = start_and_wait(day.tidemark, count=count)
    server.crash()
    done = running.wait()
    retried = day.survives(done)
    assert retried or place.startswith("state"), done


@pytest.mark.thinned(3)
@every_place
def test_server_crashes_and_stays_away(make_victim, place):
    """Exit 3 naming the server, the mark stays; once it is back, the rest."""
    day, server, count = make_victim(place, retry=HASTY,
                                     pace={"rows_per_second": 6000})
    running = start_and_wait(day.tidemark, count=count)
    server.vanish()
    try:
        done = running.wait()
    finally:
        server.start()
    message = done.expect(3).pipeline()["error"]["message"]
    assert f":{server.port}/" in message, message
    day.check_covered()
    assert day.recovers()["rows_read"] < ROWS, "started from the beginning"


@pytest.mark.thinned(3)
@pytest.mark.parametrize("statements_only", (False, True),
                         ids=("sessions", "statements"))
@every_place
def test_sessions_killed_in_mid_run(make_victim, place, statements_only):
    day, server, count = make_victim(place, retry=PATIENT)
    running = start_and_wait(day.tidemark, count=count)
    part = place.split("-")[0]
    killed = rounds = 0
    while rounds < 5 or (not killed and running.alive()):
        for end in ends_of(day, server, part):
            killed += kill_sessions(end, statements_only)
        rounds += 1
        time.sleep(0.1 if rounds < 5 else 0.005)
    done = running.wait()
    assert killed, "there was nothing to kill"
    retried = day.survives(done)
    assert retried or part == "state", done


def ends_of(day, server, part):
    """The ends whose sessions are killed."""
    if part == "state":
        return [PostgresEnd(server, "state")]
    return [end for name, end in (("source", day.source),
                                  ("warehouse", day.destination))
            if part in (name, "both")]


def test_watch_outlives_a_crash(crashable, tidemark, make_destination):
    """`--watch` goes on by itself once the server is back."""
    server = crashable("postgres")
    day = Day(tidemark, server.end("source"), make_destination("sqlite"), 100,
              retry=HASTY)
    running = tidemark.start("run", "--watch", "100ms")
    wait_for(lambda: state_batches(tidemark) >= 1, what="the first load")
    server.vanish()
    time.sleep(1)
    server.start()
    day.source.execute("INSERT INTO items (name) SELECT 'late ' || n "
                       "FROM generate_series(1, 50) n")
    wait_for(lambda: day.count() == 150, what="the rows after the crash")
    running.signal(signal.SIGTERM)
    assert running.wait().code in (EXIT_OK, 8)
    day.check()
