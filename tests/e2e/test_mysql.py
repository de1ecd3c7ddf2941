"""MariaDB and MySQL as sources, into every destination."""

import pathlib
import threading
import time

import pytest

from bench import EXIT_ACCESS, EXIT_CONFIG, EXIT_DATA, EXIT_OK
from servers import wait_for

SOURCES = ("mariadb", "mysql")
DESTINATIONS = ("sqlite", "duckdb", "postgres")
ORDERS = {"id": "int", "customer": "text", "total": "decimal",
          "note": "bytes", "updated_at": "timestamptz"}


@pytest.fixture(params=SOURCES)
def source(request, make_mysql):
    end = make_mysql(request.param)
    end.execute(
        "CREATE TABLE orders (id bigint unsigned AUTO_INCREMENT PRIMARY KEY,"
        " customer varchar(40) NOT NULL, total decimal(20,4), note blob,"
        " updated_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)"
        " ON UPDATE CURRENT_TIMESTAMP(6), INDEX (updated_at))")
    return end


@pytest.fixture(params=DESTINATIONS)
def destination(request, make_destination):
    return make_destination(request.param)


def fill(source, rows, size=10):
    source.execute(
        "INSERT INTO orders (customer, total, note, updated_at)"
        " WITH RECURSIVE d AS (SELECT 0 n UNION ALL SELECT n + 1 FROM d"
        " WHERE n < 99) SELECT concat('Łukasz ', a.n), b.n / 7,"
        f" repeat(0x00ff, {size}), '2024-01-01 10:00:00.5' + INTERVAL a.n"
        f" MINUTE FROM d a, d b LIMIT {rows}")


def set_up(tidemark, source, destination, strategy="timestamp", mode="upsert",
           **settings):
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline(
        "orders",
        source={"connection": "source", "table": f"{source.schema}.orders"},
        destination={"connection": "warehouse",
                     "table": f"{destination.schema}.orders"},
        watermark={"strategy": strategy, "column":
                   "updated_at" if strategy == "timestamp" else "id"},
        load={"mode": mode}, **settings)
    return tidemark.write_config()


def check(source, destination):
    assert (sorted(source.rows("orders", ORDERS)) ==
            sorted(destination.rows(f"{destination.schema}.orders", ORDERS)))


