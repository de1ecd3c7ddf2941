"""Replicas of MariaDB and MySQL that are behind, or do not say."""

import contextlib

import pymysql
import pytest

import oracle
import workload
from bench import EXIT_OK, sync_items
from ends import MysqlEnd
from mysql_servers import SERVERS
from servers import APP, wait_for

# Each server's words for the same things.
WORDS = {
    "mariadb": {
        "position": "SHOW MASTER STATUS",
        "follow": "CHANGE MASTER TO master_host='127.0.0.1', master_port={}, "
                  "master_user='copies', master_password='copies', "
                  "master_log_file='{}', master_log_pos={}",
        "start": "START SLAVE", "stop": "STOP SLAVE",
        "ask": "SHOW ALL SLAVES STATUS",
        "right": f"GRANT SLAVE MONITOR ON *.* TO {APP}@'%'"},
    "mysql": {
        "position": "SHOW BINARY LOG STATUS",
        "follow": "CHANGE REPLICATION SOURCE TO source_host='127.0.0.1', "
                  "source_port={}, source_user='copies', "
                  "source_password='copies', source_log_file='{}', "
                  "source_log_pos={}, get_source_public_key=1",
        "start": "START REPLICA", "stop": "STOP REPLICA",
        "ask": "SHOW REPLICA STATUS",
        "right": f"GRANT REPLICATION CLIENT ON *.* TO {APP}@'%'"},
}


@contextlib.contextmanager
def pair(name):
    """A server, and a replica that follows it."""
    with contextlib.ExitStack() as servers:
        both = []
        for number in (1, 2):
            server = SERVERS[name]([f"--server-id={number}",
                                    "--log-bin=log"]).create()
            servers.callback(server.remove)
            both.append(server.start().prepare())
        first, second = both
        words = WORDS[name]
        with first.admin() as db, db.cursor() as cursor:
            cursor.execute("CREATE USER copies@'%' IDENTIFIED BY 'copies'")
            cursor.execute("GRANT REPLICATION SLAVE ON *.* TO copies@'%'")
            cursor.execute(words["position"])
            file, position = cursor.fetchone()[:2]
        with second.admin() as db, db.cursor() as cursor:
            cursor.execute(words["right"])
            cursor.execute(words["follow"].format(first.port, file, position))
            cursor.execute(words["start"])
        yield first, second


def behind(server):
    """Seconds, or None."""
    with server.admin() as db, db.cursor(pymysql.cursors.DictCursor) as cursor:
        cursor.execute(WORDS[server.name]["ask"])
        row = cursor.fetchone()
    return row.get("Seconds_Behind_Master", row.get("Seconds_Behind_Source"))


def has_rows(server, n):
    """The database and its table are made by the replication, too."""
    with server.admin() as db, db.cursor() as cursor:
        cursor.execute("SELECT 1 FROM information_schema.tables WHERE "
                       "table_schema = 'shop' AND table_name = 'items'")
        if not cursor.fetchone():
            return False
        cursor.execute("SELECT count(*) FROM shop.items")
        return cursor.fetchone() == (n,)


def held(tidemark, text):
    """By its replica, for a reason with this text."""
    def look():
        now = tidemark("status", "--json").pipeline()["paused"]
        return now and now["by"] == "replica_lag" and text in now["reason"]
    return wait_for(look, step=0.2, what=f"a run that is held: {text}")


@pytest.mark.parametrize("name", WORDS)
def test_lag_of_a_replica(tidemark, make_destination, name):
    """One that a lock holds up, and one whose replication has stopped."""
    missing = SERVERS[name].missing()
    if missing:
        pytest.skip(missing)
    destination = make_destination("postgres")
    with pair(name) as (first, second):
        first.create_database("shop")
        source = MysqlEnd(first, "shop")
        copy = MysqlEnd(second, "shop")
        workload.create_items(source, rows=10)
        tidemark.connect("replica", copy.connection())
        sync_items(tidemark, source, destination, "timestamp",
                   pace={"replica_lag": "1s", "replicas": ["replica"]})
        wait_for(lambda: has_rows(second, 10), what="the replica")
        tidemark.run()
        with copy.connect() as locker, locker.cursor() as cursor:
            cursor.execute("LOCK TABLES items WRITE")
            workload.change_items(source, "id <= 5")
            wait_for(lambda: (behind(second) or 0) > 2, what="its lag")
            running = tidemark.start("run", "--json")
            held(tidemark, "connection replica: the replica is")
            assert running.alive()
            cursor.execute("UNLOCK TABLES")
        assert running.wait().expect(EXIT_OK).pipeline()["rows_updated"] >= 5
        with second.admin() as db, db.cursor() as cursor:
            cursor.execute(WORDS[name]["stop"])
        workload.change_items(source, "id > 5")
        running = tidemark.start("run", "--json")
        held(tidemark, "its replication does not run")
        with second.admin() as db, db.cursor() as cursor:
            cursor.execute(WORDS[name]["start"])
        running.wait().expect(EXIT_OK)
        oracle.check_equal(source, destination, "items",
                           f"{destination.schema}.items", oracle.ITEMS,
                           pipeline="items")
