"""Questions that a run asks servers before it reads on: how busy they are, how
far replicas are behind. A query of the user's is one, too."""

import contextlib
import signal
import threading

import pytest

import workload
from bench import EXIT_ACCESS, EXIT_CONFIG, EXIT_OK, EXIT_STOPPED
from oracle import check_items
from paced_items import batches, paced, paused, wait_until_held
from servers import Cluster, free_port, wait_for

LOCKS = {
    "postgres": ("SELECT pg_advisory_lock(7)",
                 "SELECT count(*) FROM pg_stat_activity "
                 "WHERE wait_event = 'advisory'"),
    "mariadb": ("SELECT GET_LOCK('seven', 60)",
                "SELECT count(*) FROM information_schema.processlist "
                "WHERE state = 'User lock'"),
}


@contextlib.contextmanager
def busy(source, n):
    """`n` sessions that run a statement all the while: they wait for a lock."""
    lock, count = LOCKS[source.engine]
    first, asks = source.connect(), source.connect()
    first.cursor().execute(lock)

    def wait():
        with source.connect() as db, db.cursor() as cursor:
            cursor.execute(lock)

    def waiting():
        with asks.cursor() as cursor:
            cursor.execute(count)
            return cursor.fetchone()[0] == n
    threads = [threading.Thread(target=wait) for _ in range(n)]
    try:
        for thread in threads:
            thread.start()
        wait_for(waiting, what="busy sessions")
        yield
    finally:
        first.close()
        for thread in threads:
            thread.join()
        asks.close()


@pytest.mark.parametrize("engine", ("postgres", "mariadb"))
def test_max_active(tidemark, make_source, make_destination, engine):
    """More than other tests on the same server have."""
    source, destination = make_source(engine), make_destination("postgres")
    workload.create_items(source, rows=10)
    paced(tidemark, source, destination, max_active=14)
    with busy(source, 15):
        running = tidemark.start("run", "--json")
        held = wait_until_held(tidemark, "max_active")
        assert "sessions are active at connection source, more than 14" in \
            held["reason"]
        assert not batches(tidemark)
    done = running.wait().expect(EXIT_OK)
    assert "no longer held by pace.max_active" in done.err
    check_items(source, destination)


def test_probe_that_fails_holds(tidemark, source, make_destination):
    destination = make_destination("postgres")
    workload.create_items(source, rows=10)
    tidemark.connect("away", f"postgresql://app@127.0.0.1:{free_port()}/x")
    paced(tidemark, source, destination, replica_lag="10s",
          replicas=["away"])
    running = tidemark.start("run", "--json")
    held = wait_until_held(tidemark, "replica_lag")
    assert "connection away could not be asked, which counts as pressure" in \
        held["reason"]
    running.signal(signal.SIGTERM)
    done = running.wait().expect(EXIT_STOPPED)
    assert done.pipeline()["rows_read"] == 0


def test_probe_that_is_no_query(tidemark, source, make_destination):
    """No server can put that right: the run is not held for ever."""
    destination = make_destination("sqlite")
    workload.create_items(source, rows=10)
    paced(tidemark, source, destination, probe={
        "connection": "source", "below": 3, "query": "SELECT 1; SELECT 2"})
    refused = tidemark("run", "items").expect(EXIT_CONFIG)
    assert "pace.probe: no query of one statement" in refused.err


def problem(done, code):
    """The one of that code that `check` found."""
    found, = [each for each in done.pipeline()["problems"]
              if each["code"] == code]
    return found


@pytest.mark.parametrize("engine", ("postgres", "mariadb"))
def test_probe(tidemark, make_source, make_destination, engine):
    """Without an answer, with too high a one, with none that is a number, with
    one that is low enough."""
    source, destination = make_source(engine), make_destination("postgres")
    workload.create_items(source, rows=10)
    paced(tidemark, source, destination,
          probe={"connection": "source", "below": 3,
                 "query": f"SELECT max(n) FROM {source.schema}.jobs"})
    wrong = problem(tidemark("check", "--json").expect(EXIT_ACCESS),
                    "pace-unknown")
    assert "pace.probe holds every run" in wrong["message"], wrong
    running = tidemark.start("run", "--json")
    held = wait_until_held(tidemark, "probe")
    assert "connection source could not be asked, which counts as pressure" \
        in held["reason"] and "jobs" in held["reason"], held
    source.execute("CREATE TABLE jobs (n int)", "INSERT INTO jobs VALUES (3)")
    if engine == "postgres":
        source.execute("GRANT SELECT ON jobs TO public")
    wait_for(lambda: "the query says 3 at connection source, which is not "
             "below 3" in paused(tidemark)["reason"],
             step=0.2, what="an answer")
    now = problem(tidemark("check", "--json").expect(EXIT_OK), "pace-held")
    assert now["severity"] == "info", now
    source.execute("DELETE FROM jobs")
    wait_for(lambda: "a number, not NULL" in paused(tidemark)["reason"],
             step=0.2, what="no number")
    assert not batches(tidemark)
    source.execute("INSERT INTO jobs VALUES (2)")
    done = running.wait().expect(EXIT_OK)
    assert "no longer held by pace.probe" in done.err
    check_items(source, destination)


