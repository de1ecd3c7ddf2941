"""Bad days at a MariaDB or MySQL destination. The message names the fault and
the table, nothing is half loaded, the mark stays, and the next run goes on."""

import contextlib
import signal
import time

import pymysql
import pytest

import ends
import oracle
import workload
from bench import (EXIT_ACCESS, EXIT_DATA, EXIT_OK, EXIT_SCHEMA,
                   sync_items)
from oracle import check_items
from proxy import DOWN, UP, Fault, Proxy
from servers import wait_for

ENGINES = ("mariadb", "mysql")
RETRY = {"attempts": 2, "backoff": "100ms"}


@pytest.fixture(params=ENGINES)
def destination(request, make_mysql):
    return make_mysql(request.param)


def rows(destination):
    return destination.rows("items", oracle.ITEMS)


def loaded(tidemark, source, destination, n=100, **settings):
    """Both sides equal; then every row of the source changes."""
    workload.create_items(source, rows=n)
    settings.setdefault("retry", RETRY)
    sync_items(tidemark, source, destination, "timestamp", **settings)
    tidemark.run()
    workload.change_items(source, "true")


def impatient(tidemark, destination):
    tidemark.connect("warehouse", {**destination.connection(),
                                   "timeout": {"silence": "2s"}})
    return tidemark.write_config()


@contextlib.contextmanager
def unmoved(destination):
    """Rows and mark are what they were."""
    before = rows(destination), destination.watermark("items")
    yield
    assert (rows(destination), destination.watermark("items")) == before
    oracle.check_leftovers(destination)


def failure(done):
    result = done.pipeline()
    assert result["watermark_after"] == result["watermark_before"], result
    return result["error"]["message"]


@contextlib.contextmanager
def variable(destination, name, value):
    """A global variable of the server has another value."""
    with destination.server.admin() as db, db.cursor() as cursor:
        cursor.execute(f"SELECT @@GLOBAL.{name}")
        before = cursor.fetchone()[0]
        cursor.execute(f"SET GLOBAL {name} = {value}")
    try:
        yield
    finally:
        with destination.server.admin() as db, db.cursor() as cursor:
            cursor.execute(f"SET GLOBAL {name} = {before}")


@pytest.mark.parametrize("lock", ("UPDATE items SET quantity = 7 WHERE id = 50",
                                  "LOCK TABLES items READ"))
def test_others_lock(tidemark, source, destination, lock):
    """Another session holds a row, or the table: we do not wait for ever."""
    loaded(tidemark, source, destination)
    impatient(tidemark, destination)
    with unmoved(destination), destination.connect() as other, \
            other.cursor() as cursor:
        cursor.execute("SET autocommit = 0")
        cursor.execute(lock)
        done = tidemark.run(expect=EXIT_ACCESS)
        message = failure(done)
        assert f"{destination.schema}.items" in message, message
        assert "Lock wait timeout" in message, message
        assert "PROCESSLIST" in message, message
        assert "try 1 of 2" in done.err, "not retried"
        other.rollback()
    tidemark.connect("warehouse", destination.connection()).write_config()
    tidemark.run()
    check_items(source, destination)


@contextlib.contextmanager
def no_room(destination):
    """For the table in MySQL; for the stage in MariaDB, which does not outlive
    a full tablespace of tables."""
    if destination.engine == "mariadb":
        yield
        return
    destination.execute("CREATE TABLE ballast (b longblob)")
    with pytest.raises(pymysql.err.OperationalError, match="full"):
        while True:
            destination.execute("INSERT INTO ballast VALUES "
                                "(repeat('x', 1 << 20))")
    yield
    destination.execute("DROP TABLE ballast")


def test_disk_full(tidemark, source, small_server):
    destination = ends.MysqlEnd(small_server, "warehouse")
    small_server.create_database("warehouse")
    workload.create_items(source, rows=200)
    sync_items(tidemark, source, destination, "timestamp", retry=RETRY)
    with variable(destination, "innodb_file_per_table", 0):
        tidemark.run()
        workload.fill_items(source, 201, 7_000)
        source.execute("UPDATE items SET payload = decode(repeat('00ff', 500),"
                       " 'hex') WHERE id > 200")
        with no_room(destination), unmoved(destination):
            message = failure(tidemark.run(expect=EXIT_ACCESS))
            for part in ("warehouse.items", "is full", "make room"):
                assert part in message, message
    tidemark.pipelines["items"]["batch"] = {"rows": 100}
    tidemark.write_config().run()
    check_items(source, destination)
    small_server.drop_database("warehouse")


def test_read_only_server(tidemark, source, destination):
    """As a replica is, or one whose failover is under way."""
    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "timestamp", retry=RETRY)
    with variable(destination, "read_only", 1):
        message = failure(tidemark.run(expect=EXIT_ACCESS))
        assert f"{destination.schema}.items" in message, message
    assert destination.tables() == []
    tidemark.run()
    workload.change_items(source, "true")
    with unmoved(destination), variable(destination, "read_only", 1):
        message = failure(tidemark.run(expect=EXIT_ACCESS))
        assert f"{destination.schema}.items" in message, message
        assert "read" in message and "replica" in message, message
    tidemark.run()
    check_items(source, destination)


