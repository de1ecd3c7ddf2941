"""Pipelines side by side: `run --jobs N`."""

import contextlib
import os
import signal
import sqlite3
import time

import pytest

import ends
import workload
from bench import EXIT_ACCESS, EXIT_DATA, EXIT_STOPPED, items_settings
from oracle import ITEMS, check_rows
from servers import APP, wait_for

SHORT = {"attempts": 2, "backoff": "10ms"}


def configure(tidemark, source, destination, tables, **settings):
    """A pipeline for each table, named as it is."""
    tidemark.connect("source", source.connection())
    tidemark.connect("warehouse", destination.connection())
    for table in tables:
        tidemark.pipeline(table, **items_settings(
            source, destination, "timestamp", table=table, **settings))
    return tidemark.write_config()


def fill(source, n, rows=30):
    """Tables of different sizes; their names."""
    tables = [f"t{i:02}" for i in range(n)]
    for i, table in enumerate(tables):
        workload.create_items(source, table, rows + i)
    return tables


def check_equal(source, destination, tables):
    for table in tables:
        check_rows(source.rows(table, ITEMS), destination.rows(table, ITEMS))


def rows_of(done):
    return {each["pipeline"]: each["rows_read"]
            for each in done.json()["pipelines"]}


def state(tidemark, sql, *values):
    """Rows of the state store; none before it has its tables."""
    with contextlib.closing(sqlite3.connect(tidemark.state_file)) as db:
        try:
            return db.execute(sql, values).fetchall()
        except sqlite3.OperationalError:
            return []


def is_done(tidemark, name):
    """A row for each attempt that succeeded."""
    return state(tidemark, "SELECT 1 FROM attempts WHERE pipeline = ? "
                           "AND state = 'SUCCEEDED'", name)


def logged(run, text):
    return text.encode() in run.text["err"] or not run.alive()


@pytest.mark.parametrize("engines", [
    pytest.param(engines, id="-".join(engines),
                 marks=() if "duckdb" in engines else pytest.mark.threads)
    for engines in (("postgres", "postgres"), ("postgres", "duckdb"),
                    ("postgres", "sqlite"), ("mariadb", "postgres"))])
def test_as_one_after_the_other(tidemark, make_source, make_destination,
                                engines):
    """20 tables, equal and told alike, whatever runs beside whatever."""
    source = make_source(engines[0])
    tables = fill(source, 20)
    told = []
    for jobs in ("1", "8"):
        destination = make_destination(engines[1])
        tidemark.top["state"] = f"sqlite:{tidemark.dir}/state-{jobs}.db"
        configure(tidemark, source, destination, tables, batch={"rows": 7})
        done = tidemark.run("--jobs", jobs)
        told.append(rows_of(done))
        assert list(told[-1]) == tables
        check_equal(source, destination, tables)
        assert "20 pipelines: 20 caught up or nothing new" in done.err
        workload.settle(source)
        again = tidemark.run("--jobs", jobs)
        assert sum(each["rows_inserted"] + each["rows_updated"]
                   for each in again.json()["pipelines"]) == 0
        workload.change_items(source, "id % 3 = 0", tables[3])
        tidemark.run("--jobs", jobs)
        check_equal(source, destination, tables)
    assert told[0].keys() == told[1].keys()


