"""Streams of a first load, where sessions are few. Their sessions count, so that
none waits for what another one holds."""

import pytest

import ends
from bench import Tidemark, sync_items
from servers import APP
from oracle import check_items
from test_streams import ROWS, check_end, configure, fill, ranges

QUICK = {"attempts": 2, "backoff": "100ms", "max_backoff": "200ms"}


@pytest.fixture
def two_ends(own_cluster):
    """Databases of one server that takes no more than so many sessions."""
    def make(limit):
        cluster = own_cluster()
        for name in ("source", "warehouse"):
            cluster.create_database(name)
        cluster.order(f"ALTER ROLE {APP} CONNECTION LIMIT {limit}")
        return [ends.PostgresEnd(cluster, name)
                for name in ("source", "warehouse")]
    return make


def bound(tidemark, source, destination, sessions):
    for name, end in (("source", source), ("warehouse", destination)):
        tidemark.connect(name, {**end.connection(), "sessions": sessions})
    return tidemark.write_config()


@pytest.mark.parametrize("sessions, streams", ((8, 3), (6, 2), (5, 1), (2, 1)))
def test_as_many_as_have_room(tidemark, two_ends, sessions, streams):
    source, destination = two_ends(2 * sessions)
    fill(source)
    configure(tidemark, source, destination)
    bound(tidemark, source, destination, sessions)
    done = tidemark.run()
    assert (f"is loaded by {streams} streams" in done.err) == (streams > 1)
    assert ("and there is room for" in done.err) == (streams < 3)
    assert "takes no more" not in done.err
    check_end(tidemark, source, destination)


@pytest.mark.parametrize("sessions", (4, 2))
def test_fewer_than_it_began_with(failpoint_binary, work_dir, two_ends,
                                  sessions):
    """It goes on by one stream, or begins anew where not even one has room."""
    tidemark = Tidemark(failpoint_binary, work_dir)
    source, destination = two_ends(20)
    fill(source)
    configure(tidemark, source, destination)
    assert tidemark.killed(failpoints="streams_loaded=kill@1")
    assert ranges(tidemark)
    bound(tidemark, source, destination, sessions)
    read = tidemark.run().pipeline()["rows_read"]
    assert read <= 2 if sessions == 4 else read == ROWS
    check_end(tidemark, source, destination)


def test_pipelines_that_share_the_room(tidemark, two_ends):
    """Each has streams, and the connection is bounded for both."""
    source, destination = two_ends(24)
    fill(source)
    source.execute("CREATE TABLE others (LIKE items INCLUDING ALL)",
                   "INSERT INTO others SELECT * FROM items", "ANALYZE others")
    configure(tidemark, source, destination, batch={"rows": 300})
    sync_items(tidemark, source, destination, "timestamp", name="others",
               batch={"rows": 300})
    tidemark.pipelines["others"]["load"]["streams"] = 3
    tidemark.pipelines["others"]["source"]["table"] = "public.others"
    tidemark.pipelines["others"]["destination"]["table"] = "public.others"
    bound(tidemark, source, destination, 10)
    done = tidemark.run("--jobs", "2")
    assert "given back" not in done.err and "takes no more" not in done.err
    check_items(source, destination)
    assert source.query("SELECT count(*) FROM others") == \
        destination.query("SELECT count(*) FROM others")


def test_a_full_server_gets_fewer(tidemark, two_ends):
    """A stream that finds no room leaves its range to the others."""
    source, destination = two_ends(8)
    fill(source)
    configure(tidemark, source, destination, streams=6, retry=QUICK,
              batch={"rows": 100})
    # Each range takes a while, so that all streams are at work at once.
    tidemark.pipelines["items"]["source"]["where"] = \
        "pg_sleep(0.0002) IS NOT NULL"
    tidemark.write_config()
    done = tidemark.run()
    assert "is loaded by fewer streams" in done.err
    assert "try 1 of" not in done.err
    del tidemark.pipelines["items"]["source"]["where"]
    tidemark.write_config()
    tidemark.run()
    check_end(tidemark, source, destination)