WRITES = {"postgres": "integer", "mariadb": "integer",
          "clickhouse": "Int32) ENGINE = MergeTree ORDER BY (n",
          "bigquery": "INT64"}


@pytest.mark.parametrize("engine,before", (
    *((engine, "") for engine in WRITES), ("bigquery", "SELECT 1; ")))
def test_probe_that_writes(tidemark, source, make_destination, engine,
                           before):
    """It is refused where it is asked, and changes nothing there."""
    asked = make_destination(engine)
    asked.execute(f"CREATE TABLE jobs (n {WRITES[engine]})",
                  "INSERT INTO jobs (n) VALUES (1)")
    workload.create_items(source, rows=10)
    tidemark.connect("asked", asked.connection())
    paced(tidemark, source, make_destination("sqlite"), probe={
        "connection": "asked", "below": 3, "query":
        f"{before}INSERT INTO {asked.schema}.jobs (n) SELECT 2"})
    done = tidemark("check", "--json")
    assert done.code in (EXIT_ACCESS, EXIT_CONFIG), done
    assert "pace.probe" in done.out and "read" in done.out.lower(), done
    assert asked.query("SELECT n FROM jobs") == [(1,)]


def test_mariadb_does_not_know_its_replicas(tidemark, make_source,
                                            make_destination):
    """Without the right to ask, it may; with it, it is known not to."""
    source = make_source("mariadb")
    workload.create_items(source, rows=10)
    paced(tidemark, source, make_destination("postgres"), replica_lag="10s")
    running = tidemark.start("run")
    held = wait_until_held(tidemark, "replica_lag")
    assert "SLAVE MONITOR" in held["reason"], held
    with source.server.admin() as admin, admin.cursor() as cursor:
        cursor.execute("GRANT SLAVE MONITOR ON *.* TO app@'%'")
        try:
            done = running.wait().expect(EXIT_CONFIG)
        finally:
            cursor.execute("REVOKE SLAVE MONITOR ON *.* FROM app@'%'")
    assert "connection source is no replica" in done.err
    assert "pace.replicas" in done.err


@pytest.fixture
def standby(own_cluster):
    """(a server, a standby of it that streams)"""
    primary = own_cluster()
    second = Cluster("standby", settings={
        "wal_receiver_status_interval": "1s"})
    second.program("pg_basebackup", "-D", second.data, "-h", primary.dir,
                   "-p", str(primary.port), "-U", "postgres", "-R", "-c",
                   "fast", "--no-sync")
    yield primary, second.start()
    second.remove()


@pytest.mark.parametrize("asked", ("source", "replica"))
def test_replica_lag(tidemark, standby, make_destination, asked):
    """Two standbys: one that stops to replay, and one that is gone."""
    primary, second = standby
    primary.create_database("shop")
    source = type(make_destination("postgres"))(primary, "shop")
    destination = make_destination("postgres")
    workload.create_items(source, rows=10)
    wait_for(lambda: second.psql("shop", "SELECT count(*) FROM items") == "10\n",
             what="the standby")
    pace = {"replica_lag": "1s"}
    if asked == "replica":
        tidemark.connect("replica", {
            **source.connection(), "url": second.url("shop", password=None)})
        pace["replicas"] = ["replica"]
    paced(tidemark, source, destination, **pace)
    tidemark.run()
    second.psql("shop", "SELECT pg_wal_replay_pause()")
    workload.change_items(source, "true")
    wait_for(lambda: second.psql("shop", "SELECT pg_get_wal_replay_pause_state"
                                 "()") == "paused\n", what="the pause")
    with primary.admin() as admin:
        wait_for(lambda: admin.execute(
            "SELECT replay_lag > '2 s' FROM pg_stat_replication"
            ).fetchone()[0], what="the primary to know")
    running = tidemark.start("run", "--json")
    held = wait_until_held(tidemark, "replica_lag")
    assert "behind" in held["reason"], held
    assert running.alive()
    second.psql("shop", "SELECT pg_wal_replay_resume()")
    assert running.wait().expect(EXIT_OK).pipeline()["rows_updated"] == 10
    second.stop()
    running = tidemark.start("run", "--json")
    held = wait_until_held(tidemark, "replica_lag")
    assert "could not be asked" in held["reason"], held
    second.start()
    running.wait().expect(EXIT_OK)
    check_items(source, destination)
