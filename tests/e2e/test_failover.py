"""Another server becomes the one to write to, while sessions to the old one are
at rest. They are replaced: no attempt fails, and nothing is said."""

import contextlib
import signal

import pytest

import ends
from bench import EXIT_OK, password_connection
from mysql_servers import SERVERS
from servers import APP, wait_for
from test_pool import (add_pipelines, at_rest, attempts, check_tables,
                       make_tables, stop, synced)
from test_timelines import REPLICATES, copy_of, promote, replay

__all__ = ["copy_of"]  # a fixture


@pytest.mark.parametrize("old", ("stopped", "read-only"))
def test_pooled_sessions_follow(old, make_database, own_cluster, copy_of,
                                tidemark):
    source = make_database("source")
    primary = own_cluster(settings=REPLICATES)
    primary.create_database("warehouse")
    make_tables(source, 2)
    standby = copy_of(primary, "standby")
    before = ends.PostgresEnd(primary, "warehouse")
    after = ends.PostgresEnd(standby, "warehouse")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", password_connection(
        f"postgresql://{APP}@127.0.0.1:{primary.port},127.0.0.1:"
        f"{standby.port}/warehouse?target_session_attrs=read-write"))
    add_pipelines(tidemark, source, before, n=2)
    running = tidemark.start("run", "--watch", "8s", "--jobs", "1")
    wait_for(lambda: len(at_rest(before)) == 1
             and synced(source, before, 2), what="sessions at rest")
    # No round may begin in the middle of it.
    running.signal(signal.SIGSTOP)
    replay(standby, primary)
    if old == "read-only":
        primary.order("ALTER SYSTEM SET default_transaction_read_only "
                      "= on")
        primary.order("SELECT pg_reload_conf()")
    else:
        primary.stop()
    promote(standby)
    source.execute("INSERT INTO t0 VALUES (3, 3)",
                   "INSERT INTO t1 VALUES (3, 3)")
    running.signal(signal.SIGCONT)
    wait_for(lambda: synced(source, after, 2), what="the next round")
    done = stop(running)
    assert "warehouse" not in done.err, done
    check_tables(source, after, 2)
    assert set(attempts(tidemark)) == {1}
    if old == "read-only":
        assert before.query("SELECT count(*) FROM t0") == [(2,)]


@contextlib.contextmanager
def two_servers(name):
    """Two of their own, with a database each."""
    if SERVERS[name].missing():
        pytest.skip(SERVERS[name].missing())
    with contextlib.ExitStack() as made:
        both = []
        for _ in range(2):
            server = SERVERS[name]().create()
            made.callback(server.remove)
            server.start().prepare()
            server.create_database("warehouse")
            both.append(server)
        yield both


def copy_tables(old, new):
    """As a replica has them."""
    with old.admin("warehouse") as db, new.admin("warehouse") as other:
        read, write = db.cursor(), other.cursor()
        read.execute("SHOW TABLES")
        for table, in read.fetchall():
            read.execute(f"SHOW CREATE TABLE {table}")
            write.execute(read.fetchone()[1])
            n = read.execute(f"SELECT * FROM {table}")
            write.executemany(
                f"INSERT INTO {table} VALUES"
                f" ({', '.join(['%s'] * len(read.description))})",
                read.fetchall())
            assert n


@pytest.mark.parametrize("engine", ("mariadb", "mysql"))
def test_pooled_sessions_of_mysql_follow(engine, source, make_proxy, tidemark):
    """The name leads to another server by now, and the old one is a replica
    that still answers."""
    make_tables(source, 2)
    with two_servers(engine) as (old, new):
        before, after = (ends.MysqlEnd(each, "warehouse")
                         for each in (old, new))
        proxy = make_proxy(before)
        tidemark.connect("source", source.connection())
        tidemark.connect("warehouse", proxy.connection(before))
        add_pipelines(tidemark, source, before, n=2)
        running = tidemark.start("run", "--watch", "8s", "--jobs", "1")
        wait_for(lambda: b" pipelines: " in running.text["err"],
                 what="sessions at rest")
        # No round may begin in the middle of it.
        running.signal(signal.SIGSTOP)
        copy_tables(old, new)
        with old.admin() as db, db.cursor() as cursor:
            cursor.execute("SET GLOBAL read_only = 1")
        proxy.server_port = new.port
        source.execute("INSERT INTO t0 VALUES (3, 3)",
                       "INSERT INTO t1 VALUES (3, 3)")
        running.signal(signal.SIGCONT)
        wait_for(lambda: synced(source, after, 2) or not running.alive(),
                 what="the next round")
        done = stop(running)
        assert "warehouse" not in done.err, done
        check_tables(source, after, 2)
        assert before.query("SELECT count(*) FROM t0") == [(2,)]
        assert set(attempts(tidemark)) == {1}
        tidemark("verify").expect(EXIT_OK)
