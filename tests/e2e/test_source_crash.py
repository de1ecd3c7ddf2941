"""The source crashes and takes back what it had shown: commits that did not
wait for the log, and rolled-back transactions. Their transaction ids and
sequence values are given out again."""

import os
import signal

import pytest

import workload
from bench import EXIT_SCHEMA, sync_items
from ends import PostgresEnd
from servers import wait_for
from test_streams import configure, fill

# Time is not given out again.
STRATEGIES = ("xmin", "sequence")
# Nothing but the log writer and who waits for a commit flushes the log.
SETTINGS = {"wal_writer_delay": "10s", "bgwriter_lru_maxpages": "0",
            "checkpoint_timeout": "1h"}


class Crashable:
    """A server whose log writer stands still from stop_flushing() on, so that
    a crash takes back what did not wait for the log."""

    def __init__(self, cluster):
        self.cluster = cluster
        cluster.create_database("source")
        self.end = PostgresEnd(cluster, "source")

    def log_writer(self):
        return self.cluster.order(
            "SELECT pid, wait_event FROM pg_stat_activity "
            "WHERE backend_type = 'walwriter'").fetchone()

    def stop_flushing(self):
        """While it sleeps: it holds no lock then."""
        def asleep():
            pid, event = self.log_writer()
            if event != "WalWriterMain":
                return False
            os.kill(pid, signal.SIGSTOP)
            if self.log_writer()[1] == "WalWriterMain":
                return True
            os.kill(pid, signal.SIGCONT)
            return False
        wait_for(asleep, what="a log writer that sleeps")

    def crash(self):
        self.cluster.kill()
        self.cluster.start()


@pytest.fixture
def server(own_cluster):
    return Crashable(own_cluster(settings=SETTINGS))


def names(end):
    return dict(end.rows("items" if end.engine == "postgres" else
                         f"{end.schema}.items", {"id": "int", "name": "text"}))


def commit_without_waiting(source):
    with source.connect() as db:
        db.execute("SET synchronous_commit = off")
        for number in range(40):
            db.execute("INSERT INTO items (name) VALUES (%s)",
                       [f"taken back {number}"])


def roll_back(source):
    with source.connect(autocommit=False) as db:
        for _ in range(40):
            db.execute("INSERT INTO items (name) VALUES ('never')")
            db.rollback()


@pytest.mark.parametrize("lost", (commit_without_waiting, roll_back))
@pytest.mark.parametrize("strategy", ("timestamp", *STRATEGIES))
def test_ids_are_given_out_again(tidemark, server, make_destination, strategy,
                                 lost):
    source, destination = server.end, make_destination("sqlite")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, strategy)
    tidemark.run()
    server.stop_flushing()
    lost(source)
    workload.settle(source)
    done = tidemark.run()
    if lost is commit_without_waiting:
        assert done.pipeline()["rows_inserted"] == 40, "rows do not wait"
    if lost is commit_without_waiting and strategy != "timestamp":
        assert "flushed its log" in done.pipeline()["guarantee_reason"], done
        assert done.pipeline()["guarantee"] == "exact"
    server.crash()
    assert len(names(source)) == 50, "the crash has taken nothing back"
    source.execute("INSERT INTO items (name) SELECT 'new ' || n "
                   "FROM generate_series(1, 30) n")
    for number in range(30):
        source.execute(f"INSERT INTO items (name) VALUES ('own {number}')")
    workload.settle(source)
    tidemark.run()
    theirs, ours = names(source), names(destination)
    assert {key: ours.get(key) for key in theirs} == theirs
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_first_load_waits_for_the_log(tidemark, server, make_destination,
                                      strategy):
    """Nothing of it is settled; the next run has it all."""
    source, destination = server.end, make_destination("sqlite")
    workload.create_items(source, rows=50)
    server.stop_flushing()
    commit_without_waiting(source)
    sync_items(tidemark, source, destination, strategy, batch={"rows": 20})
    workload.settle(source)
    assert tidemark.run().pipeline()["rows_inserted"] == 90
    again = tidemark.run().pipeline()
    assert (again["rows_read"], again["rows_unchanged"]) == (90, 90)
    source.execute("UPDATE items SET name = 'flushes', updated_at = now(), "
                   "seq = nextval('items_seq') WHERE id = 1")
    workload.settle(source)
    tidemark.run()
    assert tidemark.run().pipeline()["rows_read"] == 0
    assert names(source) == names(destination)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_run_waits_for_a_log_that_is_flushed_soon(tidemark, source,
                                                  make_destination, strategy):
    """The usual log writer needs less than a second."""
    workload.create_items(source, rows=50)
    destination = make_destination("sqlite")
    sync_items(tidemark, source, destination, strategy)
    commit_without_waiting(source)
    workload.settle(source)
    tidemark.run()
    wait_for(lambda: tidemark.run().pipeline()["rows_read"] == 0,
             what="a mark that moves")
    assert names(source) == names(destination)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_log_that_ends_with_a_segment(tidemark, server, make_destination,
                                      strategy):
    """Its end is told as behind the next segment's header, which nobody
    flushes."""
    source, destination = server.end, make_destination("sqlite")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, strategy)
    server.stop_flushing()
    server.cluster.order("SELECT pg_switch_wal()")
    end, flushed = server.cluster.order(
        "SELECT pg_current_wal_insert_lsn() - '0/0', "
        "pg_current_wal_flush_lsn() - '0/0'").fetchone()
    assert end - flushed == 40
    workload.settle(source)
    tidemark.run()
    assert tidemark.run().pipeline()["rows_read"] == 0


def test_unlogged_table_begins_anew(tidemark, server, make_destination):
    """A crash empties it and sets its sequence back: however far the new ids
    have come, the run says so."""
    source, destination = server.end, make_destination("sqlite")
    source.execute("CREATE UNLOGGED TABLE items (id bigint GENERATED ALWAYS AS "
                   "IDENTITY PRIMARY KEY, name text)",
                   "INSERT INTO items (name) SELECT 'old ' || n "
                   "FROM generate_series(1, 20) n",
                   # Nothing of an unlogged table's waits for the log.
                   "CREATE TABLE flushes ()")
    sync_items(tidemark, source, destination, "sequence",
               watermark={"column": "id"})
    assert tidemark.run().pipeline()["guarantee"] == "exact"
    assert tidemark.run().pipeline()["rows_read"] == 0
    server.crash()
    for rows in (5, 40):
        source.execute("INSERT INTO items (name) SELECT 'new ' || n "
                       f"FROM generate_series(1, {rows}) n")
        refused = tidemark.run(expect=EXIT_SCHEMA).pipeline()["error"]
        assert "UNLOGGED" in refused["message"], refused
    source.execute("DROP TABLE flushes")
    tidemark.run("--full-refresh")
    assert names(source) == names(destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("lost", (commit_without_waiting, roll_back))
def test_streams_begin_behind_what_is_flushed(tidemark, server,
                                              make_destination, strategy,
                                              lost):
    """Several streams load up to a point that is settled before the first of
    them reads: no crash may take it back."""
    source, destination = server.end, make_destination("duckdb")
    fill(source)
    server.stop_flushing()
    lost(source)
    configure(tidemark, source, destination, strategy)
    workload.settle(source)
    tidemark.run()
    server.crash()
    for number in range(90):
        source.execute(f"INSERT INTO items (name) VALUES ('own {number}')")
    workload.settle(source)
    tidemark.run()
    theirs, ours = names(source), names(destination)
    assert {key: ours.get(key) for key in theirs} == theirs
