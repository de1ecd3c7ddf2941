"""MariaDB and MySQL crash without having flushed their log with each commit.
The mark is not ahead of the disk, so no row comes back behind it."""

import signal

import pytest

import ends
import mysql_servers
from bench import sync_items

ENGINES = ("mariadb", "mysql")
COLUMNS = {"id": "int", "name": "text"}
NEVER = ["--innodb-flush-log-at-trx-commit=0",
         "--innodb-flush-log-at-timeout=2700"]


@pytest.fixture
def careless(request, tidemark, make_destination):
    """A server that keeps what is committed in memory, and a pipeline that has
    caught up with what is on its disk."""
    made = []

    def make(engine, strategy):
        kind = mysql_servers.SERVERS[engine]
        if kind.missing():
            pytest.skip(kind.missing())
        server = kind(NEVER).create().start().prepare()
        made.append(server)
        server.create_database("shop")
        source, destination = ends.MysqlEnd(server, "shop"), make_destination(
            "sqlite")
        source.execute(
            "CREATE TABLE items (id bigint AUTO_INCREMENT PRIMARY KEY,"
            " name varchar(40), updated_at timestamp(6) NOT NULL DEFAULT"
            " CURRENT_TIMESTAMP(6), INDEX (updated_at))")
        fill(source, "old", 20)
        server.restart()
        sync_items(tidemark, source, destination, strategy, watermark={
            "column": "id" if strategy == "sequence" else "updated_at"})
        tidemark.run()
        return source, destination

    yield make
    for server in made:
        server.remove()


def fill(source, name, n):
    source.execute(*(f"INSERT INTO items (name) VALUES ('{name} {i}')"
                     for i in range(n)))


def lsn(source):
    """Where the log ends, and how far it is on disk."""
    found = dict(source.query("SHOW GLOBAL STATUS LIKE 'Innodb%lsn%'"))
    return [int(next(value for name, value in found.items() if name in names))
            for names in (("Innodb_redo_log_current_lsn",
                           "Innodb_lsn_current"),
                          ("Innodb_redo_log_flushed_to_disk_lsn",
                           "Innodb_lsn_flushed"))]


@pytest.mark.parametrize("engine", ENGINES)
def test_ids_that_are_given_out_again(tidemark, careless, engine):
    source, destination = careless(engine, "sequence")
    fill(source, "lost", 10)
    before = lsn(source)[0]
    done = tidemark.run().pipeline()
    assert done["rows_inserted"] == 10, "what is not on disk is delivered"
    assert done["guarantee"] == "exact", done
    if lsn(source)[1] < before:
        assert done["watermark_after"]["value"] == "20", done
        assert "flushed its log" in done["guarantee_reason"], done
    source.server.restart(signal.SIGKILL)
    fill(source, "new", 15)
    tidemark.run()
    tidemark.run()
    assert (sorted(destination.rows("main.items", COLUMNS)) ==
            sorted(source.rows("items", COLUMNS)))