@pytest.mark.parametrize("local", (1, 0))
def test_packet_too_small(tidemark, source, destination, local):
    """LOAD DATA takes any row, an INSERT only what fits a packet."""
    loaded(tidemark, source, destination)
    source.execute("UPDATE items SET payload = decode(repeat('00ff', 100000),"
                   " 'hex') WHERE id = 70")
    with variable(destination, "local_infile", local), \
            variable(destination, "max_allowed_packet", 65536):
        if not local:
            with unmoved(destination):
                message = failure(tidemark.run(expect=EXIT_DATA))
            for part in (f"{destination.schema}.items", "id=70",
                         "max_allowed_packet"):
                assert part in message, message
            source.execute("UPDATE items SET payload = '' WHERE id = 70")
        tidemark.run()
    check_items(source, destination)


# Statement -> exit code and what the message holds, of a run that has looked at
# the table anew.
ALTERED = {
    "DROP TABLE items": (EXIT_OK, ""),
    "ALTER TABLE items DROP COLUMN ratio": (EXIT_OK, ""),
    "ALTER TABLE items MODIFY seq tinyint unsigned": (EXIT_SCHEMA,
                                                      "column seq is tinyint"),
    "ALTER TABLE items MODIFY seq decimal(30)": (EXIT_OK, ""),
    "ALTER TABLE items ADD extra int NOT NULL": (EXIT_SCHEMA, "column extra "),
}


@pytest.mark.parametrize("change", ALTERED)
def test_altered_in_mid_run(tidemark_failpoints, source, destination, change):
    """Between the look at the table and the rows: the run looks at it anew,
    and ends as one that finds it so."""
    tidemark = tidemark_failpoints
    loaded(tidemark, source, destination)
    workload.fill_items(source, 101, 160, stamp="now()")
    running = tidemark.start("run", "--json", failpoints="first_row=stop@1")
    wait_for(lambda: running.stopped() or not running.alive(), step=0.01,
             what="the failpoint")
    destination.execute(change)
    code, text = ALTERED[change]
    with unmoved(destination) if code else contextlib.nullcontext():
        running.signal(signal.SIGCONT)
        done = running.wait().expect(code)
    assert f"{destination.schema}.items was altered while" in done.err, done
    if code != EXIT_OK:
        message = failure(done)
        assert f"{destination.schema}.items" in message, message
        assert text in message, message
    if "extra" in change:
        destination.execute("ALTER TABLE items DROP COLUMN extra")
    elif code == EXIT_OK:
        check_items(source, destination)
    tidemark.run(*["--full-refresh"] * ("tinyint" in change))
    check_items(source, destination)


def kill_all(destination, command):
    for row in destination.sessions():
        with contextlib.suppress(pymysql.err.OperationalError):
            destination.execute(f"{command} {row[0]}")


def waits_for_table(destination):
    return [row for row in destination.sessions() if "lock" in (row[2] or "")]


@pytest.mark.parametrize("command", ("KILL", "KILL QUERY"))
def test_killed_in_mid_load(tidemark, source, destination, command):
    """In a statement that waits, and then wherever the load happens to be."""
    workload.create_items(source, rows=20_000)
    sync_items(tidemark, source, destination, "timestamp",
               batch={"rows": 200, "target": "1ms"},
               retry={"attempts": 20, "backoff": "100ms",
                      "max_backoff": "100ms"})
    tidemark.run("--max-batches", "1")
    with destination.connect() as holder, holder.cursor() as cursor:
        cursor.execute("LOCK TABLES items READ")
        running = tidemark.start("run", "--json")
        wait_for(lambda: waits_for_table(destination), what="the load")
        kill_all(destination, command)
        wait_for(lambda: b"of 20 failed" in running.text["err"],
                 what="the first failure")
        cursor.execute("UNLOCK TABLES")
    for _ in range(20):
        kill_all(destination, command)
        time.sleep(0.02)
    done = running.wait().expect(EXIT_OK)
    assert "of 20 failed" in done.err, done
    check_items(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


class Dropper(Proxy):
    """Once: a text of several statements is answered in part, and no more is
    said in that session. So a server is after a KILL QUERY between two of
    them."""

    dropped = 0

    def change(self, way, data):
        if way == UP and data.count(b";\nSELECT") > 1 and not self.dropped:
            self.dropped += 1
            self.fault = Fault("deaf", DOWN, after=100)
        return data


def test_dropped_statements(tidemark, source, destination):
    """The session is found out long before the silence is an error."""
    workload.create_items(source, rows=100)
    sync_items(tidemark, source, destination, "timestamp",
               retry={"attempts": 2, "backoff": "10ms"})
    tidemark.run()
    workload.change_items(source, "id < 20")
    with Dropper(destination.server.port) as proxy:
        tidemark.connect("warehouse", proxy.connection(
            destination, silence="1h")).write_config()
        done = tidemark.run()
    assert proxy.dropped and "try 1 of 2 failed" in done.err, done
    assert "KILL QUERY between the two" in done.err, done
    check_items(source, destination)
