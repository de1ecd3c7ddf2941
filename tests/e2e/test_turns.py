"""Which pipeline a run begins with."""

import contextlib
import signal
import sqlite3

import pytest

import workload
from bench import EXIT_STOPPED, sync_items
from servers import wait_for

NAMES = ("a", "b", "c")


@pytest.fixture
def three(tidemark_failpoints, make_source, make_destination):
    """Pipelines over one table, into a table each."""
    source, destination = make_source("sqlite"), make_destination("sqlite")
    workload.create_items(source, rows=40)
    for name in NAMES:
        sync_items(tidemark_failpoints, source, destination, "timestamp",
                   name=name, to=f"{destination.schema}.{name}",
                   batch={"rows": 10})
    return tidemark_failpoints


def begun(tidemark):
    """The pipelines of the attempts so far, in the order they began in."""
    with contextlib.closing(sqlite3.connect(tidemark.state_file)) as db:
        return "".join(name for name, in db.execute(
            "SELECT pipeline FROM attempts ORDER BY started_at"))


def test_who_is_killed_gets_to_the_others(three):
    """As where memory never is enough for one table."""
    for _ in range(4):
        assert three.killed(failpoints="before_watermark=kill")
    assert begun(three) == "abca"
    three.run()
    assert begun(three) == "abca" + "bca"


def test_who_is_stopped_gets_to_the_others(three):
    run = three.start("run", "--json", failpoints="before_watermark=stop@2")
    wait_for(lambda: run.stopped() or not run.alive(), 30, 0.01,
             "the failpoint")
    run.signal(signal.SIGTERM)
    run.signal(signal.SIGCONT)
    run.wait().expect(EXIT_STOPPED)
    three.run()
    assert begun(three) == "a" + "bca"


def test_order_of_the_config_otherwise(three):
    three.run("b")
    three.run()
    three("run", "c", failpoints="before_watermark=error")
    results = three.run().json()["pipelines"]
    assert [result["pipeline"] for result in results] == list(NAMES)
    assert begun(three) == "b" + "abc" + "c" + "abc"
