"""SQLite and DuckDB files as sources, into every destination."""

import json
import os
import shutil
import subprocess
import sys
import time

import pytest

from bench import (EXIT_ACCESS, EXIT_CONFIG, EXIT_DATA, EXIT_SCHEMA,
                   EXIT_STATE)
from servers import wait_for

SOURCES = ("sqlite", "duckdb")
ORDERS = {"id": "int", "customer": "text", "total": "decimal",
          "ratio": "float", "paid": "bool", "note": "bytes", "born": "date",
          "updated_at": "timestamptz"}

DDL = {
    "sqlite": """
CREATE TABLE orders (
    id INTEGER PRIMARY KEY AUTOINCREMENT, customer TEXT NOT NULL,
    total DECIMAL(20,4), ratio REAL, paid BOOLEAN, note BLOB, born DATE,
    updated_at TIMESTAMPTZ NOT NULL
        DEFAULT (strftime('%Y-%m-%d %H:%M:%f+00:00', 'now')))
""",
    "duckdb": """
CREATE SEQUENCE ids;
CREATE TABLE orders (
    id BIGINT DEFAULT nextval('ids') PRIMARY KEY, customer VARCHAR NOT NULL,
    total DECIMAL(20,4), ratio DOUBLE, paid BOOLEAN, note BLOB, born DATE,
    updated_at TIMESTAMPTZ NOT NULL DEFAULT now())
""",
}
FILL = {
    "sqlite": """
INSERT INTO orders (customer, total, ratio, paid, note, born, updated_at)
WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {n})
SELECT 'Łukasz ' || n, CASE WHEN n % 7 THEN n / 8.0 END, n / 3.0, n % 2,
       randomblob({size}), date('2020-01-01', (n % 3000) || ' days'),
       strftime('%Y-%m-%d %H:%M:%f+00:00', '2024-01-01 10:00:00.5',
                (n / 5) || ' seconds')
FROM s
""",
    "duckdb": """
INSERT INTO orders (customer, total, ratio, paid, note, born, updated_at)
SELECT 'Łukasz ' || n, CASE WHEN n % 7 > 0 THEN n / 8.0 END, n / 3.0,
       n % 2 = 1, encode(repeat('x', {size})),
       DATE '2020-01-01' + CAST(n % 3000 AS INTEGER),
       TIMESTAMPTZ '2024-01-01 10:00:00.5+00' + to_seconds(n // 5)
FROM range(1, {n} + 1) r(n)
""",
}


@pytest.fixture(params=SOURCES)
def source(request, make_source):
    end = make_source(request.param)
    end.execute(DDL[end.engine])
    return end


def fill(source, rows, size=10):
    source.execute(FILL[source.engine].format(n=rows, size=size))


def set_up(tidemark, source, destination, strategy="timestamp", mode="upsert",
           **settings):
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline(
        "orders", source={"connection": "source", "table": "main.orders"},
        destination={"connection": "warehouse",
                     "table": f"{destination.schema}.orders"},
        watermark={"strategy": strategy, "column":
                   "updated_at" if strategy == "timestamp" else "id"},
        load={"mode": mode}, **settings)
    return tidemark.write_config()


def check(source, destination):
    assert (sorted(source.rows("main.orders", ORDERS), key=repr) ==
            sorted(destination.rows(f"{destination.schema}.orders", ORDERS),
                   key=repr))


@pytest.mark.parametrize("strategy,mode,engine", (
    ("timestamp", "upsert", "postgres"), ("timestamp", "upsert", "sqlite"),
    ("timestamp", "upsert", "duckdb"), ("timestamp", "delete_insert", "sqlite"),
    ("timestamp", "append", "duckdb"), ("sequence", "append", "postgres"),
    ("sequence", "upsert", "duckdb"), ("sequence", "replace", "postgres")))
def test_second_run_writes_nothing(tidemark, source, make_destination,
                                   strategy, mode, engine):
    destination = make_destination(engine)
    fill(source, 700)
    set_up(tidemark, source, destination, strategy, mode, batch={"rows": 200})
    first = tidemark.run().pipeline()
    assert first["rows_inserted"] == 700
    assert first["batches"] > 1
    assert first["guarantee"] == "exact"
    check(source, destination)
    second = tidemark.run().pipeline()
    if mode != "replace":
        assert second["rows_read"] == 0
    if strategy == "timestamp":
        source.execute("UPDATE orders SET customer = 'changed', updated_at ="
                       " '2024-06-01 10:00:00.25+00:00' WHERE id % 10 = 3")
        assert tidemark.run().pipeline()["rows_read"] == 70
    source.execute("INSERT INTO orders (customer, updated_at) VALUES"
                   " ('new', '2024-06-01 10:00:01+00:00')")
    tidemark.run()
    check(source, destination)
    if mode != "replace":
        assert tidemark.run().pipeline()["rows_read"] == 0


