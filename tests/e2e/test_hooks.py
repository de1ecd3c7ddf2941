"""load.before and load.after: SQL of the user around a load. It runs in the
runs that load, and load.after is never forgotten."""

import os
import signal
import sqlite3

import pytest

import workload
from bench import (EXIT_CONFIG, EXIT_DATA, EXIT_OK, EXIT_SCHEMA, sync_items)
from looks import verify
from oracle import check_items
from servers import wait_for

ENGINES = ("postgres", "mariadb", "mysql", "sqlite", "duckdb", "clickhouse",
           "bigquery")
LOG = {
    "clickhouse": "(hook String, n Int64) ENGINE = MergeTree ORDER BY n",
    "bigquery": "(hook STRING, n INT64)",
}
BROKEN = "INSERT INTO {at}.nowhere VALUES (1)"


def note(at, hook):
    """Write down how many rows were there."""
    return f"INSERT INTO {at}.log SELECT '{hook}', count(*) FROM {at}.items"


@pytest.fixture
def noted(source, make_destination):
    """A pipeline whose hooks write into the table `log`."""
    def make(tidemark, engine="sqlite", mode="upsert", rows=30, **settings):
        destination = make_destination(engine)
        workload.create_items(source, rows=rows)
        at = destination.schema
        destination.execute(
            f"CREATE TABLE {at}.log "
            + LOG.get(engine, "(hook varchar(20), n bigint)"))
        settings.setdefault("batch", {"rows": 10})
        sync_items(tidemark, source, destination, "timestamp", mode,
                   **settings)
        hooks(tidemark, before=note(at, "before"), after=note(at, "after"))
        return source, destination
    return make


def hooks(tidemark, **statements):
    load = tidemark.pipelines["items"]["load"]
    for name, sql in statements.items():
        load[name] = sql
    return tidemark.write_config()


def log(destination):
    return sorted(destination.rows(f"{destination.schema}.log",
                                   {"hook": "text", "n": "int"}),
                  key=lambda row: (row[1], row[0]))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("engine", ENGINES)
def test_around_the_runs_that_load(tidemark, noted, engine):
    source, destination = noted(tidemark, engine)
    done = tidemark.run()
    assert log(destination) == [("before", 0), ("after", 30)]
    assert "load.before: statement 1 of 1 is done" in done.err
    workload.settle(source)
    tidemark.run()
    assert tidemark.run().pipeline()["rows_read"] == 0
    before = log(destination)
    assert tidemark.run().pipeline()["rows_read"] == 0
    assert log(destination) == before  # a run without rows runs neither
    workload.fill_items(source, 31, 33)
    run = tidemark.run().pipeline()
    seen = log(destination)
    assert seen.count(("after", 33)) == 1
    assert seen.count(("before", 30)) == before.count(("before", 30)) + 1
    assert len(seen) == len(before) + 2
    shown = tidemark("runs", "show", run["run_id"], "--json").expect(EXIT_OK)
    attempts = [a for a in shown.json()["runs"][0]["attempts"]
                if a["attempt_id"] == run["attempt_id"]]
    assert [(h["hook"], h["statement"], h["error"])
            for h in attempts[0]["hooks"]] == [("before", 1, None),
                                               ("after", 1, None)]
    text = tidemark("runs", "show", run["run_id"]).expect(EXIT_OK).out
    assert "before[1]" in text and "after[1]" in text
    assert verify(tidemark)["items"]["equal"]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("engine", ENGINES)
