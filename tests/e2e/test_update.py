"""`load: {mode: update}`: named columns of rows that are there, and nothing
else; within one table, without losing what a writer does meanwhile."""

import random
import signal
import threading
import time

import pytest

import workload
from bench import EXIT_CONFIG, EXIT_SCHEMA, check_accounting, items_settings

ENGINES = ("postgres", "mariadb", "mysql", "sqlite", "duckdb")
LATER = {"postgres": "timestamptz '2031-01-01 00:00:00+00'",
         "mariadb": "'2031-01-01'", "mysql": "'2031-01-01'",
         "sqlite": "'2031-01-01 00:00:00+00:00'",
         "duckdb": "timestamptz '2031-01-01 00:00:00+00'"}


def rows(end):
    found = end.rows(f"{end.schema}.items",
                     {"id": "int", "name": "text", "quantity": "int"})
    return {row[0]: row[1:] for row in found}


def update_settings(source, destination, columns, **settings):
    settings = items_settings(source, destination, "timestamp", "update",
                              **settings)
    settings["source"]["columns"] = columns
    return settings


@pytest.mark.parametrize("engine", ENGINES)
def test_named_columns_of_rows_that_are_there(tidemark, make_source,
                                              make_destination, engine):
    source, destination = make_source("postgres"), make_destination(engine)
    workload.create_items(source, rows=200)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline("all", **items_settings(source, destination, "timestamp"))
    tidemark.pipeline("names", **update_settings(
        source, destination, ["id", "updated_at", "name"],
        batch={"rows": 60}))
    tidemark.write_config()
    workload.settle(source)
    tidemark("run", "names").expect(EXIT_SCHEMA)  # no table to update
    tidemark.run("all")
    destination.execute(
        "UPDATE items SET name = 'spoiled', quantity = 999 WHERE id <= 5",
        "DELETE FROM items WHERE id = 20",
        f"UPDATE items SET name = 'newer', updated_at = {LATER[engine]} "
        "WHERE id = 7")
    workload.fill_items(source, 201, 205)
    workload.settle(source)
    before = rows(destination)
    said = tidemark.run("names", "--dry-run").pipeline()
    assert rows(destination) == before
    result = tidemark.run("names").pipeline()
    for each in (said, result):
        assert (each["rows_read"], each["rows_inserted"], each["rows_updated"],
                each["rows_unchanged"], each["rows_missing"]) == (
                    205, 0, 5, 200, 6)
    names = rows(source)
    after = rows(destination)
    assert set(after) == set(before)
    for key, (name, quantity) in after.items():
        assert name == ("newer" if key == 7 else names[key][0]), key
        assert quantity == before[key][1], key
    again = tidemark.run("names").pipeline()
    assert again["rows_updated"] == again["rows_inserted"] == 0