def test_one_writer_a_file(tidemark_failpoints, make_source,
                           make_destination):
    """Pipelines into the file of the one that is stuck wait, whatever the file
    is called. One into another file does not."""
    tidemark, source = tidemark_failpoints, make_source("postgres")
    tables = fill(source, 4)
    destination = make_destination("sqlite")
    other = make_destination("sqlite")
    link = os.path.join(tidemark.dir, "link.sqlite")
    os.symlink(destination.path, link)
    configure(tidemark, source, destination, tables)
    tidemark.connect("link", f"sqlite:{link}")
    tidemark.connect("other", other.connection())
    tidemark.pipelines["t01"]["destination"]["connection"] = "link"
    tidemark.pipelines["t03"]["destination"]["connection"] = "other"
    tidemark.write_config()
    tidemark.run("t03")
    workload.settle(source)
    run = tidemark.start("run", "--json", "--jobs", "8",
                         failpoints="before_watermark=hang@1")
    wait_for(lambda: logged(run, "hangs") and
             len(is_done(tidemark, "t03")) == 2, what="the other file")
    run.kill()
    assert not state(tidemark, "SELECT 1 FROM attempts "
                               "WHERE pipeline IN ('t01', 't02')")
    tidemark.run("--jobs", "8")
    check_equal(source, destination, tables[:3])
    check_equal(source, other, tables[3:])


def test_those_of_one_duckdb_file(tidemark, make_source, make_destination):
    source, destination = make_source("postgres"), make_destination("duckdb")
    tables = fill(source, 6)
    configure(tidemark, source, destination, tables, batch={"rows": 5})
    tidemark.run("--jobs", "6")
    check_equal(source, destination, tables)
    workload.change_items(source, "id % 2 = 0", tables[0])
    tidemark.run("--jobs", "6")
    check_equal(source, destination, tables)


@pytest.fixture
def held(tidemark, make_source, make_destination):
    """Four pipelines, the first of which waits as long as a file exists."""
    source, destination = make_source("postgres"), make_destination("postgres")
    tables = fill(source, 4)
    configure(tidemark, source, destination, tables)
    tidemark.pause_file = os.path.join(tidemark.dir, "pause")
    tidemark.pipelines[tables[0]]["pace"] = {"pause_file": tidemark.pause_file}
    with open(tidemark.pause_file, "w", encoding="ascii"):
        pass
    tidemark.tables, tidemark.ends = tables, (source, destination)
    return tidemark.write_config()


@pytest.mark.threads
def test_who_is_held_holds_no_job(held):
    """One job: the other three are done while the first waits."""
    run = held.start("run", "--json", "--jobs", "1")
    wait_for(lambda: not run.alive() or
             all(is_done(held, name) for name in held.tables[1:]),
             what="the others")
    assert run.alive() and not is_done(held, held.tables[0])
    os.remove(held.pause_file)
    done = run.wait().expect(0)
    assert list(rows_of(done)) == held.tables
    check_equal(*held.ends, held.tables)


@pytest.mark.threads
def test_who_waits_for_a_lease_holds_no_job(held):
    """Another process has the first pipeline, for as long as that is held."""
    first = held.start("run", held.tables[0], "--json")
    wait_for(lambda: logged(first, "held by pace.pause_file"),
             what="the first run")
    second = held.start("run", "--json", "--jobs", "1", "--wait", "10m")
    wait_for(lambda: not second.alive() or
             all(is_done(held, name) for name in held.tables[1:]),
             what="the others")
    assert second.alive() and first.alive()
    os.remove(held.pause_file)
    first.wait().expect(0)
    second.wait().expect(0)


@pytest.mark.threads
def test_dead_server_is_found_out_once(tidemark, make_source,
                                       make_destination, make_proxy):
    """30 pipelines: those that began together, and the tries of one."""
    source, destination = make_source("postgres"), make_destination("postgres")
    tables = fill(source, 30, 1)
    proxy = make_proxy(source)
    configure(tidemark, source, destination, tables,
              retry={"attempts": 3, "backoff": "10ms"})
    tidemark.connect("source", proxy.connection(source))
    tidemark.write_config()
    proxy.refuse()
    done = tidemark("run", "--json", "--jobs", "3").expect(EXIT_ACCESS)
    results = done.json()["pipelines"]
    assert [each["pipeline"] for each in results] == tables
    not_tried = [each for each in results
                 if "not tried: connection source could not be reached"
                 in each["error"]["message"]]
    assert len(not_tried) >= 27
    assert {each["error"]["code"] for each in results} == {
        results[0]["error"]["code"]}
    assert done.err.count("of 3 failed") <= 4
    proxy.heal()
    tidemark.run("--jobs", "3")
    check_equal(source, destination, tables)