def test_statements_that_fail(tidemark, noted, engine):
    """load.before: nothing is loaded. load.after: the next run runs it again,
    and all of it, though nothing is new."""
    source, destination = noted(tidemark, engine)
    at = destination.schema
    hooks(tidemark, before=[note(at, "one"), BROKEN.format(at=at)])
    done = tidemark("run", "--json")
    assert done.code in (EXIT_CONFIG, EXIT_SCHEMA), done
    result = done.pipeline()
    assert result["outcome"] == "failed" and result["rows_inserted"] == 0
    said = result["error"]["message"]
    assert "load.before, statement 2 of 2, failed at warehouse" in said
    assert "nowhere" in said and "nothing was loaded" in said
    assert log(destination) == [("one", 0)]
    hooks(tidemark, before=[],
          after=[note(at, "first"), BROKEN.format(at=at)])
    done = tidemark("run", "--json")
    assert done.code in (EXIT_CONFIG, EXIT_SCHEMA), done
    result = done.pipeline()
    assert result["rows_inserted"] == 30
    assert "the rows of the run are loaded and stay" in result["error"][
        "message"]
    attempts = tidemark("runs", "show", result["run_id"],
                        "--json").json()["runs"][0]["attempts"]
    failed = [h for a in attempts for h in a["hooks"] if h["error"]]
    assert {h["hook"] for h in failed} == {"before", "after"}
    hooks(tidemark, after=[note(at, "first"), note(at, "again")])
    workload.settle(source)
    tidemark.run()
    seen = log(destination)
    assert ("again", 30) in seen and seen.count(("first", 30)) == 2
    tidemark.run()
    tidemark.run()
    assert log(destination).count(("again", 30)) <= 2
    check_items(source, destination)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("point", ("hook_owed", "hook_due", "hook_done",
                                   "before_watermark", "state_saved"))
def test_killed(tidemark_failpoints, noted, point):
    """Wherever a run dies: once rows are there, load.after runs behind them
    though no row is new."""
    tidemark = tidemark_failpoints
    source, destination = noted(tidemark)
    tidemark.run()  # it is known that nothing is owed
    workload.settle(source)
    tidemark.run()
    workload.fill_items(source, 31, 60)
    assert tidemark.killed(failpoints=f"{point}=kill")
    tidemark.run()
    assert ("after", 60) in log(destination), point
    tidemark.run()
    count = len(log(destination))
    tidemark.run()
    assert len(log(destination)) == count
    check_items(source, destination)


def test_killed_behind_the_last_row(tidemark_failpoints, noted):
    """The very next run has nothing to load, and runs load.after alone."""
    tidemark = tidemark_failpoints
    source, destination = noted(tidemark)
    tidemark.run()
    workload.settle(source)
    tidemark.run()
    workload.fill_items(source, 31, 40)
    workload.settle(source)
    assert tidemark.killed(failpoints="hook_due=kill")
    assert ("after", 40) not in log(destination)
    tidemark.run()
    assert log(destination).count(("after", 40)) == 1
    tidemark.run()
    assert log(destination).count(("after", 40)) == 1


def test_a_run_that_sleeps_while_others_go_on(tidemark_failpoints, noted):
    """It has done its load.after, and pays no debt that came meanwhile."""
    tidemark = tidemark_failpoints
    source, destination = noted(tidemark)
    workload.settle(source)
    tidemark.run()
    tidemark.run()
    workload.fill_items(source, 31, 40)
    workload.settle(source)
    sleeper = tidemark.start("run", "--json", failpoints="hook_done=stop@1")
    wait_for(sleeper.stopped, what="load.after to be done")
    workload.fill_items(source, 41, 50)
    workload.settle(source)
    tidemark.run("--wait", "60s")
    workload.fill_items(source, 51, 60)
    workload.settle(source)
    assert tidemark.killed("--wait", "60s", failpoints="hook_due=kill")
    assert ("after", 60) not in log(destination)
    sleeper.signal(signal.SIGCONT)
    sleeper.wait()
    tidemark.run("--wait", "60s")
    assert ("after", 60) in log(destination)
    check_items(source, destination)


def test_a_new_state_store(tidemark, noted):
    """It does not know what is owed: load.after is run, once."""
    source, destination = noted(tidemark)
    workload.settle(source)
    tidemark.run()
    tidemark.run()
    for end in ("", "-wal", "-shm"):
        if os.path.exists(tidemark.state_file + end):
            os.remove(tidemark.state_file + end)
    before = log(destination).count(("after", 30))
    tidemark.run()
    tidemark.run()
    assert log(destination).count(("after", 30)) == before + 1


