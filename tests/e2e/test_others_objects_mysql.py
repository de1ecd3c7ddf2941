"""Objects of others under Tidemark's names, in MariaDB and MySQL. A view runs
functions with the rights of whoever reads it, and a trigger changes written
values. The attacker's functions write their victim's name into a table that
only the victim may write."""

import contextlib

import pymysql
import pytest

import workload
from bench import EXIT_OK, EXIT_SCHEMA, sync_items
from mysql_servers import APP, BOSS
from servers import CANARY
from test_others_objects import COMMANDS, refused
from test_target_altered import alter

MARK = "_tidemark_watermark"
PEEK = ("CREATE FUNCTION {}.peek() RETURNS INT SQL SECURITY INVOKER"
        " MODIFIES SQL DATA BEGIN"
        " DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;"
        " INSERT INTO {}.canary VALUES (CURRENT_USER()); RETURN 1; END")
VIEW = ("CREATE SQL SECURITY {} VIEW {}." + MARK + " AS SELECT"
        " 'items' AS pipeline, NULL AS watermark, '' AS batch_id, 0 AS fence,"
        " 0 AS rows_total,"
        " 0 AS created_target, 'items' AS target, 0 AS target_rows,"
        " NULL AS next_batch_id FROM DUAL WHERE {}.peek() = 1")
KEEP_OLD = ("CREATE TRIGGER helper BEFORE UPDATE ON " + MARK + " FOR EACH ROW"
            " SET NEW.watermark = OLD.watermark")


class Mallory:
    """A user with a database of its own, who may make objects in another."""

    def __init__(self, end):
        self.end, self.own = end, f"{end.database}_own"
        self.server = end.server
        self.server.create_database(self.own)
        self.order(f"CREATE USER mallory@'%' IDENTIFIED BY '{CANARY}'",
                   f"GRANT ALL ON {self.own}.* TO mallory@'%'",
                   f"GRANT ALL ON {end.database}.* TO mallory@'%'",
                   f"CREATE TABLE {end.database}.canary (who text)",
                   f"CREATE TABLE {self.own}.canary (who text)",
                   f"REVOKE ALL ON {self.own}.* FROM {APP}@'%'",
                   f"GRANT SELECT, EXECUTE, INSERT ON {self.own}.*"
                   f" TO {APP}@'%'")
        self.attack(PEEK.format(self.own, self.own))

    def order(self, *statements):
        with contextlib.closing(self.server.admin()) as db:
            for sql in statements:
                db.cursor().execute(sql)

    def attack(self, *statements):
        with contextlib.closing(pymysql.connect(
                host="127.0.0.1", port=self.server.port, user="mallory",
                password=CANARY, database=self.end.database,
                autocommit=True)) as db:
            for sql in statements:
                db.cursor().execute(sql)

    def victims(self):
        with contextlib.closing(self.server.admin(self.own)) as db:
            cursor = db.cursor()
            cursor.execute("SELECT DISTINCT who FROM canary")
            return cursor.fetchall()

    def remove(self):
        self.order("DROP USER mallory@'%'")
        self.server.drop_database(self.own)


@pytest.fixture(params=("mariadb", "mysql"))
def mallory(request, make_mysql):
    made = Mallory(make_mysql(request.param))
    yield made
    made.remove()


def sync(tidemark, source, mallory, mode="upsert", role=APP):
    workload.create_items(source, rows=3)
    sync_items(tidemark, source, mallory.end, "timestamp", mode)
    if role != APP:
        tidemark.connect("warehouse", {
            **mallory.end.connection(),
            "url": mallory.server.url(mallory.end.database, role, None)})
        tidemark.write_config()


@pytest.mark.parametrize("role", (APP, BOSS))
@pytest.mark.parametrize("security", ("INVOKER", "DEFINER"))
def test_view_in_the_place_of_marks(tidemark, source, mallory, role, security):
    sync(tidemark, source, mallory, role=role)
    mallory.attack(VIEW.format(security, mallory.end.database, mallory.own))
    refused(tidemark, "is not a table", *COMMANDS)
    assert mallory.victims() == ()


def test_trigger_on_our_marks(tidemark, source, mallory):
    """It runs with the rights of its own definer: and those may reach to the
    mark, which would stay where it is."""
    sync(tidemark, source, mallory)
    tidemark.run()
    mallory.attack(KEEP_OLD)
    refused(tidemark, "has trigger helper", *COMMANDS)
    mallory.attack("DROP TRIGGER helper")
    tidemark.run()


def test_trigger_that_comes_between_two_batches(tidemark_failpoints, source,
                                                mallory):
    """The load looks again, behind the lock that it writes under."""
    done = alter(tidemark_failpoints, source, mallory.end, KEEP_OLD)
    assert "has trigger helper" in done.expect(EXIT_SCHEMA).err, done


def test_view_over_a_raw_table(tidemark, source, mallory):
    """Its readers, verify among them, would run what is in it. One with the
    rights of its own definer does no harm to them."""
    sync(tidemark, source, mallory, "append")
    tidemark.run()
    columns = ", ".join(mallory.end.columns_of("items"))
    view = ("CREATE OR REPLACE SQL SECURITY {} VIEW items AS SELECT "
            + columns + f" FROM items_raw WHERE {mallory.own}.peek() = 1")
    mallory.attack(view.format("DEFINER"))
    tidemark.run()
    tidemark("check").expect(EXIT_OK)
    mallory.order(f"DELETE FROM {mallory.own}.canary")
    mallory.attack(view.format("INVOKER"))
    tidemark("run").expect(EXIT_SCHEMA)
    problems = tidemark("check", "--json").expect(EXIT_SCHEMA).pipeline()[
        "problems"]
    assert [each["code"] for each in problems] == ["unsafe-view"], problems
    assert problems[0]["fix"], problems
    assert mallory.victims() == ()
