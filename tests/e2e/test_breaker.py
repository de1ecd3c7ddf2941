"""Errors that pass: the batch that lost is loaded again; what keeps failing
is left alone for a while."""

import datetime
import signal
import sqlite3
import threading
import time

import pytest

import ends
import workload
from bench import EXIT_ACCESS, EXIT_DATA, EXIT_OK, sync_items
from oracle import check_items
from servers import wait_for

RETRY = {"attempts": 5, "backoff": "20ms", "max_backoff": "100ms"}
AGAIN = "failed and was rolled back, next in"


@pytest.fixture
def loaded(tidemark, source, make_destination):
    """Both sides equal, then every row of the source changed."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "timestamp", retry=RETRY)
    tidemark.run()
    workload.change_items(source, "true")
    return destination


def waiting(cluster, destination):
    """Sessions of the database that wait for a lock."""
    with cluster.admin() as admin:
        return admin.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = %s "
            "AND wait_event_type = 'Lock'",
            [destination.database]).fetchone()[0]


def finish(running, source, destination):
    done = running.wait().expect(EXIT_OK)
    assert done.err.count(AGAIN) == 1, done
    result = done.pipeline()
    assert (result["batches"], result["rows_updated"]) == (1, 100)
    check_items(source, destination)


def test_deadlock(tidemark, cluster, source, loaded):
    """The load holds row 10 and wants 60, another holds 60 and wants 10; the
    load is the one that finds out."""
    with cluster.admin() as admin:
        admin.execute(f"ALTER DATABASE {loaded.database} "
                      "SET deadlock_timeout = '200ms'")
    with loaded.connect(autocommit=False) as gatekeeper, \
            loaded.connect(autocommit=False) as rival:
        gatekeeper.execute("SELECT FROM items WHERE id = 50 FOR UPDATE")
        rival.execute("SELECT FROM items WHERE id = 60 FOR UPDATE")
        running = tidemark.start("run", "--json")
        wait_for(lambda: waiting(cluster, loaded) == 1, what="the load")
        wants = threading.Thread(target=rival.execute, args=(
            "SELECT FROM items WHERE id = 10 FOR UPDATE",))
        wants.start()
        wait_for(lambda: waiting(cluster, loaded) == 2, what="the rival")
        time.sleep(0.4)  # its own look for a deadlock finds none yet
        gatekeeper.rollback()
        wants.join(20)
        rival.rollback()
    finish(running, source, loaded)


@pytest.mark.parametrize("engine", ("mariadb", "mysql"))
def test_deadlock_of_innodb(tidemark, source, make_destination, engine):
    """The server gives up the transaction that has changed fewer rows."""
    destination = make_destination(engine)
    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "timestamp", retry=RETRY)
    tidemark.run()
    workload.change_items(source, "true")
    destination.execute("CREATE TABLE ballast (n int) AS SELECT id AS n "
                        "FROM items", *["INSERT INTO ballast "
                                        "SELECT n FROM ballast"] * 5)
    with destination.connect() as rival, rival.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("UPDATE ballast SET n = n + 1")
        cursor.execute("SELECT id FROM items WHERE id = 60 FOR UPDATE")
        running = tidemark.start("run", "--json")
        # Not more often: InnoDB shows a reader that comes back within
        # 0.1 s what it showed before.
        wait_for(lambda: destination.query(
            "SELECT count(*) FROM information_schema.innodb_trx "
            "WHERE trx_state = 'LOCK WAIT'")[0][0] == 1,
                 step=0.3, what="the load")
        cursor.execute("SELECT id FROM items WHERE id = 10 FOR UPDATE")
        rival.rollback()
    finish(running, source, destination)


def test_serialization_failure(tidemark, source, loaded):
    """A session of ours is READ COMMITTED whatever the server's default is, so
    a trigger says it, once: a sequence does not roll back."""
    loaded.execute(
        "CREATE SEQUENCE times",
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ "
        "BEGIN IF nextval('public.times') = 1 THEN RAISE 'could not serialize' "
        "USING ERRCODE = 'serialization_failure'; END IF; RETURN NEW; END $$",
        "CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON items "
        "FOR EACH ROW EXECUTE FUNCTION refuse()")
    finish(tidemark.start("run", "--json"), source, loaded)


def test_unknown_error_is_retried_less(tidemark, source, make_destination):
    """A SQLSTATE of no class that is known, raised by a trigger: two tries, not
    five."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, destination, "timestamp", retry=RETRY)
    tidemark.run()
    workload.change_items(source, "id = 2")
    destination.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ "
        "BEGIN RAISE 'no luck' USING ERRCODE = 'A0123'; END $$",
        "CREATE TRIGGER refuse BEFORE INSERT OR UPDATE OR DELETE ON items "
        "FOR EACH ROW EXECUTE FUNCTION refuse()")
    done = tidemark("run", "--json").expect(1)
    assert done.pipeline()["error"]["code"] == "unknown"
    assert done.err.count("try 1 of 2 failed") == 1, done
    assert "try 2 of" not in done.err
    destination.execute("DROP TRIGGER refuse ON items")
    tidemark.run()
    check_items(source, destination)


NOWHERE = "postgresql://app@127.0.0.1:1/shop"