def test_a_state_store_from_a_backup(tidemark_failpoints, noted):
    """It knows nothing of the run that was killed since."""
    tidemark = tidemark_failpoints
    source, destination = noted(tidemark)
    workload.settle(source)
    tidemark.run()
    tidemark.run()
    backup = os.path.join(tidemark.dir, "backup.db")
    with sqlite3.connect(tidemark.state_file) as state:
        state.execute(f"VACUUM INTO '{backup}'")
    state.close()
    workload.fill_items(source, 31, 40)
    workload.settle(source)
    assert tidemark.killed(failpoints="hook_due=kill")
    assert ("after", 40) not in log(destination)
    for end in ("-wal", "-shm"):
        if os.path.exists(tidemark.state_file + end):
            os.remove(tidemark.state_file + end)
    os.replace(backup, tidemark.state_file)
    os.chmod(tidemark.state_file, 0o600)
    tidemark.run()
    tidemark.run()
    assert log(destination).count(("after", 40)) == 1


@pytest.mark.parametrize("mode", ("replace", "append", "delete_insert"))
def test_modes(tidemark, noted, mode):
    source, destination = noted(tidemark, mode=mode)
    # Mode replace makes its table when it swaps the first one in.
    hooks(tidemark, before="INSERT INTO log VALUES ('before', 0)")
    tidemark.run()
    assert log(destination) == [("before", 0), ("after", 30)]
    # Mode replace may swap in a table without a row.
    source.execute("DELETE FROM items")
    tidemark.run("--full-refresh", "--json")
    assert ("after", 0) in log(destination)


def test_what_other_commands_load_is_owed(tidemark, noted):
    """backfill, replay and repair run neither; the next run runs load.after."""
    source, destination = noted(tidemark)
    workload.settle(source)
    first = tidemark.run().pipeline()
    tidemark.run()
    for command in (("backfill", "items"),
                    ("runs", "replay", first["run_id"]),
                    ("verify", "--repair")):
        destination.execute("DELETE FROM log")
        if command[0] == "verify":
            destination.execute("DELETE FROM items WHERE id = 7")
        tidemark(*command).expect(EXIT_OK)
        assert log(destination) == [], command
        assert tidemark.run().pipeline()["rows_read"] == 0
        assert log(destination) == [("after", 30)], command
        tidemark.run()
        assert log(destination) == [("after", 30)], command
    tidemark("run", "--dry-run").expect(EXIT_OK)
    check_items(source, destination)


def test_several_streams(tidemark, source, make_destination):
    """load.after comes behind all of them."""
    destination = make_destination("postgres")
    workload.create_items(source, rows=2000)
    destination.execute("CREATE TABLE log (hook varchar(20), n bigint)")
    sync_items(tidemark, source, destination, "timestamp")
    tidemark.pipelines["items"]["load"].update(
        streams=3, after=note("public", "after"))
    tidemark.write_config()
    tidemark.run()
    assert log(destination) == [("after", 2000)]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("engine, statement, words", (
    ("postgres", "BEGIN", "leaves a transaction open"),
    ("mariadb", "BEGIN", "leaves a transaction open"),
    ("sqlite", "BEGIN", "leaves a transaction open"),
    ("duckdb", "BEGIN TRANSACTION", "leaves a transaction open"),
    ("mysql", "CALL open_one()", "leaves a transaction open"),
    ("mariadb", "CALL open_one()", "leaves a transaction open"),
    ("postgres", "SELECT 1; SELECT 2", "multiple commands"),
    ("mariadb", "SELECT 1; SELECT 2", "syntax"),
    ("mysql", "SELECT 1; SELECT 2", "syntax"),
    ("sqlite", "SELECT 1; SELECT 2", "more than one statement"),
    ("duckdb", "SELECT 1; SELECT 2", "load.before, statement 1 of 1"),
    ("sqlite", "-- nothing", "no statement"),
    ("sqlite", " ;", "statement 1 is empty"),
))
def test_refused(tidemark, noted, engine, statement, words):
    _, destination = noted(tidemark, engine)
    if statement.startswith("CALL"):
        destination.execute(
            "CREATE PROCEDURE open_one() BEGIN START TRANSACTION;"
            " INSERT INTO log VALUES ('lost', 1); END")
    hooks(tidemark, before=statement)
    done = tidemark("run")
    assert done.code in (EXIT_CONFIG, EXIT_DATA), done
    assert words.lower() in done.err.lower(), done
    assert "load.before" in done.err


