"""MariaDB and MySQL: a transaction takes its NOW() into a variable, touches no
table for a while, and writes that time later."""

import contextlib
import json

import pytest

import ends
import workload
from bench import EXIT_OK, sync_items
from oracle import check_items

ENGINES = ("mariadb", "mysql")
LAG = "transactions that were begun and have not touched a table yet"
WATCHED = ("UPDATE performance_schema.setup_consumers SET enabled = '{}'"
           " WHERE name = 'events_transactions_current'")

every_engine = pytest.mark.parametrize("engine", ENGINES)


@pytest.fixture
def day(tidemark, make_mysql, make_destination):
    """A pipeline of some rows that has caught up."""
    def make(engine):
        source, destination = make_mysql(engine), make_destination("sqlite")
        workload.create_items(source, rows=20)
        sync_items(tidemark, source, destination, "timestamp")
        tidemark.run()
        return source, destination
    return make


def insert(cursor, name, at="NOW(6)"):
    cursor.execute("INSERT INTO items (name, updated_at)"
                   f" VALUES ('{name}', {at})")


@pytest.mark.parametrize("begin", (
    "START TRANSACTION WITH CONSISTENT SNAPSHOT", "START TRANSACTION",
    "XA START 'late'"))
@every_engine
def test_now_before_the_first_write(tidemark, day, engine, begin):
    source, destination = day(engine)
    with source.connect() as late, late.cursor() as cursor:
        cursor.execute(begin)
        cursor.execute("SET @t = NOW(6)")
        workload.settle(source)
        with source.connect() as db, db.cursor() as early:
            insert(early, "early")
        workload.settle(source)
        done = tidemark.run().pipeline()
        assert done["guarantee"] == "exact", done
        assert done["rows_inserted"] == 1, "a long transaction stalls"
        assert done["held_by"]["state"] in ("begun", "RUNNING"), done
        insert(cursor, "late", "@t")
        # InnoDB now says that it has just begun.
        tidemark.run()
        workload.settle(source)
        tidemark.run()
        if begin.startswith("XA"):
            cursor.execute("XA END 'late'")
            cursor.execute("XA COMMIT 'late' ONE PHASE")
        else:
            cursor.execute("COMMIT")
        tidemark.run()
        check_items(source, destination)
        # The session lives on, without a transaction.
        workload.settle(source)
        tidemark.run()
        quiet = tidemark.run().pipeline()
        assert quiet["rows_read"] == 0 and not quiet["held_by"], quiet
    assert tidemark("verify").code == EXIT_OK


@every_engine
def test_begun_to_read_only_holds_nothing(tidemark, day, engine):
    source, destination = day(engine)
    with source.connect() as reader, reader.cursor() as cursor:
        cursor.execute("START TRANSACTION READ ONLY")
        workload.settle(source)
        with source.connect() as db, db.cursor() as early:
            insert(early, "early")
        workload.settle(source)
        assert tidemark.run().pipeline()["held_by"] is None
        assert tidemark.run().pipeline()["rows_read"] == 0
    check_items(source, destination)


def hidden(tidemark, fix):
    """Run and check say in the same words that it is lag, and what to do."""
    done = tidemark.run().pipeline()
    assert done["guarantee"] == "lag", done
    checked = json.loads(tidemark("check", "--json").out)["pipelines"][0]
    assert checked["guarantee"] == "lag", checked
    assert checked["guarantee_reason"] == done["guarantee_reason"]
    found = [each for each in checked["problems"]
             if each["code"] == "transactions-hidden"]
    assert len(found) == 1, checked
    for text in (done["guarantee_reason"], found[0]["message"]):
        assert LAG in text, text
    assert fix in found[0]["fix"] and fix in done["guarantee_reason"], found


@contextlib.contextmanager
def changed(server, there, back):
    """A statement of the administrator's, and another when it is over."""
    with server.admin() as db, db.cursor() as cursor:
        cursor.execute(there)
        try:
            yield
        finally:
            cursor.execute(back)


@every_engine
def test_without_the_right_to_look(tidemark, day, engine):
    source, _ = day(engine)
    right = "SELECT ON performance_schema.*"
    with changed(source.server, f"REVOKE {right} FROM app@'%'",
                 f"GRANT {right} TO app@'%'"):
        hidden(tidemark, f"GRANT {right} TO 'app'@'%'")
    assert tidemark.run().pipeline()["guarantee"] == "exact"


@every_engine
def test_transactions_are_not_recorded(tidemark, day, engine):
    source, _ = day(engine)
    with changed(source.server, WATCHED.format("NO"), WATCHED.format("YES")):
        hidden(tidemark, "events_transactions_current")
    assert tidemark.run().pipeline()["guarantee"] == "exact"


@every_engine
def test_session_that_is_not_watched(tidemark, day, engine):
    source, _ = day(engine)
    with source.connect() as late, late.cursor() as cursor:
        cursor.execute("UPDATE performance_schema.threads SET instrumented ="
                       " 'NO' WHERE processlist_id = CONNECTION_ID()")
        cursor.execute("SELECT CONNECTION_ID()")
        hidden(tidemark, f"processlist_id = {cursor.fetchone()[0]}")
    assert tidemark.run().pipeline()["guarantee"] == "exact"


def test_no_performance_schema(tidemark, small_server, make_destination):
    source = ends.MysqlEnd(small_server, "shop")
    source.execute("DROP TABLE IF EXISTS items")
    workload.create_items(source, rows=20)
    destination = make_destination("sqlite")
    sync_items(tidemark, source, destination, "timestamp")
    hidden(tidemark, "performance_schema=ON")
    check_items(source, destination)
    # Ids are given when a table is touched.
    sync_items(tidemark, source, make_destination("sqlite"), "sequence",
               name="ids", watermark={"column": "id"})
    del tidemark.pipelines["items"]
    assert tidemark.write_config().run().pipeline()["guarantee"] == "exact"


@every_engine
def test_mark_that_is_coarse(tidemark, day, engine):
    """Its open minute is not over when the clock has passed its beginning."""
    source, _ = day(engine)
    settings = tidemark.pipelines.pop("items")
    settings["source"]["expressions"] = {
        "minute": "CAST(DATE_FORMAT(updated_at, '%Y-%m-%d %H:%i:00')"
                  " AS DATETIME)"}
    settings["watermark"].update(column="minute", time_zone="UTC")
    settings["destination"]["table"] = "main.coarse"
    tidemark.pipeline("coarse", **settings).write_config()
    done = tidemark.run().pipeline()
    assert done["guarantee"] == "lag", done
    assert "how coarse its values are" in done["guarantee_reason"], done
    checked = json.loads(tidemark("check", "--json").out)["pipelines"][0]
    found = [each for each in checked["problems"]
             if each["code"] == "mark-expression"]
    assert len(found) == 1 and "watermark.lag" in found[0]["fix"], checked
    assert checked["guarantee_reason"] == done["guarantee_reason"]