class Counters:
    """Writers who count on the rows of a table, in transactions that take
    their time; every one is remembered."""

    def __init__(self, source, keys):
        self.source, self.keys = source, keys
        self.counted, self.stopped = {}, False
        self.lock, self.failed = threading.Lock(), []
        self.threads = [threading.Thread(target=self.work, args=(n,))
                        for n in range(3)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopped = True
        for thread in self.threads:
            thread.join()
        assert not self.failed, self.failed

    def work(self, seed):
        chance = random.Random(seed)
        try:
            db = self.source.connect()
            if self.source.engine == "postgres":
                db.autocommit = False
            while not self.stopped:
                self.count(db, chance)
            db.close()
        except Exception as error:  # told by the test's own thread
            self.failed.append(error)

    def count(self, db, chance):
        key = chance.choice(self.keys)
        cursor = db.cursor()
        cursor.execute("BEGIN" if self.source.engine != "postgres"
                       else "SELECT now()")
        time.sleep(chance.random() / 200)
        cursor.execute("UPDATE items SET quantity = quantity + 1, "
                       f"updated_at = {workload.dialect(self.source).now} "
                       f"WHERE id = {key}")
        time.sleep(chance.random() / 200)
        db.commit()
        with self.lock:
            self.counted[key] = self.counted.get(key, 0) + 1


@pytest.mark.parametrize("engine", ("postgres", "mariadb", "mysql"))
def test_no_count_is_lost(tidemark, make_source, engine):
    """Source and destination are one table. The run writes back values that
    it has read, so it must not write a row that a writer has changed in
    between."""
    source = make_source(engine)
    workload.create_items(source, rows=60)
    source.execute("UPDATE items SET quantity = 0")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", source.connection())
    table = f"{source.schema}.items"
    settings = update_settings(source, source, ["id", "updated_at", "quantity"],
                               batch={"rows": 30})
    settings["source"]["expressions"] = {
        "name": workload.dialect(source).labelled}
    settings["destination"] = {"connection": "source", "table": table}
    tidemark.pipeline("labels", **settings)
    tidemark.write_config()
    runs = updated = 0
    with Counters(source, list(range(1, 61))) as writers:
        until = time.monotonic() + 5
        # However busy the machine is: so much has to have met.
        while (time.monotonic() < until or runs < 4 or updated < 60 or
               len(writers.counted) <= 20) and not writers.failed:
            result = tidemark.run().pipeline()
            check_accounting(result)
            updated += result["rows_updated"]
            runs += 1
    workload.settle(source)
    tidemark.run()
    for key, (name, quantity) in rows(source).items():
        assert quantity == writers.counted.get(key, 0), key
        assert name == f"c{key}"


@pytest.mark.parametrize("engine, elsewhere", (
    ("postgres", False), ("postgres", True), ("mariadb", True),
    ("mysql", False)))
def test_a_late_commit_with_an_older_mark(tidemark, make_source, engine,
                                          elsewhere):
    """A transaction that began before the row's last change commits while the
    run waits for it: the row is left to it, and read again. The table may be
    named by another address."""
    source = make_source(engine)
    workload.create_items(source, rows=5)
    source.execute("UPDATE items SET quantity = 0")
    label_in_place(tidemark, source)
    if elsewhere:
        address = source.connection()
        address["url"] = address["url"].replace("127.0.0.1", "localhost")
        tidemark.connect("elsewhere", address)
        tidemark.pipelines["labels"]["destination"]["connection"] = "elsewhere"
        tidemark.write_config()
    db = source.connect()
    if engine == "postgres":
        db.autocommit = False
    cursor = db.cursor()
    cursor.execute("SELECT now()" if engine == "postgres" else "BEGIN")
    if engine != "postgres":
        cursor.execute("SET @began = now(6)")
    workload.touch_items(source, "id = 1")
    began = "now()" if engine == "postgres" else "@began"
    cursor.execute("UPDATE items SET quantity = quantity + 1, "
                   f"updated_at = {began} WHERE id = 1")
    running = tidemark.start("run", "--json")
    time.sleep(3)
    assert running.alive()
    db.commit()
    db.close()
    result = running.wait().expect(0).pipeline()
    assert (result["rows_updated"], result["rows_unchanged"]) == (4, 1)
    assert rows(source)[1][1] == 2
    if engine == "postgres":  # MySQL's now() is the statement's, not BEGIN's
        workload.settle(source)
        tidemark.run()
        assert rows(source)[1] == ("c1", 2)


def label_in_place(tidemark, source):
    """Quantities are written back as they were read, beside a label."""
    settings = update_settings(source, source, ["id", "updated_at", "quantity"])
    settings["source"]["expressions"] = {
        "name": workload.dialect(source).labelled}
    settings["destination"]["connection"] = "source"
    tidemark.connect("source", source.connection())
    tidemark.pipeline("labels", **settings)
    tidemark.write_config()


@pytest.mark.parametrize("engine", ("postgres", "mariadb", "mysql"))
def test_two_changes_of_one_second(tidemark, make_source, engine):
    """A mark of whole seconds does not tell them apart: the row is left until
    its second is over."""
    source = make_source(engine)
    workload.create_items(source, rows=5)
    whole = {"postgres": "ALTER updated_at TYPE timestamptz(0)"}.get(
        engine, "MODIFY updated_at timestamp NOT NULL")
    source.execute(f"ALTER TABLE items {whole}")
    label_in_place(tidemark, source)
    second = "date_trunc('second', now())" if engine == "postgres" else "now()"
    db = source.connect()
    if engine == "postgres":
        db.autocommit = False
    cursor = db.cursor()
    cursor.execute(f"SELECT {second}" if engine == "postgres" else "BEGIN")
    source.execute("UPDATE items SET quantity = 7, updated_at = "
                   f"{second} WHERE id = 1")
    cursor.execute("UPDATE items SET quantity = quantity + 1 WHERE id = 1")
    running = tidemark.start("run", "--json")
    time.sleep(2)
    db.commit()
    db.close()
    running.wait().expect(0)
    assert rows(source)[1][1] == 8
    workload.settle(source)
    tidemark.run()
    assert rows(source)[1] == ("c1", 8)


@pytest.mark.parametrize("engine", ("sqlite", "duckdb"))
def test_within_one_file(tidemark, make_source, engine):
    source = make_source(engine)
    workload.create_items(source, rows=90)
    tidemark.connect("source", source.connection())
    settings = update_settings(source, source, ["id", "updated_at"],
                               batch={"rows": 40})
    settings["source"]["expressions"] = {
        "name": workload.dialect(source).labelled}
    settings["destination"]["connection"] = "source"
    tidemark.pipeline("labels", **settings)
    tidemark.write_config()
    workload.settle(source)
    before = rows(source)
    assert tidemark.run().pipeline()["rows_updated"] == 90
    assert rows(source) == {key: (f"c{key}", quantity)
                            for key, (_, quantity) in before.items()}
    assert tidemark.run().pipeline()["rows_updated"] == 0


@pytest.mark.parametrize("point", ("mid_load", "after_merge", "commit_sent",
                                   "commit_acked", "state_saved"))
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.thinned(3)
def test_killed_and_run_again(tidemark_failpoints, make_source,
                              make_destination, engine, point):
    """Every row is updated in the end, and no other column."""
    tidemark = tidemark_failpoints
    source, destination = make_source("postgres"), make_destination(engine)
    workload.create_items(source, rows=100)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline("all", **items_settings(source, destination, "timestamp"))
    tidemark.pipeline("names", **update_settings(
        source, destination, ["id", "updated_at", "name"],
        batch={"rows": 20}))
    tidemark.write_config()
    workload.settle(source)
    tidemark.run("all")
    destination.execute("UPDATE items SET name = 'spoiled', quantity = 999",
                        "DELETE FROM items WHERE id = 20")
    done = tidemark("run", "names", failpoints=f"{point}=kill@2")
    assert done.code == -signal.SIGKILL, done
    tidemark.run("names")
    names = rows(source)
    assert rows(destination) == {key: (name, 999) for key, (name, _)
                                 in names.items() if key != 20}
    assert tidemark.run("names").pipeline()["rows_read"] == 0


@pytest.mark.parametrize("change, words", [
    ({"columns": ["id", "name"]}, ["updated_at", "source.columns"]),
    ({"columns": [], "expressions": {"name": "'x'"}}, ["source.columns"])])
def test_what_it_asks_for(tidemark, make_destination, change, words):
    destination = make_destination("sqlite")
    destination.execute("CREATE TABLE items (id integer PRIMARY KEY)")
    tidemark.connect("source", destination.connection())
    settings = update_settings(destination, destination, [])
    settings["source"].update(change)
    settings["destination"]["connection"] = "source"
    tidemark.pipeline("items", **settings)
    tidemark.write_config()
    done = tidemark("run").expect(EXIT_CONFIG)
    assert all(word in done.err for word in words), done


def test_what_others_say_to_it(tidemark, make_source, make_destination):
    source, destination = make_source("sqlite"), make_destination("sqlite")
    workload.create_items(source, rows=3)
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline("names", **update_settings(
        source, destination, ["id", "updated_at", "name"]))
    tidemark.write_config()
    for command in (["verify"], ["backfill", "names", "--plan"],
                    ["run", "--full-refresh"]):
        done = tidemark(*command).expect(EXIT_CONFIG)
        assert "mode update" in done.err, done
