"""Bad days at a MariaDB or MySQL source, as the binary tells of them."""

import signal
import socket
import threading
import time

import pytest

import ends
import oracle
import workload
from bench import EXIT_ACCESS, EXIT_STOPPED, items_settings, sync_items
from servers import wait_for

ENGINES = ("mariadb", "mysql")


def points_at(tidemark, work_dir, port):
    tidemark.connect("source", f"mysql://app@127.0.0.1:{port}/shop")
    tidemark.connect("warehouse", f"sqlite:{work_dir}/w.db")
    tidemark.pipeline(
        "t", source={"connection": "source", "table": "shop.t"},
        destination={"connection": "warehouse", "table": "main.t"},
        watermark={"strategy": "sequence", "column": "id"})
    return tidemark.write_config()


def full_listener():
    """Nobody gets through: the queue of connections is full."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    waiting = []
    for _ in range(4):
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex(listener.getsockname())
        waiting.append(one)
    return listener, waiting


def silent_listener():
    """Connections are taken, and then nothing is said."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(16)
    return listener, []


@pytest.mark.parametrize("listen", (full_listener, silent_listener))
def test_stop_while_connecting(tidemark, work_dir, listen):
    listener, waiting = listen()
    points_at(tidemark, work_dir, listener.getsockname()[1])
    running = tidemark.start("run")
    time.sleep(1)
    assert running.alive(), running.wait()
    running.signal(signal.SIGINT)
    running.wait().expect(EXIT_STOPPED)
    for each in (*waiting, listener):
        each.close()


def stops_soon(tidemark):
    running = tidemark.start("run")
    time.sleep(1.5)
    assert running.alive(), running.wait()
    running.signal(signal.SIGINT)
    running.wait().expect(EXIT_STOPPED)


@pytest.mark.parametrize("engine, strategy", (
    ("mariadb", "timestamp"), ("mysql", "timestamp"), ("mysql", "sequence")))
def test_stop_while_the_source_hangs(tidemark, make_mysql, make_destination,
                                     engine, strategy):
    """A statement waits at the server, for rows or for what is settled: the
    stop ends it there."""
    source, destination = make_mysql(engine), make_destination("sqlite")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, strategy)
    with source.connect() as other, other.cursor() as cursor:
        cursor.execute("LOCK TABLES items WRITE")
        stops_soon(tidemark)
        assert not source.query(
            "SELECT id FROM information_schema.processlist WHERE info LIKE"
            " 'SELECT %items%' AND id <> connection_id()"), \
            "the statement goes on"


def test_stop_while_the_target_hangs(tidemark, source, make_destination):
    """It is asked for the mark."""
    destination = make_destination("mariadb")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    with destination.connect() as other, other.cursor() as cursor:
        cursor.execute("LOCK TABLES _tidemark_watermark WRITE")
        stops_soon(tidemark)
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.parametrize("engine", ENGINES)
def test_locked_table_is_named(tidemark, make_mysql, make_destination,
                               engine):
    source, destination = make_mysql(engine), make_destination("sqlite")
    workload.create_items(source, rows=50)
    tidemark.connect("source", {**source.connection(),
                                "timeout": {"silence": "2s"}})
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline("items", **items_settings(
        source, destination, "timestamp",
        retry={"attempts": 2, "backoff": "100ms"}))
    tidemark.write_config()
    with source.connect() as other, other.cursor() as cursor:
        cursor.execute("LOCK TABLES items WRITE")
        done = tidemark.run(expect=EXIT_ACCESS)
        message = done.pipeline()["error"]["message"]
        assert "items" in message and "LOCK TABLES" in message, message
        assert done.pipeline()["watermark_after"] is None
        assert "try 1 of 2" in done.err, "not retried"
    tidemark.connect("source", source.connection()).write_config()
    tidemark.run()
    oracle.check_equal(source, destination, "items", "main.items",
                       oracle.ITEMS)


def test_running_statement_without_performance_schema(
        tidemark, small_server, make_destination):
    """It has taken its NOW(), and no transaction shows yet."""
    source = ends.MysqlEnd(small_server, "shop")
    destination = make_destination("sqlite")
    source.execute("DROP TABLE IF EXISTS items")
    workload.create_items(source, rows=50)
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.run()
    late = threading.Thread(target=source.execute, args=(
        "INSERT INTO items (name) SELECT IF(GET_LOCK('late', 600), 'late', "
        "'late')",))
    with source.connect() as db, db.cursor() as holder:
        holder.execute("SELECT GET_LOCK('late', 0)")
        late.start()
        wait_for(lambda: source.query(
            "SELECT 1 FROM information_schema.processlist "
            "WHERE state = 'User lock'"), what="the statement")
        source.execute("INSERT INTO items (name) VALUES ('early')")
        time.sleep(1.2)
        assert tidemark.run().pipeline()["guarantee"] == "lag"
        assert late.is_alive()
    late.join()
    time.sleep(1.2)
    tidemark.run()
    oracle.check_equal(source, destination, "items", "main.items",
                       oracle.ITEMS)
