"""MariaDB and MySQL: which kind of server the source is, as far as the user may
see. Settings of the server that are not the session's."""

import re
import shlex
import time

import pytest

from bench import EXIT_OK, EXIT_SCHEMA, sync_items
from ends import MysqlEnd
from servers import free_port

# The statement that makes the server a replica which is not started, and the
# one that takes it back.
PRIMARY = {
    "mariadb": ("CHANGE MASTER TO master_host='127.0.0.1', master_port=1",
                "RESET SLAVE ALL"),
    "mysql": ("CHANGE REPLICATION SOURCE TO source_host='127.0.0.1',"
              " source_port=1, source_user='copies'", "RESET REPLICA ALL"),
}


@pytest.fixture(params=PRIMARY)
def source(request, tidemark, make_mysql, make_destination):
    """With a pipeline over its table."""
    source = make_mysql(request.param)
    source.execute("CREATE TABLE items (seq bigint AUTO_INCREMENT PRIMARY KEY,"
                   " name varchar(40))",
                   "INSERT INTO items (name) VALUES ('a'), ('b')")
    sync_items(tidemark, source, make_destination("sqlite"), "sequence")
    return source


def told(tidemark):
    done = tidemark.run().pipeline()
    return done["guarantee"], done["guarantee_reason"]


def test_a_primary_that_is_named_and_not_followed(tidemark, source):
    """By a user who may not see the status of replicas."""
    assert told(tidemark) == ("exact", "")
    begin, end = PRIMARY[source.engine]
    try:
        source.execute(begin)
        guarantee, reason = told(tidemark)
        assert guarantee == "lag" and "a replica" in reason
    finally:
        source.execute(end)
    assert told(tidemark) == ("exact", "")


@pytest.mark.parametrize("small_server", ["mariadb"], indirect=True)
def test_a_sign_of_a_primary(tidemark, small_server, make_destination):
    """Without performance_schema, to a user who may not see the status."""
    source = MysqlEnd(small_server, "shop")
    source.execute("DROP TABLE IF EXISTS items", "CREATE TABLE items (seq"
                   " bigint AUTO_INCREMENT PRIMARY KEY, name varchar(40))")
    sync_items(tidemark, source, make_destination("sqlite"), "sequence")
    begin, end = PRIMARY["mariadb"]
    assert told(tidemark) == ("exact", "")
    with small_server.admin() as db, db.cursor() as cursor:
        cursor.execute(begin)
        try:
            guarantee, reason = told(tidemark)
        finally:
            cursor.execute(end)
    assert guarantee == "lag" and "GRANT SLAVE MONITOR" in reason, reason


def test_an_event_applies_nothing(tidemark, source):
    """MySQL lists its worker as a system user."""
    scheduler = source.query("SELECT @@global.event_scheduler")[0][0]
    source.execute("SET GLOBAL event_scheduler = ON",
                   "CREATE EVENT slow ON SCHEDULE AT CURRENT_TIMESTAMP DO"
                   " DO SLEEP(3)")
    try:
        end = time.monotonic() + 10
        while time.monotonic() < end and not source.query(
                "SELECT 1 FROM information_schema.processlist"
                " WHERE info LIKE 'DO SLEEP%'"):
            time.sleep(0.05)
        assert told(tidemark) == ("exact", "")
    finally:
        source.execute(f"SET GLOBAL event_scheduler = {scheduler}")


@pytest.mark.parametrize("source", ["mariadb"], indirect=True)
def test_if_exists_is_not_taken_for_said(tidemark, source, make_mysql):
    """The setting is MariaDB's own."""
    sync_items(tidemark, source, make_mysql("mariadb"), "sequence")
    source.execute("SET GLOBAL sql_if_exists = 1")
    try:
        tidemark.run("--dry-run")
        tidemark.run()
        tidemark.run("--dry-run")
    finally:
        source.execute("SET GLOBAL sql_if_exists = 0")


@pytest.mark.parametrize("small_server", ["mariadb"], indirect=True)
def test_same_server_on_another_port(tidemark, small_server, make_destination):
    """MariaDB's number of a server is made of its port and its network card:
    the message says so, and its command goes on."""
    source = MysqlEnd(small_server, "shop")
    source.execute("DROP TABLE IF EXISTS items", "CREATE TABLE items (seq"
                   " bigint AUTO_INCREMENT PRIMARY KEY, name varchar(40))",
                   "INSERT INTO items (name) VALUES ('a'), ('b')")
    sync_items(tidemark, source, make_destination("sqlite"), "sequence")
    tidemark.run()
    tidemark.run()
    small_server.stop()
    small_server.port = free_port()
    small_server.start()
    tidemark.connect("source", source.connection())
    tidemark.write_config()
    message = tidemark.run(expect=EXIT_SCHEMA).pipeline()["error"]["message"]
    assert "also changes with its port and its network card" in message
    command = re.search(r"`tidemark (watermark set .*)` keeps", message)[1]
    tidemark(*shlex.split(command)).expect(EXIT_OK)
    source.execute("INSERT INTO items (name) VALUES ('c')")
    assert tidemark.run().pipeline()["rows_inserted"] == 1
