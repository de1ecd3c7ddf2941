"""The soak of test_soak.py over MariaDB and MySQL: transactions that took their
NOW() early, and AUTO_INCREMENT values that commit out of order or never."""

import random

import pymysql
import pytest

import oracle
import workload
from bench import written
from servers import wait_for
from test_soak import check_worked, watch_and_kill

ITEMS = {"id": "int", "name": "text", "quantity": "int",
         "updated_at": "timestamptz"}
EVENTS = {"id": "int", "name": "text"}
# pipeline: strategy, mark, table, columns, mode, destination
PIPELINES = {
    "items": ("timestamp", "updated_at", "items", ITEMS, "upsert", "sqlite"),
    "again": ("timestamp", "updated_at", "items", ITEMS, "append", "postgres"),
    "events": ("sequence", "id", "events", EVENTS, "delete_insert", "sqlite"),
    "ids": ("sequence", "id", "events", EVENTS, "append", "postgres"),
}
DEADLOCK, WAITED = 1213, 1205


class MysqlWriters(workload.Writers):
    """In MySQL a statement takes its NOW() and its ids when it begins: what
    matters is how long its transaction then stays open."""

    def _work(self, seed):
        chance = random.Random(seed)
        try:
            with self.source.connect() as db, db.cursor() as cursor:
                while not self.stopping.is_set():
                    self._one(cursor, chance)
        except Exception as error:  # a dead writer would let any test pass
            self.errors.append(error)

    def _one(self, cursor, chance):
        long = chance.random() < 0.2
        rows = 0
        cursor.execute("START TRANSACTION")
        try:
            for _ in range(chance.randint(1, 4)):
                rows += self._write(cursor, chance)
                if long:
                    self.stopping.wait(chance.uniform(0, 1.5))
        except pymysql.err.OperationalError as error:
            if error.args[0] not in (DEADLOCK, WAITED):
                raise
            cursor.execute("ROLLBACK")
            return
        if chance.random() < 0.1:
            cursor.execute("ROLLBACK")  # leaves a gap in the ids
        else:
            cursor.execute("COMMIT")
            with self.lock:
                self.committed += 1
                self.late += long
                self.rows += rows
        self.stopping.wait(chance.uniform(0, 0.05))

    @staticmethod
    def _write(cursor, chance):
        kind, n = chance.random(), chance.randint(1, 5)
        if kind < 0.4:
            return cursor.executemany(
                "INSERT INTO events (name) VALUES (%s)",
                [(f"event {chance.random()}",) for _ in range(n)])
        if kind < 0.7:
            return cursor.executemany(
                "INSERT INTO items (name) VALUES (%s)",
                [(f"item {chance.random()}",) for _ in range(n)])
        first = chance.randint(1, 2000)
        return cursor.execute(
            "UPDATE items SET quantity = quantity + 1 WHERE id BETWEEN"
            f" {first} AND {first + n}")


def create(source):
    source.execute(
        "CREATE TABLE items (id bigint AUTO_INCREMENT PRIMARY KEY,"
        " name varchar(80) NOT NULL, quantity int NOT NULL DEFAULT 0,"
        " updated_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)"
        " ON UPDATE CURRENT_TIMESTAMP(6), INDEX (updated_at))",
        "CREATE TABLE events (id bigint AUTO_INCREMENT PRIMARY KEY,"
        " name varchar(80) NOT NULL)",
        "INSERT INTO items (name, updated_at) WITH RECURSIVE s AS (SELECT 1 n"
        " UNION ALL SELECT n + 1 FROM s WHERE n < 50) SELECT 'old',"
        " '2024-01-01' + INTERVAL a.n SECOND FROM s a, s b",
        "INSERT INTO events (name) SELECT 'old' FROM items")


def configure(tidemark, source, destinations):
    tidemark.connect("source", source.connection())
    for name, (strategy, mark, table, _, mode, engine) in PIPELINES.items():
        end = destinations[engine]
        tidemark.connect(engine, end.connection())
        tidemark.pipeline(
            name,
            source={"connection": "source",
                    "table": f"{source.schema}.{table}"},
            destination={"connection": engine,
                         "table": f"{end.schema}.{name}"},
            watermark={"strategy": strategy, "column": mark},
            load={"mode": mode}, batch={"rows": 300})
    tidemark.write_config()


@pytest.mark.parametrize("engine", ("mariadb", "mysql"))
def test_soak(tidemark, make_mysql, make_destination, full, engine,
              record_property):
    seconds = 60 if full else 8
    source = make_mysql(engine)
    destinations = {name: make_destination(name)
                    for name in ("sqlite", "postgres")}
    create(source)
    configure(tidemark, source, destinations)
    with MysqlWriters(source, threads=4, seed=5) as writers:
        kills, in_run = watch_and_kill(tidemark, seconds, random.Random(11))
    workload.settle(source)
    rest = tidemark.run().json()["pipelines"]
    wait_for(lambda: all(
        each["rows_read"] == each["rows_held"] == 0
        for each in tidemark.run().json()["pipelines"]),
             step=0.2, what="the last rows to settle")
    for result in tidemark.run().json()["pipelines"]:
        assert result["rows_read"] == written(result) == 0, result
        assert result["guarantee"] == "exact", result
    check_worked(tidemark, kills, in_run, seconds)
    assert writers.late > 3, writers.figures()
    for name, (_, _, table, columns, _, end) in PIPELINES.items():
        to = f"{destinations[end].schema}.{name}"
        oracle.check_equal(source, destinations[end], table, to, columns,
                           pipeline=name)
    record_property("figures", f"{seconds} s: {writers.figures()}; {kills} "
                    f"kills, {in_run} in mid-run; left for the end: "
                    f"{sum(each['rows_read'] for each in rest)} rows")