@pytest.mark.threads
def test_table_that_fails_is_no_dead_server(tidemark, make_source,
                                            make_destination):
    source, destination = make_source("postgres"), make_destination("postgres")
    tables = fill(source, 8)
    configure(tidemark, source, destination, tables, retry=SHORT)
    tidemark.pipelines["t02"]["source"]["table"] = "public.missing"
    tidemark.pipelines["t05"]["gate"] = {"not_null": ["amount"]}
    tidemark.write_config()
    done = tidemark("run", "--json", "--jobs", "4")
    failed = {each["pipeline"] for each in done.json()["pipelines"]
              if each["error"]}
    assert failed == {"t02", "t05"}
    # The first in the order of the config.
    alone = tidemark("run", "t02", "--json")
    assert done.code == alone.code != EXIT_DATA
    assert "2 failed" in done.err
    check_equal(source, destination,
                [table for table in tables if table not in failed])


@pytest.mark.threads
def test_signal_ends_all_at_their_batch(tidemark, make_source,
                                        make_destination):
    source, destination = make_source("postgres"), make_destination("postgres")
    tables = fill(source, 11, 200)
    configure(tidemark, source, destination, tables, batch={"rows": 10},
              pace={"rows_per_second": 20})
    run = tidemark.start("run", "--json", "--jobs", "8")
    wait_for(lambda: not run.alive() or
             len(state(
                 tidemark, "SELECT DISTINCT pipeline FROM batches")) == 8,
             what="a batch of each")
    run.signal(signal.SIGTERM)
    done = run.wait().expect(EXIT_STOPPED)
    results = done.json()["pipelines"]
    assert [each["pipeline"] for each in results] == tables
    assert {each["outcome"] for each in results} == {"stopped"}
    assert sum("not started" in each["error"]["message"]
               for each in results) == 3
    for name in tables:
        tidemark.pipelines[name].pop("pace")
    tidemark.write_config()
    tidemark.run()
    check_equal(source, destination, tables)


def test_limit_of_open_files(tidemark, make_source, make_destination):
    """Fewer at once, said aloud."""
    source, destination = make_source("postgres"), make_destination("postgres")
    tables = fill(source, 30, 1)
    configure(tidemark, source, destination, tables)
    run = tidemark.start("run", "--json", "--jobs", "30", under=(
        "sh", "-c", 'ulimit -n 64; exec "$0" "$@"'))
    done = run.wait().expect(0)
    assert "pipelines run at once, not 30" in done.err
    check_equal(source, destination, tables)


@pytest.mark.parametrize("bound", ["key", "server"])
def test_few_sessions(tidemark, own_cluster, bound):
    """One connection is both ends, and has room for three pipelines at most:
    none waits for a session that another one has, and none fails."""
    server = own_cluster()
    server.create_database("shop")
    shop = ends.PostgresEnd(server, "shop")
    tables = fill(shop, 12, 5)
    shop.execute("CREATE SCHEMA copied")
    configure(tidemark, shop, shop, tables, retry=SHORT)
    for table in tables:
        tidemark.pipelines[table]["destination"] = {
            "connection": "source", "table": f"copied.{table}"}
    connection = {**shop.connection(), "timeout": {"silence": "30s"}}
    if bound == "key":
        connection["sessions"] = 4
    else:
        server.order(f"ALTER ROLE {APP} CONNECTION LIMIT 7")
    tidemark.connect("source", connection).write_config()
    done = tidemark.run("--jobs", "8")
    assert list(rows_of(done)) == tables
    for table in tables:
        assert shop.query(f"SELECT count(*) FROM {table}") == shop.query(
            f"SELECT count(*) FROM copied.{table}")