def test_rows_are_counted_before_they_are_loaded(tidemark, source,
                                                 make_destination):
    """By a session of its own, which knows nothing of the marks yet."""
    fill(source, 300)
    set_up(tidemark, source, make_destination("sqlite"),
           gate={"max_rows": 299}, batch={"rows": 100})
    refused = tidemark.run(expect=EXIT_DATA).pipeline()
    assert "max_rows 299. Nothing was loaded" in refused["error"]["message"]
    tidemark.pipelines["orders"]["gate"] = {"min_rows": 300, "max_rows": 300}
    tidemark.write_config()
    assert tidemark.run().pipeline()["rows_inserted"] == 300


@pytest.mark.parametrize("failpoint,engine", (
    ("mid_page=kill@3", "duckdb"), ("page_end=kill@3", "postgres"),
    ("before_watermark=kill@2", "sqlite"), ("commit_acked=kill@2", "duckdb")))
def test_resume_after_kill(tidemark_failpoints, source, make_destination,
                           failpoint, engine):
    tidemark, destination = tidemark_failpoints, make_destination(engine)
    fill(source, 700)
    set_up(tidemark, source, destination, batch={"rows": 200})
    assert tidemark.killed(failpoints=failpoint)
    resumed = tidemark.run().pipeline()
    assert resumed["rows_read"] < 700, "it began anew"
    check(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


@pytest.mark.parametrize("strategy", ("timestamp", "sequence"))
def test_same_file_at_both_ends(tidemark, source, strategy):
    fill(source, 700)
    set_up(tidemark, source, source, strategy, batch={"rows": 200})
    tidemark.pipelines["orders"]["destination"]["table"] = "main.copies"
    tidemark.write_config()
    assert tidemark.run().pipeline()["rows_inserted"] == 700
    assert tidemark.run().pipeline()["rows_read"] == 0
    assert (sorted(source.rows("main.orders", ORDERS), key=repr) ==
            sorted(source.rows("main.copies", ORDERS), key=repr))
    checked = tidemark("check", "--json").expect(0).json()
    assert checked["pipelines"][0]["ok"]


def test_what_is_no_source(tidemark, source, make_destination, work_dir):
    """A file that is missing is not made; one that is none says so."""
    destination = make_destination("sqlite")
    missing, junk = work_dir / "missing.db", work_dir / "junk.db"
    junk.write_bytes(b"no database " * 1000)
    for path in (missing, junk):
        set_up(tidemark, source, destination, retry={"attempts": 1})
        tidemark.connect("source", f"{source.engine}:{path}").write_config()
        done = tidemark("run")
        assert done.code == EXIT_ACCESS, done
        assert str(path) in done.err
    assert not missing.exists()
    set_up(tidemark, source, destination, "xmin")
    del tidemark.pipelines["orders"]["watermark"]["column"]
    tidemark.write_config()
    done = tidemark("run")
    assert done.code == EXIT_CONFIG and "timestamp" in done.err, done
    set_up(tidemark, source, destination)
    tidemark.pipelines["orders"]["source"]["table"] = "main.order"
    done = tidemark.write_config()("run")
    assert done.code == EXIT_SCHEMA and "did you mean" in done.err, done


LOCKER = """
import sys, time
import {module}
db = {module}.connect(sys.argv[1])
db.execute("BEGIN {how}")
print("locked", flush=True)
time.sleep(60)
"""


def lock_file(source):
    """Another process that has the file for itself."""
    how = {"sqlite": ("sqlite3", "EXCLUSIVE"), "duckdb": ("duckdb", "")}
    module, word = how[source.engine]
    process = subprocess.Popen(
        [sys.executable, "-c", LOCKER.format(module=module, how=word),
         source.path], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "locked\n"
    return process


def test_locked_file_names_who(tidemark, source, make_destination):
    fill(source, 10)
    set_up(tidemark, source, make_destination("sqlite"),
           retry={"attempts": 1})
    holder = lock_file(source)
    try:
        done = tidemark("run")
    finally:
        holder.kill()
        holder.wait()
    assert done.code == EXIT_STATE, done
    assert str(holder.pid) in done.err, done
    assert tidemark.run().pipeline()["rows_read"] == 10


def test_init_and_check(tidemark, source, make_destination, work_dir):
    fill(source, 10)
    destination = make_destination("duckdb")
    made = tidemark("init", source.url(), destination.url())
    assert made.code == 0, made
    text = (work_dir / "tidemark.yaml").read_text(encoding="utf-8")
    assert "table: main.orders" in text
    assert "strategy: timestamp, column: updated_at" in text
    checked = tidemark("check").expect(0)
    assert "guarantee exact" in checked.out, checked
    tidemark.run()
    check(source, destination)


def test_copy_typed_twice(tidemark, source, make_destination):
    fill(source, 20)
    destination = make_destination("duckdb")
    for expected in ("20 rows read", "0 rows read"):
        done = tidemark("copy", source.url(), destination.url(), "--table",
                        "orders", "--watermark", "timestamp:updated_at")
        assert done.code == 0 and expected in done.out, done
    check(source, destination)


def test_sqlite_writer_with_an_open_transaction(tidemark, make_source,
                                                make_destination):
    """It has stamped its row, and commits after newer ones were read."""
    source, destination = make_source("sqlite"), make_destination("sqlite")
    source.execute("PRAGMA journal_mode = WAL", DDL["sqlite"])
    fill(source, 50)
    set_up(tidemark, source, destination)
    late = source.connect()
    late.execute("UPDATE orders SET customer = 'late', updated_at = (SELECT"
                 " max(updated_at) FROM orders) WHERE id = 3")
    held = tidemark.run().pipeline()
    assert held["rows_inserted"] == 50, "a long transaction stalls"
    assert held["held_by"]["pid"] == os.getpid()
    assert held["guarantee"] == "exact"
    late.commit()
    late.close()
    tidemark.run()
    check(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


def test_sqlite_misfit_names_the_row(tidemark, make_source, make_destination):
    source = make_source("sqlite")
    source.execute(DDL["sqlite"])
    fill(source, 20)
    source.execute("UPDATE orders SET born = 'tomorrow' WHERE id = 7")
    set_up(tidemark, source, make_destination("sqlite"))
    done = tidemark("run")
    assert done.code == EXIT_DATA, done
    assert 'column "born", key id=7' in done.err
    assert "tomorrow" not in done.err


def test_sqlite_writers_while_it_watches(tidemark, make_source,
                                         make_destination):
    """A rollback journal: writers and reader share one lock."""
    source, destination = make_source("sqlite"), make_destination("sqlite")
    source.execute(DDL["sqlite"])
    fill(source, 50)
    set_up(tidemark, source, destination, batch={"rows": 200})
    watching = tidemark.start("run", "--watch", "100ms")
    writer = source.connect()
    until = time.monotonic() + 3
    n = 0
    while time.monotonic() < until:
        n += 1
        writer.execute("INSERT INTO orders (customer) VALUES (?)", [str(n)])
        writer.execute("UPDATE orders SET ratio = ratio + 1, updated_at ="
                       " strftime('%Y-%m-%d %H:%M:%f+00:00', 'now')"
                       " WHERE id = ?", [n % 40 + 1])
        time.sleep(0.002)
        writer.commit()
    writer.close()
    wait_for(lambda: destination.query("SELECT count(*) FROM orders")[0][0]
             == 50 + n)
    watching.signal(2)
    assert watching.wait().code == 8
    time.sleep(1.1)
    tidemark.run()
    check(source, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


def test_another_file_is_another_source(tidemark, source, make_source,
                                        make_destination):
    """The mark is of the rows of one file."""
    destination = make_destination("sqlite")
    fill(source, 10)
    set_up(tidemark, source, destination)
    tidemark.run()
    other = make_source(source.engine)
    other.execute(DDL[other.engine])
    fill(other, 20)
    tidemark.connect("source", other.connection()).write_config()
    done = tidemark("run", "--json").expect(EXIT_SCHEMA)
    message = done.pipeline()["error"]["message"]
    for words in ("this is another file", source.path, other.path,
                  "--full-refresh", "watermark reset orders"):
        assert words in message, message
    tidemark("check").expect(EXIT_SCHEMA)
    tidemark.run("--full-refresh")
    check(other, destination)
    assert tidemark.run().pipeline()["rows_read"] == 0


def test_a_file_by_another_name_is_the_same(tidemark, source,
                                            make_destination, work_dir):
    """A link, another spelling; moved; a copy in the same place; and a mark
    of a version that did not know its file."""
    destination = make_destination("sqlite")
    fill(source, 10)
    set_up(tidemark, source, destination)
    mark = tidemark.run().pipeline()["watermark_after"]
    link, moved = work_dir / "link.db", work_dir / "moved.db"
    link.symlink_to(source.path)
    spelled = os.path.join(os.path.dirname(source.path), ".",
                           os.path.basename(source.path))
    relative = os.path.relpath(source.path, work_dir)
    for path in (link, spelled, relative):
        tidemark.connect("source", {"url": f"{source.engine}:{path}"})
        tidemark.write_config()
        assert tidemark.run().pipeline()["rows_read"] == 0
    os.rename(source.path, moved)
    tidemark.connect("source", {"url": f"{source.engine}:{moved}"})
    tidemark.write_config()
    assert tidemark.run().pipeline()["rows_read"] == 0
    shutil.copy(moved, work_dir / "copy.db")
    os.rename(work_dir / "copy.db", moved)
    assert tidemark.run().pipeline()["rows_read"] == 0
    del mark["identity"]["file"], mark["identity"]["path"]
    tidemark("watermark", "set", "orders", json.dumps(mark)).expect(0)
    assert tidemark.run().pipeline()["rows_read"] == 0
