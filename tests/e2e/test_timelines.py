"""The source's history to which a mark belongs. Servers were one, and each went
on by itself."""

import contextlib

import pytest

import workload
from bench import EXIT_OK, EXIT_SCHEMA, sync_items
from ends import PostgresEnd
from oracle import check_items
from servers import Cluster, wait_for

REPLICATES = {"wal_keep_size": "64MB", "checkpoint_timeout": "1h"}


@pytest.fixture
def copy_of():
    """Make a copy of a running server; a standby follows it."""
    with contextlib.ExitStack() as servers:
        def make(server, name):
            other = Cluster(name, settings=REPLICATES)
            servers.callback(other.remove)
            other.program(
                "pg_basebackup", "-D", other.data, "-h", server.dir, "-p",
                str(server.port), "-U", "postgres", "-c", "fast", "--no-sync",
                "-R")
            return other.start()
        yield make


def replay(standby, server):
    """Let it replay all that the server has written so far."""
    at = server.psql("postgres", "SELECT pg_current_wal_lsn()").strip()
    wait_for(lambda: standby.psql(
        "postgres", f"SELECT pg_last_wal_replay_lsn() >= '{at}'") == "t\n",
             what=f"{standby.dir} to replay up to {at}")


def promote(standby):
    standby.program("pg_ctl", "-D", standby.data, "-w", "promote")


def refused(tidemark, *words):
    error = tidemark.run(expect=EXIT_SCHEMA).pipeline()["error"]["message"]
    for word in words:
        assert word in error, error


@pytest.mark.parametrize("strategy", ("xmin", "sequence"))
def test_standby_that_is_behind_the_mark(tidemark, own_cluster, copy_of,
                                         make_destination, strategy):
    """It is no other server: the run says that it is behind, and goes on once
    it is not."""
    first = own_cluster(settings=REPLICATES)
    first.create_database("shop")
    source = PostgresEnd(first, "shop")
    workload.create_items(source, rows=20)
    destination = make_destination("sqlite")
    sync_items(tidemark, source, destination, strategy)
    standby = copy_of(first, "standby")
    replay(standby, first)
    standby.psql("postgres", "SELECT pg_wal_replay_pause()")
    wait_for(lambda: standby.psql(
        "postgres", "SELECT pg_get_wal_replay_pause_state()") == "paused\n",
             what="a replay that stands")
    workload.fill_items(source, 21, 120)
    for _ in range(2):
        tidemark.run()
    asked = PostgresEnd(standby, "shop")
    tidemark.connect("source", asked.connection())
    tidemark.write_config()
    refused(tidemark, "is ahead of this server", "it is a standby",
            "Wait until it has, or read from the primary")
    standby.psql("postgres", "SELECT pg_wal_replay_resume()")
    replay(standby, first)
    tidemark.run()
    check_items(asked, destination)


@pytest.mark.parametrize("strategy", ("timestamp", "xmin"))
def test_standby_of_a_standby_that_was_promoted(
        tidemark, own_cluster, copy_of, make_destination, strategy):
    """The standby's control file learns of the new timeline at its next
    restartpoint, which may be long after the rows. Until then it names an older
    timeline. The old primary must not go on from that."""
    first = own_cluster(settings=REPLICATES)
    first.create_database("shop")
    source = PostgresEnd(first, "shop")
    workload.create_items(source, rows=20)
    second = copy_of(first, "second")
    third = copy_of(second, "third")
    replay(third, first)
    asked = PostgresEnd(third, "shop")
    destination = make_destination("sqlite")
    sync_items(tidemark, asked, destination, strategy)
    tidemark.run()
    tidemark.run()
    promote(second)
    workload.change_items(PostgresEnd(second, "shop"), "id <= 5")
    replay(third, second)
    refused(tidemark, "timeline was 1, now it is 2")
    tidemark("run", "--full-refresh", "items").expect(EXIT_OK)
    check_items(asked, destination)
    workload.change_items(source, "id > 5")
    tidemark.connect("source", source.connection())
    tidemark.write_config()
    refused(tidemark, "timeline was 2, now it is 1")