@pytest.mark.parametrize("engine", ("mysql", "mariadb"))
def test_no_change_is_lost_without_autocommit(tidemark, noted, engine):
    """The session would end, and take what it has not committed with it."""
    noted(tidemark, engine)
    hooks(tidemark, after=["SET autocommit = 0",
                           "INSERT INTO log VALUES ('lost', 1)"])
    said = tidemark("run").expect(EXIT_CONFIG).err
    assert "load.after, statement 2 of 2" in said, said
    assert "leaves a transaction open" in said, said


@pytest.mark.parametrize("engine", ("mysql", "mariadb"))
def test_locks_end_with_the_session(tidemark, noted, engine):
    """Locks of load.before would keep the load from its own table."""
    source, destination = noted(tidemark, engine)
    hooks(tidemark, before=["LOCK TABLES items WRITE"])
    assert "try 1 of" not in tidemark.run().err
    check_items(source, destination)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("engine, statements", (
    ("postgres", ["VACUUM public.items", "ANALYZE public.items",
                  "DO $$ BEGIN PERFORM pg_catalog.now(); END $$",
                  "CREATE MATERIALIZED VIEW public.m AS SELECT * FROM"
                  " public.items",
                  "REFRESH MATERIALIZED VIEW public.m",
                  "SET work_mem = '8MB'", "SELECT 1 -- the end"]),
    ("mariadb", ["ANALYZE TABLE items", "DO 1", "SELECT 1 -- the end"]),
    ("mysql", ["ANALYZE TABLE items", "DO 1", "SELECT 1 -- the end"]),
    ("sqlite", ["ANALYZE", "CREATE INDEX i ON items (name)",
                "SELECT 1; -- the end"]),
    ("duckdb", ["ANALYZE", "SELECT 1; -- the end",
                "CREATE OR REPLACE TABLE {db}.main.sums AS SELECT sum(amount) AS s"
                " FROM main.items"]),
    ("clickhouse", ["OPTIMIZE TABLE items_raw FINAL", "SELECT 1 -- the end"]),
))
def test_statements_of_all_kinds(tidemark, noted, engine, statements):
    source, destination = noted(tidemark, engine)
    if engine == "postgres":
        destination.execute(
            "CREATE PROCEDURE twice() LANGUAGE plpgsql AS"
            " 'BEGIN INSERT INTO public.log VALUES (''a'', 1); COMMIT; END'")
        statements = statements + ["CALL public.twice()"]
    if engine == "duckdb":  # a new object needs the name of the database
        name = os.path.basename(destination.path).split(".")[0]
        statements = [s.replace("{db}", f'"{name}"') for s in statements]
    hooks(tidemark, after=statements)
    tidemark.run()
    check_items(source, destination)


def test_a_signal_ends_a_long_statement(tidemark, noted):
    """The rows stay, and load.after is owed."""
    source, destination = noted(tidemark, "postgres")
    hooks(tidemark, after=["SELECT pg_catalog.pg_sleep(600)"])
    running = tidemark.start("run", "--json")
    wait_for(lambda: destination.query(
        "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%'"
        " AND pid <> pg_backend_pid()"), what="load.after to begin")
    running.signal(signal.SIGTERM)
    running.wait()
    hooks(tidemark, after=note("public", "later"))
    tidemark.run()
    assert ("later", 30) in log(destination)
    check_items(source, destination)
