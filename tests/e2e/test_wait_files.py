"""A file that another process has: without --wait exit 6, and with it the run
goes on once the file is free."""

import contextlib
import signal
import subprocess
import sys

import pytest

import workload
from bench import EXIT_OK, EXIT_STATE, EXIT_STOPPED, sync_items
from servers import wait_for

HOLDER = """
import sys
import {module}
db = {module}.connect({connect})
db.execute("{first}").fetchall()
print("has it", flush=True)
sys.stdin.read()
"""
HOLDERS = {
    "sqlite": ("sqlite3", "sys.argv[1]", "BEGIN EXCLUSIVE"),
    "duckdb": ("duckdb", "sys.argv[1]", "SELECT 1"),
    "reader": ("duckdb", "sys.argv[1], read_only=True", "SELECT 1"),
}


@contextlib.contextmanager
def somebody_else(end, how=None):
    """Another process with the file."""
    module, connect, first = HOLDERS[how or end.engine]
    holder = subprocess.Popen(
        [sys.executable, "-c",
         HOLDER.format(module=module, connect=connect, first=first), end.path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "has it\n"
        yield holder
    finally:
        holder.stdin.close()
        holder.wait()
        holder.stdout.close()


def set_up(tidemark, source, destination, rows=50):
    """A first run makes the file, and new rows wait for the next one."""
    workload.create_items(source, rows=rows)
    sync_items(tidemark, source, destination, "sequence")
    tidemark.run()
    workload.fill_items(source, rows + 1, rows + 10)


def check_rows(source, destination):
    rows = [[tuple(map(str, row)) for row in end.query(
        "SELECT id, name, seq FROM items ORDER BY id")]
        for end in (source, destination)]
    assert rows[0] == rows[1]


def attempts(tidemark):
    listed = tidemark("runs", "--json").expect(EXIT_OK)
    return [len(run["attempts"]) for run in listed.json()["runs"]]


ENDS = (("duckdb", "sqlite", None), ("sqlite", "duckdb", None),
        ("postgres", "duckdb", None), ("postgres", "sqlite", None),
        ("postgres", "duckdb", "reader"))


@pytest.mark.parametrize("of, to, how", ENDS)
def test_a_file_is_waited_for(tidemark, make_source, make_destination, of, to,
                              how):
    source, destination = make_source(of), make_destination(to)
    file = source if of != "postgres" else destination
    set_up(tidemark, source, destination)
    with somebody_else(file, how) as holder:
        refused = tidemark("run").expect(EXIT_STATE)
        assert str(holder.pid) in refused.err
        assert "run --wait 30s" in refused.err
        before = attempts(tidemark)
        run = tidemark.start("run", "--json", "--wait", "10m")
        wait_for(lambda: b"waiting for a file" in run.text["err"]
                 or not run.alive(), what="the wait")
    done = run.wait().expect(EXIT_OK)
    assert done.pipeline()["rows_read"] == 10
    assert sum(attempts(tidemark)) == sum(before) + 1
    check_rows(source, destination)


def test_a_wait_has_an_end(tidemark, source, make_destination):
    destination = make_destination("duckdb")
    set_up(tidemark, source, destination)
    with somebody_else(destination) as holder:
        done = tidemark("run", "--wait", "1s").expect(EXIT_STATE)
        assert str(holder.pid) in done.err
        run = tidemark.start("run", "--wait", "10m")
        wait_for(lambda: b"waiting for a file" in run.text["err"],
                 what="the wait")
        run.signal(signal.SIGTERM)
        run.wait().expect(EXIT_STOPPED)


def test_a_pipeline_that_waits_lends_its_place(tidemark, source,
                                               make_destination):
    """Others that need another file run meanwhile."""
    taken, free = make_destination("duckdb"), make_destination("sqlite")
    set_up(tidemark, source, taken)
    tidemark.connect("free", free.connection())
    sync_items(tidemark, source, taken, "sequence", name="others")
    tidemark.pipelines["others"]["destination"] = {
        "connection": "free", "table": "main.items"}
    tidemark.write_config()
    with somebody_else(taken):
        run = tidemark.start("run", "--json", "--jobs", "1", "--wait", "10m")
        wait_for(lambda: free.tables() and
                 free.query("SELECT count(*) FROM items") == [(60,)],
                 what="the other pipeline")
        assert run.alive()
    run.wait().expect(EXIT_OK)
    check_rows(source, taken)


def test_a_file_that_is_taken_in_the_middle(tidemark, make_source,
                                            make_destination):
    """Loaded rows stay, and the run goes on behind it."""
    source, destination = make_source("sqlite"), make_destination("sqlite")
    set_up(tidemark, source, destination, rows=500)
    workload.fill_items(source, 511, 3000)
    tidemark.pipelines["items"]["batch"] = {"rows": 10}
    tidemark.write_config()
    first, = destination.query("SELECT count(*) FROM items")[0]
    run = tidemark.start("run", "--json", "--wait", "10m")
    wait_for(lambda: destination.query("SELECT count(*) FROM items")[0][0]
             > first or not run.alive(), step=0.001, what="the first batch")
    with somebody_else(destination):
        wait_for(lambda: b"waiting for a file" in run.text["err"]
                 or not run.alive(), what="the wait")
    run.wait().expect(EXIT_OK)
    check_rows(source, destination)