class Breaking:
    """A pipeline whose source is there or not, as told."""

    def __init__(self, tidemark, source, destination, **breaker):
        self.tidemark, self.connection = tidemark, source.connection()
        workload.create_items(source, rows=10)
        sync_items(tidemark, source, destination, "timestamp",
                   retry={"attempts": 1, "breaker": breaker})

    def source(self, there):
        self.tidemark.connect("source",
                              self.connection if there else NOWHERE)
        self.tidemark.write_config()

    def fail(self, *words):
        result = self.tidemark.run(expect=EXIT_ACCESS).pipeline()
        for word in words:
            assert word in result["error"]["message"], result
        return "breaker is open" in result["error"]["message"]

    def status(self):
        return self.tidemark("status", "--json").pipeline()

    def wait(self):
        """Until it is half open."""
        until = datetime.datetime.fromisoformat(
            self.status()["breaker"]["open_until"].replace("Z", "+00:00"))
        left = until - datetime.datetime.now(datetime.timezone.utc)
        assert left.total_seconds() < 4
        time.sleep(max(0, left.total_seconds()) + 0.05)


def attempt_times(tidemark):
    """When each began and ended, in microseconds."""
    db = sqlite3.connect(f"file:{tidemark.state_file}?mode=ro", uri=True)
    try:
        return db.execute("SELECT started_at, ended_at FROM attempts "
                          "ORDER BY started_at").fetchall()
    finally:
        db.close()


def attempts(tidemark):
    return len(attempt_times(tidemark))


def test_breaker(tidemark, source, make_destination):
    """Opens, is remembered by the next process, half opens, opens again,
    closes."""
    destination = make_destination("sqlite")
    b = Breaking(tidemark, source, destination, failures=3, cool_down="3s")
    b.source(False)
    for _ in range(3):
        assert b.status()["breaker"] is None
        assert not b.fail("127.0.0.1")
    assert b.status()["breaker"]["failures"] == 3
    # Open: also for a source that is there again.
    b.source(True)
    assert b.fail("the breaker is open until", "the last 3 runs failed",
                  "127.0.0.1")
    assert attempts(tidemark) == 3, "a run that was not tried is on record"
    assert "breaker open until" in tidemark("status").expect(EXIT_OK).out
    # Half open: one try.
    b.source(False)
    tidemark.pipelines["items"]["retry"]["attempts"] = 5
    tidemark.write_config()
    b.wait()
    assert b.status()["breaker"] is None
    done = tidemark("run", "--json").expect(EXIT_ACCESS)
    assert "try 1 of" not in done.err, done
    assert b.fail("the last 4 runs failed")
    b.wait()
    b.source(True)
    assert tidemark.run().pipeline()["rows_read"] == 10
    assert b.status()["breaker"] is None
    check_items(source, destination)
    b.source(False)
    tidemark.pipelines["items"]["retry"]["attempts"] = 1
    tidemark.write_config()
    assert not b.fail() and not b.fail(), "the row begins anew"


def test_breaker_of_a_postgres_store(tidemark, source, make_database,
                                     make_destination):
    store = make_database("state")
    tidemark.top["state"] = store.connection()
    b = Breaking(tidemark, source, make_destination("sqlite"), failures=2,
                 cool_down="1h")
    b.source(False)
    assert [b.fail() for _ in range(4)] == [False, False, True, True]


def test_answers_do_not_open_it(tidemark, source, make_destination):
    """Data that is refused is no failure of a server."""
    b = Breaking(tidemark, source, make_destination("sqlite"), failures=2,
                 cool_down="1h")
    tidemark.pipelines["items"]["gate"] = {"min": {"id": 5}}
    tidemark.write_config()
    for _ in range(4):
        message = tidemark.run(expect=EXIT_DATA).pipeline()["error"]["message"]
        assert "breaker" not in message
    # Nor does it count towards those that do.
    b.source(False)
    assert [b.fail() for _ in range(3)] == [False, False, True]


def test_breaker_off(tidemark, source, make_destination):
    b = Breaking(tidemark, source, make_destination("sqlite"), failures=0)
    b.source(False)
    assert not any(b.fail() for _ in range(7))


def test_watch_keeps_to_it(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    b = Breaking(tidemark, source, destination, failures=2, cool_down="2s")
    b.source(False)
    running = tidemark.start("run", "--watch", "50ms")
    wait_for(lambda: b"breaker is open" in running.text["err"],
             what="the breaker")
    wait_for(lambda: attempts(tidemark) >= 3, what="the half-open try")
    _, last, half_open, *_ = attempt_times(tidemark)
    assert half_open[0] - last[1] > 1_900_000, "it did not rest"
    running.signal(signal.SIGTERM)
    running.wait()


@pytest.mark.parametrize("end", ("source", "warehouse"))
def test_watch_comes_back(tidemark, own_cluster, source, make_destination,
                          end):
    """A server that is away for longer than the breaker waits."""
    server = own_cluster()
    server.create_database("data")
    data = ends.PostgresEnd(server, "data")
    source = data if end == "source" else source
    destination = data if end == "warehouse" else make_destination("sqlite")
    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "timestamp",
               retry={"attempts": 2, "backoff": "10ms",
                      "breaker": {"failures": 2, "cool_down": "1s"}})
    running = tidemark.start("run", "--watch", "50ms")
    schema = destination.schema

    def arrived(n):
        return len(destination.rows(f"{schema}.items", {"id": "int"})) == n

    wait_for(lambda: "items" in destination.tables() and arrived(100),
             what="the first load")
    server.stop("immediate")
    wait_for(lambda: b"breaker is open" in running.text["err"],
             what="the breaker")
    server.start()
    workload.fill_items(source, 101, 150, stamp="now()")
    wait_for(lambda: arrived(150), what="the rows after the restart")
    running.signal(signal.SIGTERM)
    running.wait()
    check_items(source, destination)