def test_late_commit(tidemark, source, destination):
    """One has taken its NOW() and its id; another commits before it."""
    fill(source, 50)
    set_up(tidemark, source, destination)
    tidemark.run()
    with source.connect() as late, late.cursor() as cursor:
        cursor.execute("START TRANSACTION")
        cursor.execute("INSERT INTO orders (customer) VALUES ('late')")
        time.sleep(1.2)
        source.execute("INSERT INTO orders (customer) VALUES ('early')")
        time.sleep(2.2)
        held = tidemark.run().pipeline()
        assert held["rows_inserted"] == 1, "a long transaction stalls"
        assert held["held_by"], "nobody is named"
        cursor.execute("COMMIT")
    tidemark.run()
    check(source, destination)
    time.sleep(1.2)
    tidemark.run()
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.parametrize("command", ("KILL", "KILL QUERY"))
def test_cut_stream_is_no_short_success(tidemark, source, make_destination,
                                        command):
    destination = make_destination("sqlite")
    fill(source, 10000, size=6000)
    set_up(tidemark, source, destination, batch={"rows": 10000},
           retry={"attempts": 1, "breaker": {"failures": 0}})
    cut = 0
    for _ in range(5):
        running = tidemark.start("run", "--json")

        def session():
            return running.alive() and [row[0] for row in source.query(
                "SELECT id FROM information_schema.processlist WHERE info"
                " LIKE 'SELECT /* tidemark source%'")]
        try:
            found = wait_for(session)
            source.execute(f"{command} {found[0]}")
        except Exception:  # it was over before
            pass
        done = running.wait()
        if done.code == EXIT_OK:
            check(source, destination)
            break
        cut += 1
        assert done.code == EXIT_ACCESS, done
    assert cut, "no stream was cut"
    tidemark.run()
    check(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


def test_server_in_another_time_zone(tidemark, source, make_destination):
    destination = make_destination("postgres")
    server = source.server
    with server.admin() as db, db.cursor() as cursor:
        cursor.execute("SET GLOBAL time_zone = '+05:30'")
    try:
        fill(source, 20)
        source.execute("INSERT INTO orders (customer) VALUES ('now')")
        set_up(tidemark, source, destination)
        tidemark.run()
        check(source, destination)
    finally:
        with server.admin() as db, db.cursor() as cursor:
            cursor.execute("SET GLOBAL time_zone = 'SYSTEM'")


def test_zero_date_names_the_row(tidemark, source, make_destination):
    destination = make_destination("sqlite")
    source.execute("SET sql_mode = ''", "ALTER TABLE orders ADD d date",
                   "INSERT INTO orders (customer, d, updated_at) VALUES"
                   " ('x', '0000-00-00', '2024-01-01')")
    set_up(tidemark, source, destination)
    done = tidemark("run").expect(EXIT_DATA)
    for part in ("orders", 'column "d"', "id=1", "0000-00-00", "zero_dates"):
        assert part in done.err, part
    tidemark.pipelines["orders"]["source"]["zero_dates"] = None
    tidemark.write_config().run()
    assert destination.rows("main.orders", {"id": "int", "d": "date"}) == [
        (1, None)]
    copied = make_destination("sqlite")
    command = ("copy", source.url(), copied.url(), "--table",
               f"{source.schema}.orders", "--watermark", "sequence:id")
    password = {"MYSQL_PWD": tidemark.env["TIDEMARK_TEST_PASSWORD"]}
    assert "--zero-dates" in tidemark(*command, env=password).expect(
        EXIT_DATA).err
    tidemark(*command, "--zero-dates", "null", env=password).expect(EXIT_OK)


@pytest.mark.parametrize("charset", ("utf8mb4", "utf8mb3", "ascii", "cp932"))
def test_bytes_that_are_no_text(tidemark, source, make_destination, charset):
    """The server lets none in, but a damaged or copied file holds some."""
    destination = make_destination("sqlite")
    source.execute(
        "CREATE TABLE notes (id int PRIMARY KEY, v varchar(20) CHARACTER SET"
        f" {charset}, at timestamp NOT NULL) ENGINE = MyISAM",
        "INSERT INTO notes VALUES (1, 'fine', '2024-01-01'), (7, 'MARKER',"
        " '2024-01-02'), (8, 'fine', '2024-01-03')", "FLUSH TABLES notes")
    file = pathlib.Path(source.server.data, source.database, "notes.MYD")
    data = file.read_bytes()
    assert data.count(b"MARKER") == 1
    file.write_bytes(data.replace(b"MARKER", b"MA\xff\xfeER"))
    source.execute("FLUSH TABLES")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline(
        "notes",
        source={"connection": "source", "table": f"{source.schema}.notes"},
        destination={"connection": "warehouse", "table": "main.notes"},
        watermark={"strategy": "timestamp", "column": "at"},
        batch={"rows": 1})
    done = tidemark.write_config().run(expect=EXIT_DATA).pipeline()
    for part in (f"{source.schema}.notes", 'column "v"', "id=7",
                 "not valid in the column's character set"):
        assert part in done["error"]["message"], done
    assert done["watermark_after"]["key"] == ["1"], done
    assert destination.rows("main.notes", {"id": "int"}) == [(1,)]


def test_xmin_is_postgres_only(tidemark, source, make_destination):
    set_up(tidemark, source, make_destination("sqlite"))
    tidemark.pipelines["orders"]["watermark"] = {"strategy": "xmin"}
    done = tidemark.write_config()("run").expect(EXIT_CONFIG)
    assert "timestamp" in done.err


def test_copy_as_a_new_user_types_it(tidemark, source, make_destination):
    destination = make_destination("duckdb")
    fill(source, 100)
    command = ("copy", source.url(), destination.url(), "--table",
               f"{source.schema}.orders", "--watermark",
               "timestamp:updated_at")
    password = {"MYSQL_PWD": tidemark.env["TIDEMARK_TEST_PASSWORD"]}
    assert "100 rows" in tidemark(*command, env=password).expect(EXIT_OK).out
    assert "0 rows" in tidemark(*command, env=password).expect(EXIT_OK).out


def test_statement_that_lists_cannot_show(tidemark, source, make_destination):
    """MySQL shows no list of statements or transactions while one of them has a
    character of four bytes in it. Other lists are asked. A row that this
    transaction holds back is held back all the same."""
    destination = make_destination("sqlite")
    fill(source, 20)
    set_up(tidemark, source, destination)
    with source.connect() as db, db.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("INSERT INTO orders (customer) VALUES ('early')")
        slow = threading.Thread(target=cursor.execute, args=(
            "UPDATE orders SET note = '🐘' WHERE id = 1 "
            "AND get_lock('slow', 600)",))
        with source.connect() as other, other.cursor() as holder:
            holder.execute("SELECT GET_LOCK('slow', 0)")
            slow.start()
            # The list itself cannot be asked: it cannot show the statement.
            wait_for(lambda: source.query(
                "SELECT 1 FROM performance_schema.threads "
                "WHERE processlist_state = 'User lock'")
                if source.engine == "mysql" else source.query(
                "SELECT 1 FROM information_schema.processlist "
                "WHERE state = 'User lock'"), what="the statement")
            done = tidemark.run().pipeline()
            assert slow.is_alive() and done["rows_read"] == 20
            assert done["held_by"]["since"], done
        slow.join()
        cursor.execute("COMMIT")
    tidemark.run()
    check(source, destination)
