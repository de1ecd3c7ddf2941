"""Pipelines side by side that look or load anew, that are stopped twice, and
that are watched on a terminal."""

import os
import re
import signal
import time

import pytest

import workload
from bench import EXIT_DIFFERENT, EXIT_STOPPED
from servers import wait_for
from terminal import on_a_terminal, read_terminal
from test_jobs import check_equal, configure, fill, logged, rows_of

JOBS = ("--jobs", "8")


@pytest.fixture(params=[
    pytest.param("postgres", marks=pytest.mark.threads), "duckdb"])
def ends_of(request, make_source, make_destination):
    return make_source("postgres"), make_destination(request.param)


def test_verify_of_each(tidemark, ends_of):
    """One table alone has rows that arrive as others."""
    source, destination = ends_of
    tables = fill(source, 12)
    configure(tidemark, source, destination, tables)
    done = tidemark.run("--verify", *JOBS)
    for each in done.json()["pipelines"]:
        assert each["verified"]["equal"], each
        assert each["verified"]["rows"] == each["rows_read"], each
    check_equal(source, destination, tables)
    if destination.engine != "postgres":
        return
    destination.execute(
        "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN NEW.quantity := -1; RETURN NEW; END'",
        "CREATE TRIGGER spoil BEFORE INSERT OR UPDATE ON t07 "
        "FOR EACH ROW EXECUTE FUNCTION spoil()")
    for table in tables:
        workload.change_items(source, "id < 5", table)
    done = tidemark.run("--verify", *JOBS, expect=EXIT_DIFFERENT)
    assert [each["pipeline"] for each in done.json()["pipelines"]
            if not each["verified"]["equal"]] == ["t07"]


def test_full_refresh_of_each(tidemark, ends_of):
    source, destination = ends_of
    tables = fill(source, 12)
    configure(tidemark, source, destination, tables)
    tidemark.run(*JOBS)
    for table in tables:
        destination.execute(f"DELETE FROM {table} WHERE id < 9",
                            f"UPDATE {table} SET quantity = -1 WHERE id < 20")
    done = tidemark.run("--full-refresh", *JOBS)
    assert rows_of(done) == {table: 30 + i for i, table in enumerate(tables)}
    check_equal(source, destination, tables)
    workload.change_items(source, "id = 3", tables[5])
    tidemark.run(*JOBS)
    check_equal(source, destination, tables)


def test_dry_run_of_each(tidemark, ends_of):
    """Nothing is written, and the run behind it gives the same numbers."""
    source, destination = ends_of
    tables = fill(source, 12)
    configure(tidemark, source, destination, tables)
    for changed in (False, True):
        before = destination.tables()
        told = rows_of(tidemark("run", "--dry-run", "--json", *JOBS).expect(0))
        assert destination.tables() == before
        assert list(told) == tables and sum(told.values())
        assert rows_of(tidemark.run(*JOBS)) == told, changed
        workload.settle(source)
        for table in tables[::2]:
            workload.change_items(source, "id % 3 = 0", table)
        workload.settle(source)


@pytest.mark.parametrize("number", (signal.SIGINT, signal.SIGTERM))
def test_second_signal_ends_it_at_once(tidemark_failpoints, source,
                                       make_destination, number):
    """All eight are stuck in a batch. The next run begins behind their marks."""
    tidemark = tidemark_failpoints
    destination = make_destination("postgres")
    tables = fill(source, 10)
    configure(tidemark, source, destination, tables)
    run = tidemark.start("run", "--json", *JOBS,
                         failpoints="before_watermark=hang")
    wait_for(lambda: run.text["err"].count(b"hangs") == 8 or not run.alive(),
             what="all of them")
    run.signal(number)
    time.sleep(0.5)
    assert run.alive(), "it did not wait for the batches"
    run.signal(number)
    assert run.wait().code == EXIT_STOPPED
    done = tidemark.run(*JOBS, "--wait", "60s")
    assert rows_of(done) == {table: 30 + i for i, table in enumerate(tables)}
    check_equal(source, destination, tables)


def test_line_on_a_terminal(tidemark, source, make_destination):
    """How many are done and which run, the table of results, and no line of it
    on top of another."""
    destination = make_destination("postgres")
    tables = fill(source, 6, 200)
    configure(tidemark, source, destination, tables, batch={"rows": 10},
              pace={"rows_per_second": 100})
    tidemark.pipelines["t00"].pop("pace")
    tidemark.write_config()
    process, ours = on_a_terminal(tidemark, "run", "--jobs", "3")
    try:
        live = (rb"\r1 of 6 done, 3 running: t0\d [^\r]+ rows \([^\r]+/s\), "
                rb"t0\d [^\r]+, t0\d [^\r]+/s\)\x1b\[K")
        seen = read_terminal(ours, live)
        assert re.search(live, seen), seen
        for each in seen.replace(b"\r\n", b"\n").split(b"\n"):
            last = each.rsplit(b"\r", 1)[-1]
            assert not re.search(rb"running: .*20\d\d-", last), each
        os.write(ours, b"\x03")
        rest = read_terminal(ours)
        assert process.wait() == EXIT_STOPPED, rest
        assert rest.count(b"stopped") >= 5, rest
    finally:
        process.kill()
        os.close(ours)


def test_thousand_tables_and_few_files(tidemark, source, make_destination,
                                       full):
    """`ulimit -n 64`: fewer at once, said aloud, and none fails."""
    n = 1000 if full else 200
    destination = make_destination("postgres")
    source.execute(
        f"DO $$ BEGIN FOR i IN 1..{n} LOOP EXECUTE format('CREATE TABLE t%s "
        "(id int PRIMARY KEY)', i); EXECUTE format('INSERT INTO t%s VALUES "
        "(%s)', i, i); END LOOP; END $$")
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    tidemark.pipeline("shop", tables="public.*",
                      source={"connection": "source"},
                      destination={"connection": "warehouse",
                                   "schema": "public"})
    tidemark.write_config()
    for rows in (1, 0):
        done = tidemark.start("run", "--json", "--jobs", "40", under=(
            "sh", "-c", 'ulimit -n 64; exec "$0" "$@"')).wait(600).expect(0)
        assert "pipelines run at once, not 40" in done.err
        assert list(rows_of(done).values()) == [rows] * n
    assert destination.query("SELECT id FROM t17") == [(17,)]
