"""Columns come, go and change their type in the middle of a run: at the source
between two pages, at the target between two batches."""

import signal

import pytest

import workload
from bad_days import ENGINES, MANY_BATCHES, SERVERS, WAREHOUSES
from bench import (EXIT_ACCESS, EXIT_DATA, EXIT_OK, EXIT_SCHEMA, EXIT_STATE)

ROWS = 4000
CLASSED = (EXIT_OK, EXIT_ACCESS, EXIT_SCHEMA, EXIT_DATA, EXIT_STATE)
# With `sequence` a MySQL table that was rebuilt stops the run: docs/engines.
SOURCES = (("postgres", "timestamp"), ("postgres", "xmin"),
           ("mariadb", "timestamp"), ("mysql", "timestamp"))


@pytest.fixture
def begin(make_day, stopped_run):
    """A day in the middle of its first load, which goes on: a table that is
    read is not altered."""
    def make(source, destination, **more):
        day = make_day(source, destination, ROWS, batch=MANY_BATCHES,
                       retry={"attempts": 3, "backoff": "10ms"}, **more)
        running = stopped_run(day.tidemark)
        running.signal(signal.SIGCONT)
        return day, running
    return make


def ends_classed(day, running):
    """The drift is met, or the next run meets it: a class, and words."""
    done = running.wait()
    assert done.code in CLASSED, done
    if done.code != EXIT_OK:
        message = done.pipeline()["error"]["message"]
        assert "items" in message or "quantity" in message, done
    return done.code


def add(day):
    day.source.execute("ALTER TABLE items ADD color varchar(20)")
    day.columns["color"] = "text"


def drop(day):
    day.source.execute("ALTER TABLE items DROP COLUMN born")
    del day.columns["born"]


def widen(day):
    verb = ("ALTER COLUMN quantity TYPE" if day.source.engine == "postgres"
            else "MODIFY quantity")
    day.source.execute(f"ALTER TABLE items {verb} bigint")


def rename(day):
    day.source.execute("ALTER TABLE items RENAME COLUMN born TO birthday")
    del day.columns["born"]
    day.columns["birthday"] = "date"


DRIFTS = {each.__name__: each for each in (add, drop, widen, rename)}


@pytest.mark.thinned(6)
@pytest.mark.parametrize("drift", DRIFTS)
@pytest.mark.parametrize("destination", (*ENGINES, *WAREHOUSES))
@pytest.mark.parametrize("kind", SOURCES, ids="-".join)
def test_source_changes_in_mid_run(begin, kind, destination, drift):
    source, strategy = kind
    day, running = begin(source, destination, strategy=strategy)
    DRIFTS[drift](day)
    colored = ", color = concat('c', id)" if drift == "add" else ""
    # Not the last row of a page: where a mark stands tells MySQL's rebuilt
    # table from another one (docs/engines).
    workload.update_items(day.source, "id % 3 = 0 AND id % 200 <> 0",
                          "quantity = 77" + colored, "2024-06-02 00:00:00")
    ends_classed(day, running)
    if drift == "rename":  # the old values of the renamed column
        day.tidemark.run("--full-refresh")
    day.tidemark.run()
    day.check()
    assert day.tidemark.run().pipeline()["rows_read"] == 0


def rows_table(day):
    return day.to + "_raw" * (day.destination.engine == "clickhouse")


def at_target(verb, **others):
    """`others`: the verb of an engine that has one of its own."""
    return lambda day: day.destination.execute(
        f"ALTER TABLE {rows_table(day)} "
        + others.get(day.destination.engine, verb))


def retype(day):
    kind = {"clickhouse": "String", "bigquery": "STRING"}.get(
        day.destination.engine, "varchar(20)")
    if day.destination.engine == "postgres":
        verb = f"ALTER COLUMN quantity TYPE {kind}"
    elif day.destination.engine == "duckdb":
        verb = f"ALTER quantity TYPE {kind}"
    elif day.destination.engine == "clickhouse":
        verb = f"MODIFY COLUMN quantity {kind}"
    else:
        verb = f"MODIFY quantity {kind}"
    at_target(verb)(day)


# Edits that a person makes to a target, and how a person takes them back.
EDITS = {
    "added": at_target("ADD note varchar(20) DEFAULT 'x'",
                       clickhouse="ADD COLUMN note String DEFAULT 'x'"),
    "needed": at_target("ADD note varchar(20) NOT NULL DEFAULT 'x'",
                        clickhouse="ADD COLUMN note String"),
    "dropped": at_target("DROP COLUMN quantity"),
    "renamed": at_target("RENAME COLUMN quantity TO amount_of"),
    "retyped": retype,
    "gone": lambda day: day.destination.execute(
        f"DROP TABLE {rows_table(day)}"),
    "emptied": lambda day: day.destination.execute(
        f"DELETE FROM {rows_table(day)} WHERE 1 = 1"),
}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("destination", (*SERVERS, "clickhouse"))
def test_target_changes_in_mid_run(begin, destination, edit):
    """Taken along, or told with what to do; afterwards equal."""
    day, running = begin("postgres", destination)
    EDITS[edit](day)
    ends_classed(day, running)
    workload.update_items(day.source, "id % 3 = 0", "quantity = 77",
                          "2024-06-02 00:00:00")
    code = day.tidemark("run", "--json").code
    assert code in (EXIT_OK, EXIT_SCHEMA), code
    if code == EXIT_OK and edit not in ("emptied", "renamed"):
        day.check()
    else:  # docs/pipelines.md: changed rows of the target are not noticed
        day.tidemark.run("--full-refresh")
        day.check()
    day.recovers()
