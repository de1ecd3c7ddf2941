"""Bad days of sessions that rest, and of servers that take no more of them."""

import contextlib

import pytest

from bench import EXIT_OK
from ends import MysqlEnd
from mysql_servers import SERVERS
from servers import APP, wait_for
from test_pool import (add_pipelines, attempts, check_tables, make_tables,
                       stop, synced)

FAMILY = ("mariadb", "mysql")
ROUND = b" pipelines: "


def begin(tidemark, source, destination, places):
    """Start, and wait until the first round has laid its sessions down."""
    tidemark.connect("source", places[0])
    tidemark.connect("warehouse", places[1])
    add_pipelines(tidemark, source, destination, n=2)
    running = tidemark.start("run", "--watch", "8s", "--jobs", "1")
    wait_for(lambda: ROUND in running.text["err"] or not running.alive(),
             what="the first round")
    return running


def go_on(tidemark, running, source, destination):
    """The next round has no trouble."""
    source.execute("INSERT INTO t0 VALUES (3, 3)")
    source.execute("INSERT INTO t1 VALUES (3, 3)")
    wait_for(lambda: synced(source, destination, 2) or not running.alive(),
             what="the next round")
    done = stop(running)
    assert "connection" not in done.err, done
    check_tables(source, destination, 2)
    assert set(attempts(tidemark)) == {1}


@pytest.mark.parametrize("engine", FAMILY)
def test_the_server_ends_sessions_of_mysql(engine, make_mysql, tidemark):
    source, destination = make_mysql(engine), make_mysql(engine)
    make_tables(source, 2)
    running = begin(tidemark, source, destination,
                    [source.connection(), destination.connection()])
    ours = [row[0] for end in (source, destination)
            for row in end.sessions()]
    assert len(ours) >= 2
    with source.server.admin() as db, db.cursor() as cursor:
        for session in ours:
            cursor.execute(f"KILL {session}")
    go_on(tidemark, running, source, destination)


@pytest.mark.parametrize("how", ("close", "cut"))
def test_clickhouse_ends_kept_connections(how, source, make_clickhouse,
                                          make_proxy, tidemark):
    destination = make_clickhouse()
    proxy = make_proxy(destination)
    make_tables(source, 2)
    running = begin(tidemark, source, destination,
                    [source.connection(), proxy.connection(destination)])
    proxy.strike(how)
    go_on(tidemark, running, source, destination)


# MariaDB cannot set it later.
STARTS = {1203: ["--max-user-connections=7"]}


@contextlib.contextmanager
def limited(name, number):
    """A server that has or will have little room."""
    missing = SERVERS[name].missing()
    if missing:
        pytest.skip(missing)
    server = SERVERS[name](STARTS.get(number, [])).create()
    try:
        server.start().prepare()
        for database in ("shop", "copied"):
            server.create_database(database)
        yield server
    finally:
        server.remove()


LIMITS = {
    1040: "SET GLOBAL max_connections = 10",
    1203: "DO 1",
    1226: f"ALTER USER {APP}@'%' WITH MAX_USER_CONNECTIONS 7",
}


@pytest.mark.parametrize("number", LIMITS)
@pytest.mark.parametrize("engine", FAMILY)
def test_a_full_server_of_mysql(engine, number, tidemark):
    """Fewer pipelines run at once, this is said, and none fails."""
    with limited(engine, number) as server:
        shop, copied = (MysqlEnd(server, name) for name in ("shop", "copied"))
        make_tables(shop)
        tidemark.connect("source", shop.connection())
        tidemark.connect("warehouse", copied.connection())
        add_pipelines(tidemark, shop, copied)
        with server.admin() as db, db.cursor() as cursor:
            cursor.execute(LIMITS[number])
        done = tidemark.run("--jobs", "8")
        assert "takes no more sessions: fewer pipelines run" in done.err
        check_tables(shop, copied)
        tidemark("verify").expect(EXIT_OK)
