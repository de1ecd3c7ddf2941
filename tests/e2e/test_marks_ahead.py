"""Marks of a round's pipelines may be read together. Meanwhile somebody moves
one of them, or changes their table."""

import json
import re
import signal

import pytest

import workload
from bench import EXIT_OK, EXIT_SCHEMA, EXIT_STATE, written
from servers import wait_for
from test_jobs import check_equal, configure, fill, rows_of

SERVERS = ("postgres", "mariadb", "clickhouse")
ONE_JOB = ("--jobs", "1")


def idle_tables(tidemark, source, destination, n=6):
    """Whoever waited longest begins: they are left in their order."""
    tables = fill(source, n)
    configure(tidemark, source, destination, tables)
    tidemark.run()
    workload.settle(source)
    done = tidemark.run(*ONE_JOB)
    assert sum(map(written, done.json()["pipelines"])) == 0
    return tables


def paused(tidemark, *args):
    """A run whose first pipeline is over. The second has not begun."""
    run = tidemark.start("run", "--json", *args, *ONE_JOB,
                         failpoints="lease_released=stop@1")
    wait_for(run.stopped, what="the first pipeline's end")
    return run


def mark_of(tidemark, table):
    shown = tidemark("watermark", "show", table, "--json").expect(EXIT_OK)
    return json.loads(shown.out)


def check_idle(tidemark, source, destination, tables):
    check_equal(source, destination, tables)
    workload.settle(source)
    tidemark.run()
    done = tidemark.run()
    assert sum(map(written, done.json()["pipelines"])) == 0
    check_equal(source, destination, tables)


@pytest.mark.parametrize("engine", SERVERS)
def test_marks_that_others_move_before_their_turn(
        tidemark_failpoints, make_source, make_destination, engine):
    """One is reset, one goes forward, the table of one is dropped."""
    tidemark = tidemark_failpoints
    source, destination = make_source("postgres"), make_destination(engine)
    tables = idle_tables(tidemark, source, destination)
    run = paused(tidemark)
    tidemark("watermark", "reset", "t02").expect(EXIT_OK)
    workload.change_items(source, "id < 9", "t03")
    workload.settle(source)
    assert rows_of(tidemark.run("t03"))["t03"] >= 8
    moved = mark_of(tidemark, "t03")
    if engine != "clickhouse":
        destination.execute(f"DROP TABLE {destination.schema}.t04")
    run.signal(signal.SIGCONT)
    done = run.wait().expect(EXIT_OK)
    rows = rows_of(done)
    assert rows == {"t00": 0, "t01": 0, "t02": 32, "t03": rows["t03"],
                    "t04": 0 if engine == "clickhouse" else 34, "t05": 0}
    if rows["t03"] == 0:
        assert mark_of(tidemark, "t03") == moved
    check_idle(tidemark, source, destination, tables)


def test_a_file_that_is_open_here_is_moved_by_nobody(
        tidemark_failpoints, make_source, make_destination):
    tidemark = tidemark_failpoints
    source, destination = make_source("postgres"), make_destination("duckdb")
    tables = idle_tables(tidemark, source, destination)
    run = paused(tidemark)
    tidemark("watermark", "reset", "t02").expect(EXIT_STATE)
    tidemark("run", "--json", "t03").expect(EXIT_STATE)
    workload.change_items(source, "id < 9", "t04")
    run.signal(signal.SIGCONT)
    rows = rows_of(run.wait().expect(EXIT_OK))
    assert [rows[table] for table in tables] == [0, 0, 0, 0, 8, 0]
    check_idle(tidemark, source, destination, tables)


def test_a_file_is_read_anew_in_the_next_round(tidemark, make_source,
                                               make_destination):
    """Between two rounds the file is closed, and somebody moves a mark."""
    source, destination = make_source("postgres"), make_destination("duckdb")
    tables = idle_tables(tidemark, source, destination)
    watch = tidemark.start("run", "--watch", "3s", "--json", *ONE_JOB)
    wait_for(lambda: watch.text["out"].count(b'"pipelines"') or
             not watch.alive(), what="the first round")
    wait_for(lambda: tidemark("watermark", "reset", "t02").code == EXIT_OK,
             what="the file")
    destination.execute("DELETE FROM t02 WHERE id < 9")
    wait_for(lambda: re.search(rb'"rows_inserted": ?8\b', watch.text["out"]) or
             not watch.alive(), what="the next round")
    watch.signal(signal.SIGTERM)
    watch.wait()
    check_idle(tidemark, source, destination, tables)


@pytest.mark.parametrize("engine", ("postgres", "duckdb"))
def test_writes_of_neighbours(tidemark, make_source, make_destination, engine):
    """Each load of a pipeline writes the table that the others read."""
    source, destination = make_source("postgres"), make_destination(engine)
    tables = idle_tables(tidemark, source, destination, 40)
    for jobs in ("1", "4"):
        for table in tables[::3]:
            workload.change_items(source, "id < 5", table)
        tidemark("watermark", "reset", "t39").expect(EXIT_OK)
        rows = rows_of(tidemark.run("--jobs", jobs))
        assert [rows[table] for table in tables] == [
            69 if table == "t39" else 0 if i % 3 else 4
            for i, table in enumerate(tables)]
        check_equal(source, destination, tables)
        workload.settle(source)
        tidemark.run()
    check_idle(tidemark, source, destination, tables)


def spoil_view(destination):
    marks = f"{destination.schema}._tidemark_watermark"
    return (f"ALTER TABLE {marks} RENAME TO kept",
            f"CREATE VIEW {marks} AS SELECT * FROM {destination.schema}.kept")


def spoil_column(destination):
    return (f"ALTER TABLE {destination.schema}._tidemark_watermark "
            "DROP COLUMN rows_total",)


@pytest.mark.parametrize("spoil", (spoil_view, spoil_column))
@pytest.mark.parametrize("engine", ("postgres", "duckdb"))
def test_marks_that_cannot_be_read(tidemark, make_source, make_destination,
                                   engine, spoil):
    """Each pipeline says so for itself, alone as in a round."""
    source, destination = make_source("postgres"), make_destination(engine)
    tables = idle_tables(tidemark, source, destination, 5)
    destination.execute(*spoil(destination))
    alone = tidemark.run("t03", expect=EXIT_SCHEMA).pipeline()["error"]
    for each in tidemark.run(expect=EXIT_SCHEMA).json()["pipelines"]:
        assert each["error"]["code"] == alone["code"], each
        assert "rows_total" in each["error"]["message"] or \
            "_tidemark_watermark" in each["error"]["message"], each
    check_equal(source, destination, tables)


@pytest.mark.parametrize("engine", ("postgres", "duckdb"))
def test_marks_that_are_gone(tidemark, make_source, make_destination, engine):
    source, destination = make_source("postgres"), make_destination(engine)
    tables = idle_tables(tidemark, source, destination, 5)
    destination.execute(f"DROP TABLE {destination.schema}._tidemark_watermark")
    assert list(rows_of(tidemark.run()).values()) == [30, 31, 32, 33, 34]
    check_idle(tidemark, source, destination, tables)
